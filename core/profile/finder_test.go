package profile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

// finder returns a Finder of two directories and one that does not exist. Each
// name of a file stands for a good profile; one with "!" before it is broken.
func finder(t *testing.T, first, second []string) profile.Finder {
	t.Helper()
	f := profile.Finder{Dirs: []string{filepath.Join(t.TempDir(), "none")}}
	for _, names := range [][]string{first, second} {
		dir := t.TempDir()
		f.Dirs = append(f.Dirs, dir)
		for _, name := range names {
			name, broken := strings.CutPrefix(name, "!")
			text := "profile \"" + strings.TrimSuffix(name, ".hcl") + "\" {\n" + valid + "}\n"
			if broken {
				text = "broken"
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return f
}

func TestFindTakesTheFirstDirectory(t *testing.T) {
	f := finder(t, []string{"a.hcl"}, []string{"a.hcl", "b.hcl"})
	for name, want := range map[string]string{
		"a":         filepath.Join(f.Dirs[1], "a.hcl"),
		"profile.a": filepath.Join(f.Dirs[1], "a.hcl"),
		"b":         filepath.Join(f.Dirs[2], "b.hcl"),
	} {
		p, err := f.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if p.File != want {
			t.Errorf("%s: got %s, want %s", name, p.File, want)
		}
	}
}

func TestABrokenProfileDoesNotFallThrough(t *testing.T) {
	_, err := finder(t, []string{"!a.hcl"}, []string{"a.hcl"}).Find("a")
	report(t, err)
}

func TestFindSaysWhereItLooked(t *testing.T) {
	f := finder(t, []string{"agent-dev.hcl"}, []string{"other.hcl"})
	_, err := f.Find("agent-dve")
	e := sdk.AsError(err)
	if e == nil || e.Code != sdk.CodeProfileNotFound || e.Hint != `did you mean "profile.agent-dev"?` {
		t.Fatalf("%v %+v", err, e)
	}
	for _, dir := range f.Dirs {
		if !strings.Contains(err.Error(), dir) {
			t.Errorf("%s is not named: %v", dir, err)
		}
	}
	if _, err = f.Find("zzzz"); !strings.Contains(sdk.AsError(err).Hint, "agent-dev, other") {
		t.Errorf("no name is near: %q", sdk.AsError(err).Hint)
	}
	if _, err = (profile.Finder{}).Find("a"); sdk.CodeOf(err) != sdk.CodeProfileNotFound {
		t.Errorf("no directories: %v", err)
	}
}

func TestANameIsNoPath(t *testing.T) {
	f := finder(t, nil, nil)
	for _, name := range []string{"", "profile.", "../a", "/etc/passwd", "a/b", ".a", "-a", "A", "a.hcl", "ext.a", "a\x00", "é", strings.Repeat("a", 64)} {
		if _, err := f.Find(name); sdk.CodeOf(err) != sdk.CodeInvalidRequest || sdk.AsError(err).Field != "/profile" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestListHasGoodAndBroken(t *testing.T) {
	f := finder(t, []string{"c.hcl", "!a.hcl", ".hidden.hcl", "notes.txt"}, []string{"a.hcl", "b.hcl"})
	if err := os.Mkdir(filepath.Join(f.Dirs[2], "dir.hcl"), 0o700); err != nil {
		t.Fatal(err)
	}
	list, errs := f.List()
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"b", "c"}, names); diff != "" {
		t.Error(diff)
	}
	if len(errs) != 2 || !strings.Contains(errs[0].Error(), "a.hcl:1:1") || !strings.Contains(errs[1].Error(), "is a directory") {
		t.Errorf("errors: %v", errs)
	}
	_, errs = profile.Finder{Dirs: []string{filepath.Join(f.Dirs[1], "c.hcl")}}.List()
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "not a directory") {
		t.Errorf("a file as a directory: %v", errs)
	}
}
