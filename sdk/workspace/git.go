package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// maxGitFile bounds the small files of git that are read.
const maxGitFile = 1 << 20

// gitDirs are the directories from which the copy's .git is made.
type gitDirs struct {
	// own is the checkout's git directory.
	own     int
	ownPath string
	// common is the repository's, which a worktree shares with others; -1
	// where own is the whole of it.
	common     int
	commonPath string
}

func (g *gitDirs) close() {
	unix.Close(g.own)
	if g.common >= 0 {
		unix.Close(g.common)
	}
}

// findGit returns the git directories that a .git file in the source names. It
// returns nil where the tree is complete without them.
//
// The tree may be hostile, and its .git file may name any directory: it is
// believed only where the git directory names the source as its checkout, and
// the repository has the git directory as its worktree. Nobody can have written
// that who could not read the repository.
func (c *copier) findGit(root int) (*gitDirs, error) {
	if c.exclude.match("", gitName, false, false) || c.exclude.match("", gitName, true, false) {
		return nil, nil
	}
	text, _, err := readSmall(root, gitName)
	target, ok := gitFileTarget(text)
	switch {
	case gone(err) || err == nil && (!ok || filepath.IsLocal(target)):
		return nil, nil // absent, a directory, a symlink, no .git file, or inside
	case err != nil:
		return nil, sourceError(filepath.Join(c.source, gitName), err)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(c.source, target)
	}
	g := &gitDirs{own: -1, common: -1}
	g.own, g.ownPath, err = openResolved(target)
	if err == nil {
		err = c.proveGit(g, root)
	}
	if err != nil {
		g.close()
		return nil, sdk.Errorf(sdk.CodeSourceInvalid,
			"%s names the git directory %s, which is not the source's own: %w", show(filepath.Join(c.source, gitName)), show(target), err).
			WithHint("run `git worktree repair` in the source, or add .git to the workspace's exclude list")
	}
	return g, nil
}

// gitFileTarget returns what a .git file points at.
func gitFileTarget(text []byte) (string, bool) {
	target, ok := strings.CutPrefix(string(text), "gitdir:")
	target = strings.Trim(target, " \t\r\n")
	return target, ok && target != "" && !strings.Contains(target, "\x00")
}

// openResolved opens a directory at a path that may have symlinks in it, and
// returns the path without them.
func openResolved(path string) (int, string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return -1, "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return -1, "", err
	}
	fd, err := openAbs(path)
	return fd, path, err
}

// proveGit checks that g.own belongs to the source, and opens the repository
// that it shares.
func (c *copier) proveGit(g *gitDirs, root int) error {
	shared, _, err := readSmall(g.own, "commondir")
	if errors.Is(err, fs.ErrNotExist) {
		vars, _, err := readConfig(g.own, configName)
		more, _, err2 := readConfig(g.own, worktreeConfigName)
		if err := cmp.Or(err, err2); err != nil {
			return err
		}
		worktree, ok := lookup(append(vars, more...), "core", "worktree")
		if !ok {
			return errors.New("its config has no core.worktree")
		}
		return cmpDirs(root, from(g.ownPath, worktree), "core.worktree in its config")
	}
	if err != nil {
		return err
	}
	back, _, err := readSmall(g.own, "gitdir")
	if err != nil {
		return err
	}
	backPath := from(g.ownPath, line(back))
	if filepath.Base(backPath) != gitName {
		return errors.New("its gitdir file does not name a .git file")
	}
	if err := cmpDirs(root, filepath.Dir(backPath), "its gitdir file"); err != nil {
		return err
	}
	if g.common, g.commonPath, err = openResolved(from(g.ownPath, line(shared))); err != nil {
		return err
	}
	entry, err := openDir(g.common, "worktrees/"+filepath.Base(g.ownPath))
	if err != nil {
		return errors.New("the repository that its commondir file names does not have it as a worktree")
	}
	defer unix.Close(entry)
	same, err := sameFile(entry, g.own)
	if err == nil && !same {
		err = errors.New("the repository that its commondir file names has another worktree of its name")
	}
	return err
}

// cmpDirs checks that the directory at path is the source.
func cmpDirs(root int, path, what string) error {
	fd, _, err := openResolved(path)
	if err == nil {
		defer unix.Close(fd)
		var same bool
		if same, err = sameFile(fd, root); same {
			return nil
		}
	}
	if err == nil {
		err = errors.New(what + " names " + show(path))
	}
	return err
}

func sameFile(a, b int) (bool, error) {
	x, err := identify(a)
	if err != nil {
		return false, err
	}
	y, err := identify(b)
	return err == nil && x == y, err
}

// from resolves a path that stands in a file of directory dir.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func line(text []byte) string { return strings.TrimRight(string(text), "\r\n") }

// readSmall reads a regular file of an open directory, up to maxGitFile.
func readSmall(dir int, name string) ([]byte, *unix.Stat_t, error) {
	fd, st, err := openRegular(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(fd)
	if st.Size > maxGitFile {
		return nil, nil, errors.New(name + " is larger than 1 MiB")
	}
	text, err := readAll(fd, maxGitFile)
	return text, st, err
}

// readAll reads an open file from its start, up to limit bytes. It does not
// move the file's offset.
func readAll(fd, limit int) ([]byte, error) {
	var text []byte
	buf := make([]byte, 8<<10)
	for len(text) < limit {
		n, err := unix.Pread(fd, buf[:min(len(buf), limit-len(text))], int64(len(text)))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return text, os.NewSyscallError("read", err)
		}
		text = append(text, buf[:n]...)
	}
	return text, nil
}

// configFile is a configuration file for the copy.
type configFile struct {
	name string
	text []byte
	st   *unix.Stat_t // of the original
}

// readConfig reads the named configuration file of a git directory. The
// variables are those of the original, the file is what the copy gets. It
// returns nil where there is no file.
func readConfig(dir int, name string) ([]variable, *configFile, error) {
	text, st, err := readSmall(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var vars []variable
	if err == nil {
		vars, err = parseGitConfig(text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the git configuration file %s: %w", name, err)
	}
	return vars, &configFile{name, detach(text, vars), st}, nil
}

const (
	configName         = "config"
	worktreeConfigName = "config.worktree"
)
