package workspace

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// shared holds the names that worktrees of a repository have in common: those
// of gitrepository-layout(5), and of the tools that keep to it. What is not
// listed belongs to one checkout.
var shared = map[string]bool{
	"annex": true, "branches": true, "common": true, "config": true, "description": true,
	"git-crypt": true, "hooks": true, "info": true, "lfs": true, "logs": true,
	"lost-found": true, "objects": true, "packed-refs": true, "refs": true, "remotes": true,
	"rr-cache": true, "shallow": true, "svn": true,
}

// unshared are the exceptions from shared.
var unshared = []string{
	"info/sparse-checkout", "logs/HEAD", "logs/refs/bisect", "logs/refs/rewritten",
	"logs/refs/worktree", "refs/bisect", "refs/rewritten", "refs/worktree",
}

// isShared reports whether a path in a git directory is common to all
// worktrees.
func isShared(rel string) bool {
	for _, u := range unshared {
		if rel == u || strings.HasPrefix(rel, u+"/") {
			return false
		}
	}
	first, _, _ := strings.Cut(rel, "/")
	return shared[first]
}

// keepCommon selects what a worktree takes from the repository.
func keepCommon(rel string, _ bool) bool { return isShared(rel) && rel != "config" }

// keepOwn selects what is the worktree's own: without the links to the
// repository, which is now in the same place, and the configuration, which is
// written apart.
func keepOwn(rel string, isDir bool) bool {
	switch rel {
	case "commondir", "gitdir", "locked", "config.worktree":
		return false
	}
	if !isShared(rel) {
		return true
	}
	for _, u := range unshared {
		if isDir && strings.HasPrefix(u, rel+"/") {
			return true
		}
	}
	return false
}

// keepWhole selects what is copied of a git directory that shares nothing, as a
// submodule's: other checkouts of it stay out.
func keepWhole(rel string, _ bool) bool {
	return rel != "worktrees" && rel != "config" && rel != "config.worktree"
}

// copyGit makes the .git directory of the copy.
func (c *copier) copyGit(g *gitDirs, dest int) error {
	if err := unix.Mkdirat(dest, gitName, 0o700); err != nil {
		return destError(c.dest, filepath.Join(c.dest, gitName), err)
	}
	c.dirs.Add(1)
	fd, err := openDir(dest, gitName)
	if err != nil {
		return destError(c.dest, filepath.Join(c.dest, gitName), err)
	}
	defer unix.Close(fd)
	configs, err := c.gitConfigs(g)
	if err != nil {
		return err
	}
	for _, f := range configs {
		if err := c.writeConfig(fd, f); err != nil {
			return destError(c.dest, filepath.Join(c.dest, gitName, f.name), err)
		}
	}
	if g.common < 0 {
		return c.copyTree(&tree{root: g.own, dest: fd, path: g.ownPath, prefix: gitName, keep: keepWhole})
	}
	if err := c.copyTree(&tree{root: g.common, dest: fd, path: g.commonPath, prefix: gitName, keep: keepCommon}); err != nil {
		return err
	}
	return c.copyTree(&tree{root: g.own, dest: fd, path: g.ownPath, prefix: gitName, keep: keepOwn, merge: true})
}

// gitConfigs returns the configuration files of the copy. Git reads them in the
// sandbox only.
func (c *copier) gitConfigs(g *gitDirs) ([]*configFile, error) {
	dir, path := g.own, g.ownPath
	if g.common >= 0 {
		dir, path = g.common, g.commonPath
	}
	vars, config, err := readConfig(dir, configName)
	if err != nil {
		return nil, sourceError(path, err)
	}
	if format, _ := lookup(vars, "extensions", "refstorage"); g.common >= 0 && strings.EqualFold(format, "reftable") {
		return nil, sdk.Errorf(sdk.CodeSourceInvalid, "the source is a worktree of %s, which keeps its references in the reftable format: they cannot be copied apart", show(path)).
			WithHint("use the main checkout or a clone as the source, or run `git refs migrate --ref-format=files`")
	}
	_, own, err := readConfig(g.own, worktreeConfigName)
	if err != nil {
		return nil, sourceError(g.ownPath, err)
	}
	return slices.DeleteFunc([]*configFile{config, own}, func(f *configFile) bool { return f == nil }), nil
}

func (c *copier) writeConfig(dir int, f *configFile) error {
	fd, err := openat(dir, f.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	err = cmp.Or(writeAt(fd, f.text, 0), c.sealFile(fd, dir, f.name, f.st))
	if err := cmp.Or(err, unix.Close(fd)); err != nil {
		return err
	}
	c.files.Add(1)
	c.bytes.Add(int64(len(f.text)))
	return nil
}
