// Command sandboxer-ext-bwrap is the extension for sandboxes in bubblewrap
// namespaces on this machine.
package main

import (
	"os"

	"github.com/tegwick/sand-boxer/sdk/wire"
)

// version is the extension's version, set by the build from the repository's
// VERSION file.
var version = "0.1.0"

// As the broker, this program never gets here: see internal/broker/reexec.go.
func main() {
	wire.Serve(newBackend(os.Getenv("SANDBOXER_WORK_DIR")))
}
