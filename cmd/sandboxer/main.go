// Command sandboxer provisions sandboxes, executes commands in them and
// destroys them.
package main

import (
	"context"
	"os"
)

// version is set by the build from the repository's VERSION file.
var version = "0.1.0"

func main() {
	os.Exit(newApp(os.Stdin, os.Stdout, os.Stderr).run(context.Background(), os.Args[1:]))
}
