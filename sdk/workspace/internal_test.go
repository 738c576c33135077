package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

func FuzzExclude(f *testing.F) {
	for _, seed := range [][2]string{
		{"build", "a/build"}, {"/a/**/b", "a/x/b"}, {"{a,b*}/[!c]?", "b1/xy"}, {"**/*.log/", "d/x.log"},
		{`\*`, "*"}, {"\xff?", "\xff\xfe"}, {"{a[}],b}", "a}"}, {"**/.git/lfs", ".git/lfs"},
		{strings.Repeat("**/", 300) + "z", strings.Repeat("a/", 100) + "y"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		m, err := compile([]string{pattern})
		if err != nil || path == "" || len(path) > 4096 {
			return
		}
		start := time.Now()
		dir, name := filepath.Split(path)
		asDir := m.match(strings.TrimSuffix(dir, "/"), name, true, false)
		asFile := m.match(strings.TrimSuffix(dir, "/"), name, false, false)
		if asFile && !asDir {
			t.Errorf("%q matches %q as a file but not as a directory", pattern, path)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("matching %q against %q took %v", pattern, path, took)
		}
	})
}

func TestGitConfig(t *testing.T) {
	for _, tt := range []struct {
		name, text, worktree, detached string
	}{
		{"none", "[core]\n\tfilemode = true\n", "", "[core]\n\tfilemode = true\n"},
		{"a submodule's", "[core]\n\tbare = false\n\tworktree = ../../../sub\n[remote \"origin\"]\n\turl = x\n", "../../../sub", "[core]\n\n\n[remote \"origin\"]\n\turl = x\n"},
		{"behind its header", "[CORE] WorkTree=/a b # c\nx=1\n", "/a b", "[CORE]\nx=1\n"},
		{"quoted", `[core] worktree = "/a;\"b\\ " ; c`, `/a;"b\ `, "[core]"},
		{"over two lines", "[core]\nworktree = /a\\\n/b\nx = 1\n", "/a/b", "[core]\n\nx = 1\n"},
		{"the last counts", "[core]\nworktree=/a\n[x]\n[core]\nworktree=/b\n", "/b", "[core]\n\n[x]\n[core]\n\n"},
		{"another section", "[core \"x\"]\nworktree=/a\n[core.y]\nworktree=/b\n", "", "[core \"x\"]\nworktree=/a\n[core.y]\nworktree=/b\n"},
		{"in a comment", "[core]\n# worktree=/a\n; [x\n", "", "[core]\n# worktree=/a\n; [x\n"},
		{"in a value", "[alias]\nx = \"[core]\\n\\\nworktree=/a\"\n", "", "[alias]\nx = \"[core]\\n\\\nworktree=/a\"\n"},
		{"CRLF and a mark", "\xef\xbb\xbf[core]\r\nworktree = /a\r\nbare\r\n", "/a", "\xef\xbb\xbf[core]\r\n\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			vars, err := parseGitConfig([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := lookup(vars, "core", "worktree"); got != tt.worktree {
				t.Errorf("core.worktree is %q, want %q", got, tt.worktree)
			}
			if diff := cmp.Diff(tt.detached, string(detach([]byte(tt.text), vars))); diff != "" {
				t.Errorf("detached (-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{"x = 1", "[core", "[co re]", "[core]\n= 1", "[core]\nx y", "[core]\nx = \"a\n", "[core]\nx = \\q", "[core \"a]\n", "[core]\nx=\\"} {
		if _, err := parseGitConfig([]byte(text)); err == nil {
			t.Errorf("%q is taken for a config file", text)
		}
	}
}

func FuzzGitConfig(f *testing.F) {
	f.Add("[core]\n\tbare = false\n\tworktree = ../x\n")
	f.Add("[a \"b\\\"c\"] d = \"e;\\\n f\" # g\n[core]worktree")
	f.Fuzz(func(t *testing.T, text string) {
		vars, err := parseGitConfig([]byte(text))
		if err != nil {
			return
		}
		again, err := parseGitConfig(detach([]byte(text), vars))
		if err != nil {
			t.Fatalf("the detached config of %q is broken", text)
		}
		var want, got []string
		for _, v := range vars {
			if v.section != "core" || v.name != "worktree" && v.name != "bare" {
				want = append(want, v.section+"."+v.name+"="+v.value)
			}
		}
		for _, v := range again {
			got = append(got, v.section+"."+v.name+"="+v.value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("detach changed more than it should in %q (-want +got):\n%s", text, diff)
		}
	})
}

// A kernel or a filter without openat2 takes the other way.
func TestOpenStepwiseFollowsNothing(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", filepath.Join(root, "a/link")); err != nil {
		t.Fatal(err)
	}
	top, err := openAbs(root)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(top)
	for path, ok := range map[string]bool{".": true, "a": true, "a/b": true, "a/link": false, "a/none": false} {
		for name, open := range map[string]func(int, string, int) (int, error){"stepwise": openStepwise, "beneath": openBeneath} {
			fd, err := open(top, path, unix.O_RDONLY|unix.O_DIRECTORY)
			if (err == nil) != ok {
				t.Errorf("%s %s: %v", name, path, err)
			}
			if err == nil {
				unix.Close(fd)
			}
		}
	}
}

// The data is copied in the same way whatever the file systems know.
func TestCopyDataThroughUserSpace(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("0123456789", 100_000)
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := openAbs(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, noRange := range []bool{false, true} {
		w := &worker{copier: &copier{ctx: t.Context()}}
		w.noRange.Store(noRange)
		src, st, err := openRegular(fd, "f")
		if err != nil {
			t.Fatal(err)
		}
		for _, length := range []int64{0, 1000, int64(len(text)), int64(len(text)) + 5000} { // 0: unknown; the last has shrunk
			st.Size, st.Blocks = length, 1<<20
			out, err := os.Create(filepath.Join(dir, "copy"))
			if err != nil {
				t.Fatal(err)
			}
			want := text
			if length > 0 {
				want = text[:min(length, int64(len(text)))]
			}
			w.noClone.Store(true)
			n, err := w.copyData(src, int(out.Fd()), st)
			if err != nil || n != int64(len(want)) {
				t.Errorf("length %d: copied %d, %v", length, n, err)
			}
			if got, _ := os.ReadFile(out.Name()); string(got) != want {
				t.Errorf("length %d: %d bytes differ from the %d wanted", length, len(got), len(want))
			}
			out.Close()
		}
		unix.Close(src)
	}
}

func TestShow(t *testing.T) {
	for path, want := range map[string]string{
		"/a b/ü":      "/a b/ü",
		"/a\n\x1b[2J": `"/a\n\x1b[2J"`,
		"/\xff":       `"/\xff"`,
	} {
		if got := show(path); got != want {
			t.Errorf("show(%q) = %s, want %s", path, got, want)
		}
	}
	if got := show(strings.Repeat("/d", 100_000)); len(got) > 500 {
		t.Errorf("a long path is shown in %d bytes", len(got))
	}
}
