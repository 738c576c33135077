package layout

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pkg is a package as go list describes it.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	ImportMap  map[string]string
	Error      *struct{ Err string }
}

// graph holds packages by their import path.
type graph map[string]pkg

// load lists the packages of every module of the repository, with all that
// they import.
func load(t *testing.T, root string) graph {
	t.Helper()
	g := graph{}
	for _, pattern := range []string{"sdk", "core", "cmd", "plugins/*"} {
		dirs, err := filepath.Glob(filepath.Join(root, pattern, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, mod := range dirs {
			g.list(t, filepath.Dir(mod))
		}
	}
	return g
}

func (g graph) list(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports,ImportMap,Error", "./...")
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for in := json.NewDecoder(out); ; {
		var p pkg
		err := in.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read go list in %s: %v", dir, err)
		}
		g[p.ImportPath] = p
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list in %s: %v\n%s", dir, err, stderr.String())
	}
}

// in lists the packages that a rule is about.
func (g graph) in(r rule) []string {
	var found []string
	for path := range g {
		if path == repo+r.dir || !r.exact && strings.HasPrefix(path, repo+r.dir+"/") {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

// chainsFrom returns, for each package that path reaches, itself included, the
// shortest chain of imports that leads there.
func (g graph) chainsFrom(path string) map[string][]string {
	chains := map[string][]string{path: {path}}
	for queue := []string{path}; len(queue) > 0; queue = queue[1:] {
		from := g[queue[0]]
		for _, to := range from.Imports {
			if mapped, ok := from.ImportMap[to]; ok {
				to = mapped
			}
			if _, seen := chains[to]; !seen && to != "C" {
				chains[to] = append(slices.Clone(chains[queue[0]]), to)
				queue = append(queue, to)
			}
		}
	}
	return chains
}

// within says whether path is pattern or below it.
func within(path, pattern string) bool {
	return path == pattern || strings.HasPrefix(path, pattern+"/")
}

func (g graph) isNever(never, path string) bool {
	if never == outside {
		return !g[path].Standard
	}
	return within(path, never) || within(path, repo+never)
}

func (r rule) mayImport(path string) bool {
	local, ours := strings.CutPrefix(path, repo)
	if !ours || within(local, r.dir) && !r.exact {
		return true
	}
	return slices.ContainsFunc(r.imports, func(allowed string) bool {
		if tree, ok := strings.CutSuffix(allowed, "/..."); ok {
			return within(local, tree)
		}
		return local == allowed
	})
}

// breaches lists how the packages of a rule break it: each import that is not
// allowed, and for what must never be reached the shortest chain that does.
func (g graph) breaches(r rule) []string {
	var found []string
	for _, path := range g.in(r) {
		for _, to := range g[path].Imports {
			if !r.mayImport(to) {
				found = append(found, path+" imports "+to+", which is not among what it may import")
			}
		}
		chains := g.chainsFrom(path)
		for to := range chains {
			if e := g[to].Error; e != nil {
				found = append(found, "what "+to+" imports is not known: "+e.Err)
			}
		}
		delete(chains, path)
		for _, never := range r.never {
			if chain := g.shortest(chains, never); chain != nil {
				found = append(found, reached(chain...))
			}
		}
	}
	return found
}

// shortest returns the shortest of the chains that end in never, or nil.
func (g graph) shortest(chains map[string][]string, never string) []string {
	var best []string
	for _, to := range slices.Sorted(maps.Keys(chains)) {
		if chain := chains[to]; g.isNever(never, to) && (best == nil || len(chain) < len(best)) {
			best = chain
		}
	}
	return best
}

func reached(chain ...string) string {
	return "a package is reached that must never be:\n\t" + strings.Join(chain, "\n\t  imports ")
}

// misplaced lists the imports of libraries that another package owns.
func (g graph) misplaced() []string {
	var found []string
	for _, path := range slices.Sorted(maps.Keys(g)) {
		local, ours := strings.CutPrefix(path, repo)
		if !ours || !within(local, "core") && !within(local, "cmd") {
			continue
		}
		for _, o := range owners {
			for _, to := range g[path].Imports {
				if within(to, o.library) && !within(local, o.owner) {
					found = append(found, local+" imports "+to+", which only "+o.owner+" may ("+o.why+")")
				}
			}
		}
	}
	return found
}
