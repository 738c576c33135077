package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// Remove removes the file or directory at path and everything in it, and
// returns nil when there is nothing. A symlink at path or below is removed, not
// followed.
//
// The tree may be the work of hostile code that no longer runs: directories
// without permissions, nested without limit, and names of any bytes are
// removed, with few descriptors and little memory. What cannot be removed, as an
// immutable file or a mount point, is the error, after all else is gone.
func Remove(path string) error {
	path = filepath.Clean(path)
	base := filepath.Base(path)
	if base == "." || base == ".." || base == "/" {
		return fmt.Errorf("refuse to remove %s: it is no entry of a directory", show(path))
	}
	parent, err := openat(unix.AT_FDCWD, filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return removeError(path, err)
	}
	defer unix.Close(parent)
	err = unix.Unlinkat(parent, base, 0)
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR):
		return removeError(path, err)
	}
	fd, err := openOwn(parent, base)
	if err != nil {
		return removeError(path, err)
	}
	err = emptyDir(fd, path)
	unix.Close(fd)
	if err != nil {
		return err
	}
	if err := unix.Unlinkat(parent, base, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return removeError(path, err)
	}
	return nil
}

// emptyDir removes everything in the directory top, found at path.
func emptyDir(top int, path string) error {
	r := &remover{top: top, prefix: "." + rand.Text() + "-"}
	for {
		// Directories that were nested too deeply have been moved to the top
		// meanwhile, and some file systems pass over entries while others are
		// removed: read until nothing is left.
		n, err := r.empty(top, path, 0)
		if n == 0 || err != nil {
			return err
		}
	}
}

// maxNesting is how far down the remover goes before it moves a directory to
// the top: each level holds a descriptor and a listing.
const maxNesting = 24

type remover struct {
	top    int
	prefix string // of names for moved directories
	moved  int
}

// empty removes what a reading of directory fd shows, and returns how many
// entries it saw. It goes on after an error, and returns the first.
func (r *remover) empty(fd int, path string, depth int) (int, error) {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return 0, removeError(path, err)
	}
	var (
		seen    int
		first   error
		entries []dirent
		buf     = make([]byte, 16<<10)
	)
	for {
		var err error
		if entries, err = readDirents(fd, buf, entries[:0]); err != nil {
			return seen, removeError(path, err)
		}
		if len(entries) == 0 {
			return seen, first
		}
		seen += len(entries)
		for _, e := range entries {
			if err := r.remove(fd, e, path, depth); err != nil && first == nil {
				first = err
			}
		}
	}
}

func (r *remover) remove(dir int, e dirent, path string, depth int) error {
	path = filepath.Join(path, e.name)
	err := error(unix.EISDIR)
	if e.kind != unix.DT_DIR {
		err = unix.Unlinkat(dir, e.name, 0)
	}
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(dir, e.name, unix.AT_REMOVEDIR)
	}
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST):
		return removeError(path, err)
	}
	child, err := openOwn(dir, e.name)
	if err != nil {
		return removeError(path, err)
	}
	defer unix.Close(child)
	if depth == maxNesting {
		return r.moveUp(dir, e.name, path)
	}
	for {
		n, err := r.empty(child, path, depth+1)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if err := unix.Unlinkat(dir, e.name, unix.AT_REMOVEDIR); err != nil {
		return removeError(path, err)
	}
	return nil
}

// moveUp moves a directory to the top of the tree under a name that the tree
// cannot have foreseen.
func (r *remover) moveUp(dir int, name, path string) error {
	r.moved++
	if err := unix.Renameat(dir, name, r.top, r.prefix+strconv.Itoa(r.moved)); err != nil {
		return removeError(path, err)
	}
	return nil
}

// openOwn opens a directory for reading and makes sure that its owner may
// change it. The mode is set through the descriptor, so of nothing else.
func openOwn(dir int, name string) (int, error) {
	at, err := openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, err
	}
	if st.Mode&0o700 != 0o700 {
		if err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(at), 0o700); err != nil {
			return -1, err
		}
	}
	return openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

func removeError(path string, err error) error {
	e := sdk.Errorf(sdk.CodeInternal, "cannot remove %s: %w", show(path), err)
	switch {
	case errors.Is(err, unix.EPERM):
		return e.WithHint("it is immutable or somebody else's: see lsattr -d and ls -ld, then chattr -i -a or remove it as its owner")
	case errors.Is(err, unix.EBUSY):
		return e.WithHint("something is mounted there: see findmnt, then umount it")
	}
	return e
}
