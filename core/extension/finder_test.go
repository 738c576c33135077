package extension

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
)

// put writes a program that looks like an extension.
func put(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, filePrefix+name)
	if err := os.WriteFile(path, []byte("\x7fELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, 0o755)
	return path
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestFirstDirectoryWins(t *testing.T) {
	first, second := install(t), install(t)
	want := put(t, first, "both")
	put(t, second, "both")
	only := put(t, second, "only")
	put(t, second, "Upper")
	put(t, second, strings.Repeat("n", 64))
	f := Finder{Dirs: []string{filepath.Join(first, "missing"), first, second}}
	for name, want := range map[string]string{"both": want, "ext.both": want, "only": only} {
		if got, err := f.Find(name); got != want || err != nil {
			t.Errorf("Find(%q) = %q, %v", name, got, err)
		}
	}
	if diff := cmp.Diff([]Entry{{Name: "both", Path: want}, {Name: "only", Path: only}}, f.List()); diff != "" {
		t.Errorf("List:\n%s", diff)
	}
}

func TestNotFoundSaysWhereAndWhat(t *testing.T) {
	dir := install(t)
	put(t, dir, "bwrap")
	f := Finder{Dirs: []string{dir, "/nowhere"}}
	tests := []struct {
		name string
		code sdk.Code
		hint string
	}{
		{"bwarp", sdk.CodeExtensionNotFound, "did you mean ext.bwrap?"},
		{"docker", sdk.CodeExtensionNotFound, pathEnv},
		{"../bwrap", sdk.CodeInvalidRequest, "1 to 63 characters"},
		{"", sdk.CodeInvalidRequest, "1 to 63 characters"},
		{strings.Repeat("n", 64), sdk.CodeInvalidRequest, "1 to 63 characters"},
	}
	for _, test := range tests {
		_, err := f.Find(test.name)
		e := sdk.AsError(err)
		if e.Code != test.code || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%q: %s %q, hint %q", test.name, e.Code, e.Message, e.Hint)
		}
		if e.Code == sdk.CodeExtensionNotFound && !strings.Contains(e.Message, dir+", /nowhere") {
			t.Errorf("%q does not list the directories", e.Message)
		}
	}
}

func TestProgramsThatAreRefused(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir, path string)
		words string
	}{
		{"written by the group", func(t *testing.T, _, path string) { chmod(t, path, 0o775) }, "can be written by others"},
		{"written by others", func(t *testing.T, _, path string) { chmod(t, path, 0o757) }, "can be written by others"},
		{"in a directory written by others", func(t *testing.T, dir, _ string) { chmod(t, dir, 0o777|os.ModeSticky) }, "can be written by others"},
		{"not executable", func(t *testing.T, _, path string) { chmod(t, path, 0o644) }, "is not executable"},
		{"setuid", func(t *testing.T, _, path string) { chmod(t, path, 0o755|os.ModeSetuid) }, "set-user-id"},
		{"a script", func(t *testing.T, _, path string) {
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "is not a compiled program"},
		{"a symbolic link", func(t *testing.T, _, path string) {
			if err := os.Rename(path, path+".real"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path+".real", path); err != nil {
				t.Fatal(err)
			}
		}, "is a symbolic link"},
		{"a directory", func(t *testing.T, _, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "is not a regular file"},
		{"a fifo", func(t *testing.T, _, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "is not a regular file"},
	}
	if os.Geteuid() == 0 { // only root can give a file away
		tests = append(tests, []struct {
			name  string
			spoil func(t *testing.T, dir, path string)
			words string
		}{
			{"of another user", func(t *testing.T, _, path string) { chown(t, path) }, "belongs neither to root nor to you"},
			{"in a directory of another user", func(t *testing.T, dir, _ string) { chown(t, dir) }, "belongs neither to root nor to you"},
		}...)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t, nil)
			dir := h.cfg.Finder.Dirs[0]
			test.spoil(t, dir, put(t, dir, "spoiled"))
			_, err := h.Open(t.Context(), "spoiled")
			if sdk.CodeOf(err) != sdk.CodeExtensionInvalid || !strings.Contains(err.Error(), test.words) {
				t.Errorf("Open: %s %v, want %q", sdk.CodeOf(err), err, test.words)
			}
			if _, err := Digest(filepath.Join(dir, filePrefix+"spoiled")); sdk.CodeOf(err) != sdk.CodeExtensionInvalid {
				t.Errorf("Digest: %v", err)
			}
			if list := h.cfg.Finder.List(); len(list) == 0 || list[0].Name != "spoiled" || (list[0].Err == nil && test.name != "a script") {
				t.Errorf("List: %+v", list)
			}
		})
	}
}

func chown(t *testing.T, path string) {
	t.Helper()
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultDirectories(t *testing.T) {
	t.Setenv(pathEnv, "/opt/a::relative")
	t.Setenv("XDG_DATA_HOME", "/home/u/data")
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/opt/a", filepath.Join(cwd, "relative"), filepath.Dir(exe), filepath.Join(filepath.Dir(exe), "plugins")}
	if os.Geteuid() != 0 {
		want = append(want, "/home/u/data/sandboxer/extensions")
	}
	want = append(want, "/usr/local/lib/sandboxer/extensions", "/usr/lib/sandboxer/extensions")
	if diff := cmp.Diff(want, DefaultFinder().Dirs); diff != "" {
		t.Error(diff)
	}
}

func TestSweepSparesTheLiving(t *testing.T) {
	base := t.TempDir()
	alive, err := newSocketDir(base)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newSocketDir(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the end of its host does
		t.Fatal(err)
	}
	other := filepath.Join(base, "other")
	link := filepath.Join(base, socketDirPrefix+"link")
	for _, err := range []error{os.Mkdir(other, 0o700), os.Symlink(other, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sweepSocketDirs(base)
	for path, want := range map[string]bool{alive.path: true, dead.path: false, other: true, link: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", path, err == nil, want)
		}
	}
	if err := alive.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(alive.path); err == nil {
		t.Error("remove left the directory")
	}
}

func TestSocketPathFits(t *testing.T) {
	for base, want := range map[string]string{
		"":                               socketBase(os.TempDir()),
		"/run/user/1000":                 "/run/user/1000",
		"relative":                       "/tmp",
		"/" + strings.Repeat("long", 20): "/tmp",
	} {
		if got := socketBase(base); got != want {
			t.Errorf("socketBase(%q) = %q, want %q", base, got, want)
		}
	}
	longest := filepath.Join(strings.Repeat("b", maxSocketBase), socketDirPrefix+fmt.Sprint(1<<32-1), fmt.Sprint("plugin-dir", 1<<32-1), fmt.Sprint("plugin", 1<<32-1))
	if len(longest) > 107 {
		t.Errorf("a socket's path may have %d bytes", len(longest))
	}
}

func TestWorkDirOfSomebodyElseIsRefused(t *testing.T) {
	parent := t.TempDir()
	if err := os.Symlink("/tmp", filepath.Join(parent, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(parent, "open"), 0o755); err != nil {
		t.Fatal(err)
	}
	chmod(t, filepath.Join(parent, "open"), 0o777)
	for _, name := range []string{"linked", "open"} {
		if dir, err := makeWorkDir(parent, name); sdk.CodeOf(err) != sdk.CodeHostUnsupported {
			t.Errorf("%s: %q, %v", name, dir, err)
		}
	}
	for range 2 { // made, then found
		if _, err := makeWorkDir(parent, "good"); err != nil {
			t.Error(err)
		}
	}
}
