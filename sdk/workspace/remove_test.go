package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

func TestRemove(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "keep", "x")
	for name, make := range map[string]func(path string) error{
		"nothing":          func(string) error { return nil },
		"a file":           func(path string) error { return os.WriteFile(path, nil, 0) },
		"a symlink":        func(path string) error { return os.Symlink(outside, path) },
		"an empty one":     func(path string) error { return os.Mkdir(path, 0) },
		"a fifo":           func(path string) error { return unix.Mkfifo(path, 0) },
		"a missing parent": func(path string) error { return os.Remove(filepath.Dir(path)) },
		"a tree": func(path string) error {
			for i := range 2000 {
				write(t, path, fmt.Sprintf("wide/%d/f", i), "")
			}
			write(t, path, "name-\xff", "")
			write(t, path, "sub/x", "")
			return os.Symlink(outside, filepath.Join(path, "sub/link"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", "tree")
			mkdir(t, path, "..")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			if err := workspace.Remove(path); err != nil {
				t.Error(err)
			}
			wantAbsent(t, path)
		})
	}
	if read(t, outside, "keep") != "x" {
		t.Error("a symlink was followed")
	}
}

func TestRemoveNestedBeyondEveryLimit(t *testing.T) {
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "workspace-test-"); err == nil {
		dir = shm // each directory takes a block on a disk
		t.Cleanup(func() { os.RemoveAll(shm) })
	}
	path := filepath.Join(dir, "deep")
	mkdir(t, path, ".")
	if err := makeDeep(path, 100_000); err != nil {
		t.Fatal(err)
	}
	if err := workspace.Remove(path); err != nil {
		t.Error(err)
	}
	wantAbsent(t, path)
}

func TestRemoveRefusesWhatIsNoEntry(t *testing.T) {
	for _, path := range []string{"", ".", "/", "..", "../.."} {
		if err := workspace.Remove(path); err == nil {
			t.Errorf("Remove(%q) succeeded", path)
		}
	}
}

func TestRemoveReportsWhatIsInTheWay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a file immutable")
	}
	path := filepath.Join(t.TempDir(), "tree")
	write(t, path, "sub/stuck", "")
	write(t, path, "sub/loose", "")
	setImmutable(t, filepath.Join(path, "sub/stuck"), true)
	defer setImmutable(t, filepath.Join(path, "sub/stuck"), false)
	err := workspace.Remove(path)
	e := wantCode(t, err, sdk.CodeInternal)
	if !strings.Contains(e.Message, "sub/stuck") || !strings.Contains(e.Hint, "chattr") {
		t.Errorf("message %q, hint %q", e.Message, e.Hint)
	}
	wantAbsent(t, filepath.Join(path, "sub/loose"))
}

func setImmutable(t *testing.T, path string, on bool) {
	t.Helper()
	const immutable = 0x10 // FS_IMMUTABLE_FL
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		t.Skipf("the file system of %s knows no immutable files: %v", path, err)
	}
	flags &^= immutable
	if on {
		flags |= immutable
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags)); err != nil {
		t.Fatal(err)
	}
}
