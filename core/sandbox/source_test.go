package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestSources(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "people", "me")
	repo := filepath.Join(home, "repo")
	other := filepath.Join(base, "other")
	for _, d := range []string{repo, other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := func(name, target string) string {
		path := filepath.Join(base, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("HOME", home)
	tests := []struct {
		name, path, want string // want is empty for a refusal
		code             sdk.Code
		roots            []string
	}{
		{"repository", repo, repo, "", nil},
		{"trailing slash and dots", repo + "/./../repo/", repo, "", nil},
		{"link to a repository", link("to-repo", repo), repo, "", nil},
		{"relative", "repo", "", sdk.CodeSourceInvalid, nil},
		{"empty", "", "", sdk.CodeSourceInvalid, nil},
		{"missing", filepath.Join(base, "none"), "", sdk.CodeSourceInvalid, nil},
		{"file", file, "", sdk.CodeSourceInvalid, nil},
		{"dangling link", link("dangling", "/no/such"), "", sdk.CodeSourceInvalid, nil},
		{"loop", link("loop", filepath.Join(base, "loop")), "", sdk.CodeSourceInvalid, nil},
		{"root", "/", "", sdk.CodeSourceForbidden, nil},
		{"root by a link", link("to-root", "/"), "", sdk.CodeSourceForbidden, nil},
		{"home", home, "", sdk.CodeSourceForbidden, nil},
		{"home by a link", link("to-home", home), "", sdk.CodeSourceForbidden, nil},
		{"parent of a home", filepath.Dir(home), "", sdk.CodeSourceForbidden, nil},
		{"home of root", "/root", "", sdk.CodeSourceForbidden, nil},
		{"state directory", w.StateDir, "", sdk.CodeSourceForbidden, nil},
		{"in the state directory", filepath.Join(w.StateDir, "locks"), "", sdk.CodeSourceForbidden, nil},
		{"parent of the state directory", filepath.Dir(w.StateDir), "", sdk.CodeSourceForbidden, nil},
		{"under a root", repo, repo, "", []string{other, filepath.Dir(home)}},
		{"a root itself", other, other, "", []string{other}},
		{"under no root", repo, "", sdk.CodeSourceForbidden, []string{other}},
		{"beside a root of the same beginning", repo, "", sdk.CodeSourceForbidden, []string{repo[:len(repo)-1]}},
		{"missing under a root", other + "/none", "", sdk.CodeSourceInvalid, []string{other}},
		{"missing under no root", filepath.Join(base, "none"), "", sdk.CodeSourceForbidden, []string{other}},
		{"dangling link under no root", filepath.Join(base, "dangling"), "", sdk.CodeSourceForbidden, []string{other}},
		{"home under no root", home, "", sdk.CodeSourceForbidden, []string{other}},
		{"out of a root by a link", link("out", other), "", sdk.CodeSourceForbidden, []string{home}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.SourceRoots = tt.roots
			got, err := w.resolveSource(tt.path)
			if os.Geteuid() != 0 && tt.path == "/root" && sdk.CodeOf(err) == sdk.CodeSourceInvalid {
				return // an ordinary user may not even look
			}
			wantCode(t, err, tt.code)
			if err == nil && got != tt.want {
				t.Errorf("resolved to %s, want %s", got, tt.want)
			}
			if err != nil && sdk.AsError(err).Hint == "" && tt.name != "loop" {
				t.Errorf("no hint: %v", err)
			}
		})
	}
}

func TestNoSourceRootAllowsNothing(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	w.OnlySourceRoots = true
	for _, path := range []string{t.TempDir(), "/no/such"} {
		_, err := w.resolveSource(path)
		wantCode(t, err, sdk.CodeSourceForbidden)
	}
}
