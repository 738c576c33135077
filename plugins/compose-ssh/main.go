// Command sandboxer-ext-compose-ssh is reserved for the extension for sandboxes in
// Compose projects on a remote host. This version of sand-boxer does not
// have it: the build makes no such extension, and a profile that names ext.compose-ssh
// is refused because there is none.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sandboxer-ext-compose-ssh: ext.compose-ssh is not part of this version of sand-boxer; use a profile of ext.bwrap")
	os.Exit(1)
}
