package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be sandboxer too.
func TestMain(m *testing.M) {
	testscript.Main(cleaner{m}, map[string]func(){"sandboxer": main})
}

// cleaner removes what buildExtension made when all tests have run.
type cleaner struct{ m *testing.M }

func (c cleaner) Run() int {
	code := c.m.Run()
	if builtDir != "" {
		os.RemoveAll(builtDir)
	}
	return code
}

// builtDir is the directory that buildExtension made, if it made one.
var builtDir string

// extensionDir is a directory with the extension.
func extensionDir(t testing.TB) string {
	dir, err := buildExtension()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// buildExtension builds the extension from its source, once, unless
// SANDBOXER_TEST_EXTENSIONS names a directory that has it.
var buildExtension = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("SANDBOXER_TEST_EXTENSIONS"); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "sandboxer-extensions-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "sandboxer-ext-bwrap"), ".")
	cmd.Dir = "../../plugins/bwrap"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the extension: %w\n%s", err, out)
	}
	// The host refuses one that others may write to, whatever the umask.
	return dir, os.Chmod(filepath.Join(dir, "sandboxer-ext-bwrap"), 0o755)
})
