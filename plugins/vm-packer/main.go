// Command sandboxer-ext-vm-packer is reserved for the extension for sandboxes in
// virtual machines from Packer templates on a remote host. This version of sand-boxer does not
// have it: the build makes no such extension, and a profile that names ext.vm-packer
// is refused because there is none.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sandboxer-ext-vm-packer: ext.vm-packer is not part of this version of sand-boxer; use a profile of ext.bwrap")
	os.Exit(1)
}
