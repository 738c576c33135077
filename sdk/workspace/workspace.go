// Package workspace copies a source tree into the workspace of a sandbox, and
// removes a tree in which a sandbox has worked.
//
// Both trees may be hostile. Nothing is reached by a path that a third party
// could bend: directories are opened beneath the root without following a
// symlink, files are opened by name in an open directory and checked after the
// open. No program runs on the host, git included.
//
// The package works on Linux alone.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// Options says how Copy copies. The zero value gives everything to root: set
// UID and GID to -1 where the owner does not matter.
type Options struct {
	// Exclude holds patterns of what is not copied, relative to the source,
	// in the syntax that [ValidatePatterns] describes.
	Exclude []string
	// UID and GID own everything in the copy; -1 leaves it as created.
	UID, GID int
	// Warn is told, in one sentence, of each thing that the copy lacks or that
	// will not work in it. It is never called twice at once. Nil: not told.
	Warn func(message string)
}

// Stats counts what a copy holds.
type Stats struct {
	// Files, Dirs and Symlinks are what was made below the destination.
	Files, Dirs, Symlinks int
	// Skipped counts devices, sockets and fifos, and what vanished or changed
	// its kind while the tree was read. Excluded entries are not counted.
	Skipped int
	// Bytes is the length of all files, holes included.
	Bytes int64
}

// Copy copies the directory source to dest. The path of source has no symlink
// in it; dest does not exist or is an empty directory, and nobody else writes
// to it. Until the copy is complete dest has mode 0700, then that of source.
//
// Kept are permission bits, modification times to the nanosecond, symlinks as
// they are, holes in sparse files, and names that are not UTF-8. A hard link
// becomes a file of its own. Not kept are extended attributes, and the setuid
// and setgid bits: under another owner they would grant a right that nobody
// meant to give. Devices, sockets and fifos are skipped without being opened.
// A file system mounted inside source is copied as the directory it appears as.
//
// A source whose .git is a file, as in a git worktree or submodule, gets a
// .git directory in the copy that needs nothing outside of it. The file is
// followed only where the git directory itself names source as its checkout.
//
// A file that changes during the copy is copied as it is read; one that
// vanishes is skipped. When Copy fails it has removed what it made. A source
// that cannot be copied is [sdk.CodeSourceInvalid], a full disk
// [sdk.CodeDiskFull]; after the end of ctx the error is that of ctx.
func Copy(ctx context.Context, source, dest string, opts Options) (Stats, error) {
	exclude, err := compile(opts.Exclude)
	if err != nil {
		return Stats{}, err
	}
	if source, err = filepath.Abs(source); err != nil {
		return Stats{}, fmt.Errorf("find the source: %w", err)
	}
	root, err := openSource(source)
	if err != nil {
		return Stats{}, err
	}
	defer unix.Close(root)
	target, err := makeDest(root, source, dest)
	if err != nil {
		return Stats{}, err
	}
	defer unix.Close(target.fd)

	c := &copier{ctx: ctx, source: source, dest: dest, exclude: exclude, opts: opts, warn: serialWarn(opts.Warn)}
	if err = c.copyAll(root, target.fd); err != nil {
		if left := target.undo(); left != nil {
			err = errors.Join(err, left)
		}
		return Stats{}, err
	}
	return c.stats(), nil
}

// copyAll copies the git directories first, because the root gets its final
// mode, which may be read-only, at the end of the source's own tree.
func (c *copier) copyAll(root, dest int) error {
	var err error
	if c.destID, err = identify(dest); err != nil {
		return fmt.Errorf("read the workspace %s: %w", show(c.dest), err)
	}
	main := tree{root: root, dest: dest, path: c.source}
	git, err := c.findGit(root)
	if err != nil {
		return err
	}
	if git != nil {
		defer git.close()
		c.gitPath = git.ownPath
		if err := c.copyGit(git, dest); err != nil {
			return err
		}
		main.keep = func(rel string, _ bool) bool { return rel != gitName }
	}
	return c.copyTree(&main)
}

// openSource opens the source by a path without symlinks: whoever allowed the
// path resolved them, and one that is there now was put there since.
func openSource(source string) (int, error) {
	fd, err := openAbs(source)
	switch {
	case err == nil:
		return fd, nil
	case errors.Is(err, unix.ENOENT):
		return -1, sdk.Errorf(sdk.CodeSourceInvalid, "the source %s does not exist", show(source)).
			WithHint("check the path")
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		if resolved, e := filepath.EvalSymlinks(source); e == nil && resolved != source {
			return -1, sdk.Errorf(sdk.CodeSourceInvalid, "the path of the source %s has a symlink in it", show(source)).
				WithHint("give the resolved path: %s", show(resolved))
		}
		return -1, sdk.Errorf(sdk.CodeSourceInvalid, "the source %s is not a directory", show(source)).
			WithHint("give the directory that holds it")
	}
	return -1, sourceError(source, err)
}

// destination is the directory that a copy fills.
type destination struct {
	path string
	fd   int
	made bool
	mode uint32 // of a directory that was there
}

func makeDest(source int, sourcePath, path string) (*destination, error) {
	path = filepath.Clean(path)
	parent, err := openat(unix.AT_FDCWD, filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("open the directory of the workspace %s: %w", show(path), err)
	}
	defer unix.Close(parent)
	inside, err := isBelow(parent, source)
	if err != nil {
		return nil, fmt.Errorf("compare the workspace %s with the source: %w", show(path), err)
	}
	if inside {
		return nil, recursiveError(sourcePath, path)
	}
	d := &destination{path: path}
	switch err := unix.Mkdirat(parent, filepath.Base(path), 0o700); {
	case err == nil:
		d.made = true
	case !errors.Is(err, unix.EEXIST):
		return nil, destError(path, path, err)
	}
	d.fd, err = openat(parent, filepath.Base(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		if d.made {
			err = errors.Join(err, unix.Unlinkat(parent, filepath.Base(path), unix.AT_REMOVEDIR))
		}
		return nil, fmt.Errorf("open the workspace %s: %w", show(path), err)
	}
	if err := d.claim(); err != nil {
		unix.Close(d.fd)
		return nil, err
	}
	return d, nil
}

// claim makes sure that the directory is empty and that nobody else enters it.
func (d *destination) claim() error {
	if d.made {
		return nil
	}
	entries, err := readDirents(d.fd, make([]byte, 4096), nil)
	if err != nil {
		return fmt.Errorf("read the workspace %s: %w", show(d.path), err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("the workspace %s is not empty", show(d.path))
	}
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return fmt.Errorf("read the workspace %s: %w", show(d.path), err)
	}
	d.mode = st.Mode & 0o7777
	if err := unix.Fchmod(d.fd, 0o700); err != nil {
		return fmt.Errorf("close the workspace %s to others: %w", show(d.path), err)
	}
	return nil
}

// undo removes what the copy made.
func (d *destination) undo() error {
	if d.made {
		return Remove(d.path)
	}
	return errors.Join(emptyDir(d.fd, d.path), unix.Fchmod(d.fd, d.mode))
}

// isBelow reports whether directory fd is top or lies below it.
func isBelow(fd, top int) (bool, error) {
	want, err := identify(top)
	if err != nil {
		return false, err
	}
	at, err := openat(fd, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false, err
	}
	defer func() { unix.Close(at) }()
	for {
		id, err := identify(at)
		if err != nil || id == want {
			return err == nil, err
		}
		up, err := openat(at, "..", unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return false, err
		}
		above, err := identify(up)
		unix.Close(at)
		at = up
		if err != nil || above == id {
			return false, err
		}
	}
}

func serialWarn(warn func(string)) func(string, ...any) {
	if warn == nil {
		return func(string, ...any) {}
	}
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		warn(fmt.Sprintf(format, args...))
	}
}

func recursiveError(source, dest string) error {
	return sdk.Errorf(sdk.CodeSourceInvalid, "the workspace %s lies inside the source %s", show(dest), show(source)).
		WithHint("choose another source, or keep the state elsewhere: set SANDBOXER_STATE_DIR")
}
