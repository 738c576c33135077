package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

func TestCopyKeepsTheTree(t *testing.T) {
	source := t.TempDir()
	write(t, source, "plain", "text")
	write(t, source, "bin/run", "#!/bin/sh\n")
	write(t, source, "empty-file", "")
	write(t, source, "name-\xff\xfe", "not UTF-8")
	write(t, source, "wide/"+strings.Repeat("n", 255), "longest name")
	write(t, source, "large", strings.Repeat("0123456789abcdef", 200_000))
	mkdir(t, source, "empty-dir")
	for name, target := range map[string]string{
		"link": "plain", "bin/dangling": "no/such", "out": "/etc/passwd", "up": "../..", "to-dir": "bin",
	} {
		if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1500 { // more than one reading of the directory
		write(t, source, fmt.Sprintf("wide/%d", i), fmt.Sprint(i))
	}
	chmod(t, source, "bin/run", 0o751)
	chmod(t, source, "plain", 0o604)
	chmod(t, source, "empty-dir", 0o700|fs.ModeSticky)
	ageTree(t, source)

	dest := filepath.Join(t.TempDir(), "copy")
	stats := mustCopy(t, source, dest, keepOwner)
	if diff := cmp.Diff(snapshot(t, source), snapshot(t, dest)); diff != "" {
		t.Errorf("the copy differs (-source +copy):\n%s", diff)
	}
	want := workspace.Stats{Files: 1506, Dirs: 3, Symlinks: 5, Bytes: stats.Bytes}
	if stats != want || stats.Bytes < 3_200_000 {
		t.Errorf("stats: %+v, want %+v", stats, want)
	}
}

// The last of several workers in a directory gives it its mode, whoever it is.
func TestCopySealsEachDirectory(t *testing.T) {
	source := t.TempDir()
	for i := range 20 {
		for j := range 33 {
			write(t, source, fmt.Sprintf("%d/%d", i, j), "")
		}
	}
	ageTree(t, source)
	want := snapshot(t, source)
	for i := range 30 {
		dest := filepath.Join(t.TempDir(), "copy")
		mustCopy(t, source, dest, keepOwner)
		if diff := cmp.Diff(want, snapshot(t, dest)); diff != "" {
			t.Fatalf("copy %d differs (-source +copy):\n%s", i, diff)
		}
	}
}

func TestCopyDropsSetuidAndSetgid(t *testing.T) {
	source, dest := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(t, source, "tool", "x")
	mkdir(t, source, "team")
	chmod(t, source, "tool", 0o755|fs.ModeSetuid|fs.ModeSetgid)
	chmod(t, source, "team", 0o770|fs.ModeSetgid)
	mustCopy(t, source, dest, keepOwner)
	for name, want := range map[string]fs.FileMode{"tool": 0o755, "team": 0o770 | fs.ModeDir} {
		if got := lstat(t, filepath.Join(dest, name)).Mode(); got != want {
			t.Errorf("%s: mode %v, want %v", name, got, want)
		}
	}
}

func TestCopyMakesHardLinksFilesOfTheirOwn(t *testing.T) {
	source, dest := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(t, source, "a", "both")
	if err := os.Link(filepath.Join(source, "a"), filepath.Join(source, "b")); err != nil {
		t.Fatal(err)
	}
	mustCopy(t, source, dest, keepOwner)
	if os.SameFile(lstat(t, filepath.Join(dest, "a")), lstat(t, filepath.Join(dest, "b"))) {
		t.Error("a and b are one file in the copy")
	}
	if got := read(t, dest, "b"); got != "both" {
		t.Errorf("b: %q", got)
	}
}

func TestCopyKeepsHoles(t *testing.T) {
	source, dest := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	const size = 64 << 20
	f, err := os.Create(filepath.Join(source, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{1 << 20, 40 << 20} {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	mustCopy(t, source, dest, keepOwner)
	if read(t, source, "sparse") != read(t, dest, "sparse") {
		t.Error("the contents differ")
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dest, "sparse"), &st); err != nil {
		t.Fatal(err)
	}
	if st.Blocks*512 > size/8 {
		t.Errorf("the copy takes %d bytes on disk for 8 bytes of data", st.Blocks*512)
	}
}

func TestCopyReadsFilesThatClaimToBeEmpty(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "copy")
	t.Cleanup(func() { workspace.Remove(dest) }) // it is read-only, as the original
	mustCopy(t, "/proc/sys/kernel/random", dest, workspace.Options{UID: -1, GID: -1, Exclude: []string{"uuid"}})
	want, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, dest, "boot_id"); got != string(want) {
		t.Errorf("boot_id: %q, want %q", got, want)
	}
}

func TestCopyIntoAnEmptyDirectory(t *testing.T) {
	source, dest := t.TempDir(), t.TempDir()
	write(t, source, "a", "x")
	chmod(t, source, ".", 0o750)
	mustCopy(t, source, dest, keepOwner)
	if got := lstat(t, dest).Mode().Perm(); got != 0o750 {
		t.Errorf("mode %v, want 0750", got)
	}
	if _, err := workspace.Copy(t.Context(), source, dest, keepOwner); err == nil {
		t.Error("a second copy to the same place succeeded")
	}
	if got := read(t, dest, "a"); got != "x" {
		t.Errorf("the refused copy touched what was there: %q", got)
	}
}

func TestCopyEmptiesADirectoryItFoundWhenItFails(t *testing.T) {
	source, dest := t.TempDir(), t.TempDir()
	write(t, source, "a/b", "x")
	write(t, source, ".git", "gitdir: /no/such")
	chmod(t, dest, ".", 0o755)
	wantCode(t, copyError(t, source, dest), sdk.CodeSourceInvalid)
	entries, err := os.ReadDir(dest)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the destination: %v, %v", entries, err)
	}
	if got := lstat(t, dest).Mode().Perm(); got != 0o755 {
		t.Errorf("mode %v, want 0755 as before", got)
	}
}

func TestCopyRefusesSources(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", "")
	mkdir(t, dir, "tree")
	if err := os.Symlink("tree", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, source, dest, message string }{
		{"missing", "none", "copy", "does not exist"},
		{"a file", "file", "copy", "is not a directory"},
		{"a symlink", "link", "copy", "has a symlink in it"},
		{"the destination below", "tree", "tree/copy", "inside the source"},
		{"the destination far below", ".", "tree/copy", "inside the source"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dest := filepath.Join(dir, tt.dest)
			err := copyError(t, filepath.Join(dir, tt.source), dest)
			e := wantCode(t, err, sdk.CodeSourceInvalid)
			if !strings.Contains(e.Message, tt.message) || e.Hint == "" {
				t.Errorf("message %q, hint %q; want %q and a hint", e.Message, e.Hint, tt.message)
			}
			wantAbsent(t, dest)
		})
	}
}

func TestCopyEndsWithItsContext(t *testing.T) {
	source := t.TempDir()
	for i := range 500 {
		write(t, source, fmt.Sprintf("d%d/f", i), "x")
	}
	unix.Mkfifo(filepath.Join(source, "d0/fifo"), 0o600)
	ctx, cancel := context.WithCancelCause(t.Context())
	dest := filepath.Join(t.TempDir(), "copy")
	opts := keepOwner
	opts.Warn = func(string) { cancel(nil) } // in the middle of the walk
	if _, err := workspace.Copy(ctx, source, dest, opts); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	wantAbsent(t, dest)
	if _, err := workspace.Copy(ctx, source, dest, keepOwner); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	wantAbsent(t, dest)
}

func TestCopyChangesTheOwner(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 4711, 4712
	}
	source, dest := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(t, source, "d/f", "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(source, "d/link")); err != nil {
		t.Fatal(err)
	}
	mustCopy(t, source, dest, workspace.Options{UID: uid, GID: gid})
	for _, name := range []string{".", "d", "d/f", "d/link"} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dest, name), &st); err != nil {
			t.Fatal(err)
		}
		if int(st.Uid) != uid || int(st.Gid) != gid {
			t.Errorf("%s belongs to %d:%d, want %d:%d", name, st.Uid, st.Gid, uid, gid)
		}
	}
}
