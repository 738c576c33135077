// Package layout has no code: its tests hold the shape of the repository.
package layout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const repo = "github.com/tegwick/sand-boxer/"

// Names of what a package must never reach, beside packages of the repository.
const (
	grpc     = "google.golang.org/grpc"
	goPlugin = "github.com/hashicorp/go-plugin"
	hcl      = "github.com/hashicorp/hcl/v2"
	// outside is everything that is not of the standard library.
	outside = "*"
)

// rule holds the packages in a directory, and below it unless exact is set, to
// what they may import and reach. Names of the repository are relative to it,
// and stand for what is below them too where they end in "/...".
type rule struct {
	dir   string
	exact bool
	// imports are the packages of the repository that these packages may
	// import, beside each other.
	imports []string
	// never are packages, and those below them, that must not be reached by
	// any chain of imports.
	never []string
	why   string
}

var rules = []rule{
	{
		dir: "sdk", exact: true, never: []string{outside},
		why: "whoever writes a backend takes on no dependency but the contract",
	},
	{
		dir: "sdk/wire", imports: []string{"sdk"}, never: []string{"core"},
		why: "a plugin links it: it must not carry the host",
	},
	{
		dir: "sdk/workspace", imports: []string{"sdk"}, never: []string{"core", grpc},
		why: "copying a tree has nothing to do with the host or with how a plugin is called",
	},
	{
		dir: "sdk/remote", imports: []string{"sdk"}, never: []string{"core", grpc},
		why: "running ssh has nothing to do with the host or with how a plugin is called",
	},
	{
		dir: "core/sandbox", imports: []string{"sdk", "core/profile", "core/store", "core/audit"},
		never: []string{grpc, "net/http", goPlugin},
		why:   "the owner decides alike for every caller and every backend, so it knows of no transport",
	},
	{
		dir: "core/extension", imports: []string{"sdk", "sdk/wire"}, never: []string{"core/sandbox", "core/api"},
		why: "it hands backends out and calls nobody back",
	},
	{
		dir: "core/api", imports: []string{"core/apitype", "core/sandbox", "sdk"}, never: []string{grpc, "core/extension"},
		why: "a request walks one way, through the owner, which alone may execute",
	},
	{
		dir: "core/apitype", never: []string{outside},
		why: "every client links it",
	},
	{
		dir: "core/client", imports: []string{"core/apitype"},
		never: []string{"core/api", "core/audit", "core/extension", "core/profile", "core/sandbox", "core/store"},
		why:   "a harness that calls a service must not carry the host",
	},
	{
		dir: "plugins/bwrap", imports: []string{"sdk/..."}, never: []string{"core", "plugins/compose-ssh", "plugins/vm-packer"},
		why: "our plugins have what a third party's have, and no more",
	},
	{
		dir: "plugins/compose-ssh", imports: []string{"sdk/..."}, never: []string{"core", "plugins/bwrap", "plugins/vm-packer"},
		why: "our plugins have what a third party's have, and no more",
	},
	{
		dir: "plugins/vm-packer", imports: []string{"sdk/..."}, never: []string{"core", "plugins/bwrap", "plugins/compose-ssh"},
		why: "our plugins have what a third party's have, and no more",
	},
	{
		dir: "cmd", imports: []string{"core/...", "sdk/..."}, never: []string{"plugins"},
		why: "the host knows a plugin as a file to run",
	},
}

// owners are the only packages of the host, core and cmd, that may import a
// library.
var owners = []struct {
	library string
	owner   string
	why     string
}{
	{hcl, "core/profile", "one package knows how a profile is written, and guards the parser"},
	{goPlugin, "core/extension", "one package starts and ends the processes of plugins"},
}

func TestImports(t *testing.T) {
	const root = "../../.."
	g := load(t, root)
	for _, r := range rules {
		t.Run(r.dir, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(root, r.dir)); errors.Is(err, fs.ErrNotExist) {
				return // a row may be older than its package
			}
			for _, breach := range g.breaches(r) {
				t.Errorf("%s\n(%s)", breach, r.why)
			}
		})
	}
	for _, misplaced := range g.misplaced() {
		t.Error(misplaced)
	}
}
