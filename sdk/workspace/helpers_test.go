package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

// keepOwner copies without a change of owner.
var keepOwner = workspace.Options{UID: -1, GID: -1}

func mustCopy(t *testing.T, source, dest string, opts workspace.Options) workspace.Stats {
	t.Helper()
	stats, err := workspace.Copy(t.Context(), source, dest, opts)
	if err != nil {
		t.Fatalf("Copy: %v (%s)", err, sdk.AsError(err).Hint)
	}
	return stats
}

func copyError(t *testing.T, source, dest string) error {
	t.Helper()
	_, err := workspace.Copy(t.Context(), source, dest, keepOwner)
	if err == nil {
		t.Fatal("Copy succeeded")
	}
	return err
}

func wantCode(t *testing.T, err error, code sdk.Code) *sdk.Error {
	t.Helper()
	e := sdk.AsError(err)
	if e == nil || e.Code != code {
		t.Fatalf("error %v, want the code %s", err, code)
	}
	return e
}

func wantAbsent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there (%v)", path, err)
	}
}

// warnings collects what Copy warns of.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) options(exclude ...string) workspace.Options {
	return workspace.Options{UID: -1, GID: -1, Exclude: exclude, Warn: func(m string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = append(w.list, m)
	}}
}

func (w *warnings) sorted() []string { return slices.Sorted(slices.Values(w.list)) }

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func chmod(t testing.TB, dir, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func lstat(t testing.TB, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// ageTree gives each entry a time of its own, with nanoseconds.
func ageTree(t *testing.T, root string) {
	t.Helper()
	at := time.Date(2001, 2, 3, 4, 5, 6, 123456789, time.UTC)
	for _, path := range walk(t, root) {
		at = at.Add(time.Hour + time.Nanosecond)
		ts := unix.NsecToTimespec(at.UnixNano())
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			t.Fatal(err)
		}
	}
}

func walk(t *testing.T, root string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// snapshot describes a tree: each path with mode, time and contents.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range walk(t, root) {
		info := lstat(t, path)
		text := fmt.Sprint(info.Mode(), " ", info.ModTime().UTC().Format(time.RFC3339Nano))
		switch {
		case info.Mode().IsRegular():
			text += " " + read(t, "", path)
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				t.Fatal(err)
			}
			text += " -> " + target
		}
		rel, _ := filepath.Rel(root, path)
		all[fmt.Sprintf("%q", rel)] = text
	}
	return all
}

// newRepo makes a repository with one commit.
func newRepo(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	git(t, dir, "init", "-q", "-b", "main", name)
	write(t, path, "file", "of "+name)
	git(t, path, "add", "file")
	git(t, path, "commit", "-qm", "first")
	return path
}

// gitState is what a person would look at.
func gitState(t *testing.T, dir string) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, args := range []string{"status --porcelain=v2 --branch", "log --format=%H%d%s", "reflog --format=%H%gs", "stash list", "for-each-ref"} {
		state[args] = git(t, dir, strings.Fields(args)...)
	}
	return state
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	return cmd
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := workspace.Remove(to); err != nil {
			t.Error(fmt.Errorf("clean up: %w", err))
		}
	})
}
