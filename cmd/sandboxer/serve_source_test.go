package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// TestSourceRoots has paths in, out of, and around the root of a service.
func TestSourceRoots(t *testing.T) {
	h := newHost(t)
	base := t.TempDir()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, dir := range []string{root + "/repo", outside, root + "-not"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"in": "repo", "out": outside, "up": "../outside", "dangling": "/no/such"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := startServeWith(t, h, nil, "--source-root", root)
	for path, code := range map[string]string{
		root: "", root + "/repo": "", root + "/in": "", root + "/repo/../repo/": "",
		root + "/out": "source_forbidden", root + "/up": "source_forbidden", outside: "source_forbidden", root + "-not": "source_forbidden",
		root + "/../outside": "source_forbidden", base: "source_forbidden", "/": "source_forbidden", "/no/such": "source_forbidden",
		outside + "/none": "source_forbidden", root + "/none": "source_invalid",
	} {
		r := s.must("POST", "/v1/sandboxes", createBody(path, ""))
		if code != "" {
			if p := r.problem(t); p.Code != code || p.Hint == "" {
				t.Errorf("%s: %s, want %s", path, r.body, code)
			}
			continue
		}
		if r.status != 201 {
			t.Errorf("%s: status %d: %s", path, r.status, r.body)
			continue
		}
		s.must("DELETE", "/v1/sandboxes/"+decodeAs[apitype.Sandbox](t, r).SandboxID, "")
	}
}

func TestWithoutSourceRootNothingIsCopied(t *testing.T) {
	s := startServeWith(t, newHost(t), nil)
	for _, path := range []string{tree(t, 1, 1), "/no/such"} {
		r := s.must("POST", "/v1/sandboxes", createBody(path, ""))
		wantRefusal(t, r, 403, "source_forbidden", "")
		if p := r.problem(t); !strings.Contains(p.Hint, "--source-root") {
			t.Errorf("hint %q", p.Hint)
		}
	}
}
