package workspace_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

func TestCopyExcludes(t *testing.T) {
	source := t.TempDir()
	files := []string{
		".git/HEAD", ".git/build", ".git/refs/heads/x.log", "a.log", "build/out", "build/sub/x.log",
		"docs/a.pdf", "docs/deep/er/b.pdf", "lib/build", "lib/.git/HEAD", "sub/build/keep",
	}
	for _, f := range files {
		write(t, source, f, "")
	}
	for _, tt := range []struct {
		name    string
		exclude []string
		without []string
	}{
		{"a name at any depth, not in .git", []string{"build"}, []string{"build/out", "build/sub/x.log", "lib/build", "sub/build/keep"}},
		{"directories alone", []string{"build/"}, []string{"build/out", "build/sub/x.log", "sub/build/keep"}},
		{"anchored by a slash in front", []string{"/build"}, []string{"build/out", "build/sub/x.log"}},
		{"anchored by a slash inside", []string{"lib/build"}, []string{"lib/build"}},
		{"a glob of names", []string{"*.log"}, []string{"a.log", "build/sub/x.log"}},
		{"any depth below", []string{"docs/**/*.pdf"}, []string{"docs/a.pdf", "docs/deep/er/b.pdf"}},
		{"any depth above", []string{"**/build/keep"}, []string{"sub/build/keep"}},
		{"alternatives, classes, single characters", []string{"{docs,li?}", "[a]?log"}, []string{"a.log", "docs/a.pdf", "docs/deep/er/b.pdf", "lib/build", "lib/.git/HEAD"}},
		{"escaped", []string{`\*.log`}, nil},
		{".git stays unless it is named", []string{".*", "*"}, slices.DeleteFunc(slices.Clone(files), func(f string) bool { return strings.HasPrefix(f, ".git/") })},
		{".git at any depth", []string{".git"}, []string{".git/HEAD", ".git/build", ".git/refs/heads/x.log", "lib/.git/HEAD"}},
		{"inside .git", []string{"/.git/refs/heads/*"}, []string{".git/refs/heads/x.log"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "copy")
			mustCopy(t, source, dest, workspace.Options{UID: -1, GID: -1, Exclude: tt.exclude})
			var got []string
			for _, path := range walk(t, dest) {
				if lstat(t, path).Mode().IsRegular() {
					rel, _ := filepath.Rel(dest, path)
					got = append(got, rel)
				}
			}
			want := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return slices.Contains(tt.without, f) })
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("copied (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidatePatterns(t *testing.T) {
	good := []string{"node_modules", "*.log", "/build/", "docs/**/*.pdf", "{a,b}/c", `\!odd`, "[!a]*", "**"}
	if err := workspace.ValidatePatterns(good); err != nil {
		t.Errorf("good patterns: %v", err)
	}
	for pattern, reason := range map[string]string{
		"":                            "is empty",
		"/":                           "is empty",
		"!keep":                       "negation is not supported",
		"a[":                          "is malformed",
		"{a,b":                        "is malformed",
		`a\`:                          "is malformed",
		"../x":                        "can never match",
		"./x":                         "can never match",
		"a//b":                        "can never match",
		"a\x00b":                      "NUL",
		strings.Repeat("a", 1025):     "longer than",
		strings.Repeat("{*a,*b}", 20): "alternatives",
	} {
		err := workspace.ValidatePatterns(append(slices.Clone(good), pattern))
		e := wantCode(t, err, sdk.CodeInvalidRequest)
		if !strings.Contains(e.Message, reason) || e.Hint == "" {
			t.Errorf("%q: message %q, hint %q; want %q and a hint", pattern, e.Message, e.Hint, reason)
		}
		if _, err := workspace.Copy(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "c"), workspace.Options{Exclude: []string{pattern}}); err == nil {
			t.Errorf("Copy takes the pattern %q", pattern)
		}
	}
}
