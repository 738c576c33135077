package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

func TestCopySkipsSpecialFiles(t *testing.T) {
	source, dest := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(t, source, "file", "x")
	want := []string{
		filepath.Join(source, "fifo") + " is not copied: it is a fifo",
		filepath.Join(source, "socket") + " is not copied: it is a socket",
	}
	if err := unix.Mkfifo(filepath.Join(source, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	bindSocket(t, source, "socket")
	if os.Getuid() == 0 { // nobody else can make one
		if err := unix.Mknod(filepath.Join(source, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != nil {
			t.Fatal(err)
		}
		want = append([]string{filepath.Join(source, "device") + " is not copied: it is a device"}, want...)
	}
	var warned warnings
	stats := mustCopy(t, source, dest, warned.options())
	if stats.Skipped != len(want) || stats.Files != 1 {
		t.Errorf("stats %+v, want %d skipped and one file", stats, len(want))
	}
	if diff := cmp.Diff(want, warned.sorted()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if entries, _ := os.ReadDir(dest); len(entries) != 1 {
		t.Errorf("in the copy: %v", entries)
	}
}

// bindSocket binds a socket in a directory whose path may be too long for one.
func bindSocket(t *testing.T, dir, name string) {
	t.Helper()
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, name), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	if err := os.Rename(filepath.Join(short, name), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// While the tree is copied, a goroutine makes its entries now a file, now a
// symlink to a secret, now a fifo, now a directory, now a symlink to one.
func TestCopyFollowsNothingThatIsSwappedIn(t *testing.T) {
	const secret = "secret of the host"
	outside, source := t.TempDir(), t.TempDir()
	write(t, outside, "f", secret)
	write(t, source, "d/f", "harmless")
	swaps, stop := hammer(t, source, outside)
	defer stop()
	for i := 0; i < 100 || swaps.Load() < 200; i++ {
		dest := filepath.Join(t.TempDir(), "copy")
		if _, err := workspace.Copy(t.Context(), source, dest, keepOwner); err != nil {
			t.Fatalf("copy %d: %v", i, err)
		}
		for _, path := range walk(t, dest) {
			if lstat(t, path).Mode().IsRegular() && read(t, "", path) == secret {
				t.Fatalf("copy %d: %s holds the secret", i, path)
			}
		}
	}
}

// hammer swaps d, d/f and x in source until stop is called.
func hammer(t *testing.T, source, outside string) (swaps *atomic.Int64, stop func()) {
	t.Helper()
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	aside := t.TempDir()
	swaps = new(atomic.Int64)
	wg.Go(func() {
		spare, x := filepath.Join(aside, "spare"), filepath.Join(source, "x")
		d, f := filepath.Join(source, "d"), filepath.Join(source, "d", "f")
		for ; ctx.Err() == nil; swaps.Add(1) {
			os.Symlink(filepath.Join(outside, "f"), spare)
			os.Rename(spare, f)
			os.Rename(d, filepath.Join(aside, "d"))
			os.Symlink(outside, d)
			os.WriteFile(spare, []byte("harmless"), 0o644)
			os.Rename(spare, x)
			os.Remove(d)
			os.Rename(filepath.Join(aside, "d"), d)
			unix.Mkfifo(spare, 0o600)
			os.Rename(spare, f)
			os.Symlink(filepath.Join(outside, "f"), spare)
			os.Rename(spare, x)
			os.WriteFile(spare, []byte("harmless"), 0o644)
			os.Rename(spare, f)
		}
	})
	return swaps, func() {
		cancel()
		wg.Wait()
	}
}

func TestCopyOfADeepTreeTakesFewDescriptors(t *testing.T) { runChild(t, "deep", nil) }

func deepScenario(dir string) error {
	const depth, limit = 2000, 64
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	source, dest := filepath.Join(dir, "source"), filepath.Join(dir, "copy")
	if err := os.Mkdir(source, 0o755); err != nil {
		return err
	}
	if err := makeDeep(source, depth); err != nil {
		return err
	}
	for i := range 300 { // and a wide one
		if err := os.MkdirAll(filepath.Join(source, fmt.Sprint("w", i), "sub"), 0o755); err != nil {
			return err
		}
	}
	stats, err := workspace.Copy(context.Background(), source, dest, keepOwner)
	if err != nil {
		return err
	}
	if stats.Dirs != depth+600 {
		return fmt.Errorf("%d directories were copied", stats.Dirs)
	}
	return errors.Join(workspace.Remove(source), workspace.Remove(dest))
}

func TestCopyAndRemoveReadOnlyTreesAsOrdinaryUser(t *testing.T) { runChild(t, "ordinary", nil) }

func ordinaryScenario(dir string) error {
	source, dest := filepath.Join(dir, "source"), filepath.Join(dir, "copy")
	if err := os.MkdirAll(filepath.Join(source, "a/b/c"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(source, "a/b/f"), []byte("x"), 0o400); err != nil {
		return err
	}
	for _, name := range []string{"a/b/c", "a/b", "a", "."} {
		if err := os.Chmod(filepath.Join(source, name), 0o555); err != nil {
			return err
		}
	}
	if _, err := workspace.Copy(context.Background(), source, dest, keepOwner); err != nil {
		return err
	}
	for name, want := range map[string]fs.FileMode{"a": 0o555, "a/b": 0o555, "a/b/c": 0o555, "a/b/f": 0o400} {
		info, err := os.Stat(filepath.Join(dest, name))
		if err != nil || info.Mode().Perm() != want {
			return fmt.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for _, name := range []string{"a/b/c", "a/b", "a", "."} {
		if err := os.Chmod(filepath.Join(dest, name), 0); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return errors.Join(workspace.Remove(dest), workspace.Remove(source), mustBeEmpty(dir))
}

func mustBeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("left: %v", entries)
	}
	return err
}

func TestCopyNamesWhatItCannotRead(t *testing.T) { runChild(t, "unreadable", nil) }

func unreadableScenario(dir string) error {
	for _, name := range []string{"file", "tree/"} {
		source, dest := filepath.Join(dir, "source"), filepath.Join(dir, "copy")
		path := filepath.Join(source, "sub", name)
		if err := os.MkdirAll(filepath.Join(source, "sub/tree"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(source, "sub/file"), nil, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(path, 0); err != nil {
			return err
		}
		_, err := workspace.Copy(context.Background(), source, dest, keepOwner)
		e := sdk.AsError(err)
		if e == nil || e.Code != sdk.CodeSourceInvalid || !strings.Contains(e.Message, path) || !strings.Contains(e.Hint, "chmod") {
			return fmt.Errorf("%s: error %+v", name, e)
		}
		if _, err := workspace.Copy(context.Background(), source, dest, workspace.Options{UID: -1, GID: -1, Exclude: []string{"sub/" + name}}); err != nil {
			return fmt.Errorf("%s excluded: %w", name, err)
		}
		if err := errors.Join(workspace.Remove(source), workspace.Remove(dest), mustBeEmpty(dir)); err != nil {
			return err
		}
	}
	return nil
}

func TestCopyReportsAFullDisk(t *testing.T) {
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if os.Getuid() != 0 {
		if text, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err != nil || strings.TrimSpace(string(text)) == "0" {
			if os.Getenv("CI") == "true" {
				t.Fatal("user namespaces are needed to mount a small file system")
			}
			t.Skip("no user namespaces: an ordinary user cannot mount a small file system")
		}
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	runChild(t, "full", attr)
}

func fullScenario(dir string) error {
	source, small := filepath.Join(dir, "source"), filepath.Join(dir, "small")
	if err := errors.Join(os.Mkdir(source, 0o755), os.Mkdir(small, 0o755)); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	for _, tt := range []struct {
		options string
		files   int
		size    int
	}{{"size=1m", 4, 1 << 20}, {"nr_inodes=20", 40, 0}} {
		for i := range tt.files {
			if err := os.WriteFile(filepath.Join(source, fmt.Sprint(i)), make([]byte, tt.size), 0o644); err != nil {
				return err
			}
		}
		if err := unix.Mount("tmpfs", small, "tmpfs", 0, tt.options); err != nil {
			return err
		}
		dest := filepath.Join(small, "copy")
		_, err := workspace.Copy(context.Background(), source, dest, keepOwner)
		e := sdk.AsError(err)
		if e == nil || e.Code != sdk.CodeDiskFull || !strings.Contains(e.Message, dest) || e.Hint == "" {
			return fmt.Errorf("%s: error %+v", tt.options, e)
		}
		if err := errors.Join(mustBeEmpty(small), unix.Unmount(small, 0)); err != nil {
			return err
		}
	}
	return nil
}
