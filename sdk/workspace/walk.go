package workspace

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// copier is the state of one Copy.
type copier struct {
	ctx          context.Context
	source, dest string
	destID       fileID
	gitPath      string // the checkout's git directory, where it is not in the source
	exclude      matcher
	opts         Options
	warn         func(format string, args ...any)

	files, dirs, symlinks, skipped, bytes atomic.Int64
	noClone, noRange                      atomic.Bool // the file systems cannot; found out once
}

func (c *copier) stats() Stats {
	return Stats{
		Files: int(c.files.Load()), Dirs: int(c.dirs.Load()), Symlinks: int(c.symlinks.Load()),
		Skipped: int(c.skipped.Load()), Bytes: c.bytes.Load(),
	}
}

// worker holds the buffers of one goroutine.
type worker struct {
	*copier
	queue   *queue
	listing []byte
	data    []byte
	entries []dirent
}

// workers is how many goroutines copy a tree. Where all is cached, as many as
// there are processors are as fast; more hide the latency of a disk.
func workers() int { return min(max(2*runtime.GOMAXPROCS(0), 4), 16) }

// copyTree copies t, with the final mode and time of each directory, t's own
// root included.
func (c *copier) copyTree(t *tree) error {
	q := &queue{}
	q.changed.L = &q.mu
	q.jobs = []job{{subdirs: []string{""}, dir: &dir{tree: t}}}
	var g errgroup.Group
	for range workers() {
		g.Go(func() error {
			w := &worker{copier: c, queue: q, listing: make([]byte, 32<<10)}
			for {
				j, ok := q.next()
				if !ok {
					return nil
				}
				err := w.do(j)
				q.done(err)
				if err != nil {
					return err
				}
			}
		})
	}
	err := g.Wait()
	for _, j := range q.jobs {
		if j.files != nil && j.dir.users.Add(-1) == 0 {
			unix.Close(j.dir.src)
			unix.Close(j.dir.dest)
		}
	}
	return err
}

func (w *worker) do(j job) error {
	if j.files != nil {
		return cmp.Or(w.copyFiles(j.dir, j.files), w.leave(j.dir))
	}
	if name := j.subdirs[0]; name != "" {
		return w.enter(&dir{
			tree: j.dir.tree, parent: j.dir, name: name,
			inGit: j.dir.inGit || name == gitName,
		})
	}
	j.dir.inGit = j.dir.tree.prefix != ""
	return w.enter(j.dir)
}

// enter copies the entries of d. The directory exists in the copy.
func (w *worker) enter(d *dir) error {
	d.users.Store(1)
	d.refs.Store(1)
	path := d.path()
	var err error
	if d.src, err = openDir(d.tree.root, path); err != nil {
		if d.parent != nil && gone(err) {
			return w.abandon(d, path)
		}
		return sourceError(filepath.Join(d.tree.path, path), err)
	}
	if d.dest, err = openDir(d.tree.dest, path); err != nil {
		unix.Close(d.src)
		return destError(w.dest, w.destPath(d, ""), err)
	}
	if d.tree.merge {
		// It may be complete already, and read-only.
		if err := unix.Fchmod(d.dest, 0o700); err != nil {
			return cmp.Or(destError(w.dest, w.destPath(d, ""), err), w.leave(d))
		}
	}
	return cmp.Or(w.list(d, path), w.leave(d))
}

// abandon takes the directory d, which is gone from the source, out of the copy.
func (w *worker) abandon(d *dir, path string) error {
	w.skip(d.parent, d.name, "vanished or changed during the copy")
	parent, err := openDir(d.tree.dest, filepath.Dir(path))
	if err != nil {
		return destError(w.dest, w.destPath(d, ""), err)
	}
	defer unix.Close(parent)
	if !d.tree.merge {
		if err := unix.Unlinkat(parent, d.name, unix.AT_REMOVEDIR); err != nil {
			return destError(w.dest, w.destPath(d, ""), err)
		}
		w.dirs.Add(-1)
	}
	return w.release(d.parent)
}

// fileBatch is how many files are copied between two looks for an idle worker.
const fileBatch = 16

func (w *worker) list(d *dir, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(d.src, &st); err != nil {
		return sourceError(filepath.Join(d.tree.path, path), err)
	}
	if idOf(&st) == w.destID {
		return recursiveError(w.source, w.dest)
	}
	d.mode, d.mtime = st.Mode, st.Mtim
	for {
		var err error
		if w.entries, err = readDirents(d.src, w.listing, w.entries[:0]); err != nil && !gone(err) {
			return sourceError(filepath.Join(d.tree.path, path), err)
		}
		if len(w.entries) == 0 {
			return w.ctx.Err()
		}
		files, err := w.sift(d, path, w.entries)
		if err != nil {
			return err
		}
		for len(files) > 0 {
			batch := files[:min(fileBatch, len(files))]
			files = files[len(batch):]
			if len(files) > 0 && w.share(d, batch) {
				continue
			}
			if err := w.copyFiles(d, batch); err != nil {
				return err
			}
		}
	}
}

// share gives a batch of files to a worker that idles.
func (w *worker) share(d *dir, batch []dirent) bool {
	d.users.Add(1)
	d.refs.Add(1)
	if w.queue.offer(job{dir: d, files: append([]dirent(nil), batch...)}) {
		return true
	}
	d.users.Add(-1)
	d.refs.Add(-1)
	return false
}

// sift drops what is not copied, makes and queues the subdirectories, and
// returns the rest.
func (w *worker) sift(d *dir, path string, entries []dirent) ([]dirent, error) {
	files, subdirs := entries[:0], []string(nil)
	inCopy := join(d.tree.prefix, path)
	for _, e := range entries {
		if e.kind == unix.DT_UNKNOWN {
			var st unix.Stat_t
			if err := unix.Fstatat(d.src, e.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				if !gone(err) {
					return nil, sourceError(filepath.Join(d.tree.path, path, e.name), err)
				}
				w.skip(d, e.name, "vanished during the copy")
				continue
			}
			e.kind = kindOf(st.Mode)
		}
		isDir := e.kind == unix.DT_DIR
		if d.tree.keep != nil && !d.tree.keep(join(path, e.name), isDir) || w.exclude.match(inCopy, e.name, isDir, d.inGit) {
			continue
		}
		if !isDir {
			files = append(files, e)
			continue
		}
		if err := unix.Mkdirat(d.dest, e.name, 0o700); err == nil {
			w.dirs.Add(1)
		} else if !d.tree.merge || !errors.Is(err, unix.EEXIST) {
			return nil, destError(w.dest, w.destPath(d, e.name), err)
		}
		subdirs = append(subdirs, e.name)
	}
	if len(subdirs) > 0 {
		d.refs.Add(int32(len(subdirs)))
		w.queue.push(job{dir: d, subdirs: subdirs})
	}
	return files, nil
}

// leave ends one use of d's descriptors.
func (w *worker) leave(d *dir) error {
	if d.users.Add(-1) > 0 {
		return w.release(d)
	}
	unix.Close(d.src)
	if d.refs.Add(-1) > 0 {
		unix.Close(d.dest)
		return nil
	}
	err := w.seal(d, d.dest)
	unix.Close(d.dest)
	if err != nil || d.parent == nil {
		return err
	}
	return w.release(d.parent)
}

// release ends one reference to d, and seals d and those above it that are
// now complete.
func (w *worker) release(d *dir) error {
	for ; d != nil && d.refs.Add(-1) == 0; d = d.parent {
		fd, err := openDir(d.tree.dest, d.path())
		if err != nil {
			return destError(w.dest, w.destPath(d, ""), err)
		}
		err = w.seal(d, fd)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// skip counts and reports an entry that is not copied.
func (c *copier) skip(d *dir, name, why string) {
	c.skipped.Add(1)
	c.warn("%s is not copied: %s", d.show(name), why)
}
