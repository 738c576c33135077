package workspace

import (
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// relink returns new contents for a file of git that names another place of
// what is copied by a path that is not true in the copy; nil for every other
// file. It warns of one that points out of the copy. It reads the file without
// moving its offset.
func (w *worker) relink(d *dir, name string, fd int) []byte {
	switch {
	case name == gitName && d.parent != nil && d.tree.prefix == "":
		return w.relinkGitFile(d, fd)
	case name == configName && d.tree.prefix != "" && strings.HasPrefix(d.path(), modulesName+"/"):
		return w.relinkConfig(d, fd)
	case name == "alternates" && d.inGit && strings.HasSuffix(d.path(), "objects/info"):
		w.checkAlternates(d, fd)
	}
	return nil
}

// modulesName is the directory with the git directories of submodules.
const modulesName = "modules"

// relinkGitFile lets the .git file of a submodule, in a source that is a
// worktree or submodule itself, point into the .git directory of the copy.
func (w *worker) relinkGitFile(d *dir, fd int) []byte {
	text, _ := readAll(fd, unix.PathMax)
	target, ok := gitFileTarget(text)
	at := d.path()
	if !ok || !filepath.IsAbs(target) && filepath.IsLocal(path.Join(at, target)) {
		return nil
	}
	if w.gitPath != "" {
		rel, err := filepath.Rel(w.gitPath, from(filepath.Join(w.source, at), target))
		if err == nil && filepath.IsLocal(rel) && strings.HasPrefix(rel, modulesName+"/") {
			return []byte("gitdir: " + up(at) + gitName + "/" + rel + "\n")
		}
	}
	w.warn("%s points out of the source: git will not work there in the sandbox (exclude the directory, or clone the submodule into the tree)", d.show(gitName))
	return nil
}

// relinkConfig lets the configuration of a submodule point to its checkout in
// the copy.
func (w *worker) relinkConfig(d *dir, fd int) []byte {
	text, err := readAll(fd, maxGitFile)
	if err != nil {
		return nil
	}
	vars, err := parseGitConfig(text)
	worktree, ok := lookup(vars, "core", "worktree")
	if err != nil || !ok {
		return nil
	}
	at := d.path()
	rel, err := filepath.Rel(w.source, from(filepath.Join(d.tree.path, at), worktree))
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(up(path.Join(gitName, at)) + rel)
	return append(detach(text, vars), "\n[core]\n\tworktree = \""+value+"\"\n"...)
}

// up returns the way from a directory of the copy to its root.
func up(dir string) string { return strings.Repeat("../", 1+strings.Count(dir, "/")) }

// checkAlternates warns of objects that are kept outside of the source.
func (w *worker) checkAlternates(d *dir, fd int) {
	text, _ := readAll(fd, maxGitFile)
	objects := path.Dir(path.Join(d.tree.prefix, d.path()))
	for target := range strings.Lines(string(text)) {
		target = strings.TrimSpace(target)
		if target == "" || target[0] == '#' || target[0] != '/' && insideCopy(d.tree, path.Join(objects, target)) {
			continue
		}
		w.warn("%s names objects outside of the source: git will miss them in the sandbox (run `git repack -a -d` in the source and remove the file, or clone without --shared and --reference)", d.show("alternates"))
		return
	}
}

// insideCopy reports whether a path, relative to the copy, leads to something
// that comes from the same tree.
func insideCopy(t *tree, rel string) bool {
	return filepath.IsLocal(rel) && (t.prefix == "" || strings.HasPrefix(rel, t.prefix+"/"))
}
