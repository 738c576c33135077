package workspace

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// stretch is how much one system call copies: the end of the context is
	// noticed in between.
	stretch = 8 << 20
	// bufferSize is that of a copy through user space.
	bufferSize = 256 << 10
)

// errRead marks an error of reading the source's data.
var errRead = errors.New("read")

// copyData copies the contents of a file, as long as it is by st, in the
// cheapest way that both file systems know. It returns how long the copy is: a
// file that has shrunk since is shorter.
func (w *worker) copyData(src, dest int, st *unix.Stat_t) (int64, error) {
	if st.Size == 0 {
		// Files of proc and the like have contents all the same.
		return w.copyRange(src, dest, 0, -1)
	}
	if !w.noClone.Load() {
		err := unix.IoctlFileClone(dest, src)
		if err == nil {
			return st.Size, nil
		}
		// Another error is of this file alone; the copy will tell.
		w.noClone.Store(unsupported(err))
	}
	if st.Blocks*512 < st.Size {
		return w.copySparse(src, dest, st.Size)
	}
	return w.copyRange(src, dest, 0, st.Size)
}

// copySparse copies the parts of a file that are not holes.
func (w *worker) copySparse(src, dest int, size int64) (int64, error) {
	for at := int64(0); at < size; {
		start, err := unix.Seek(src, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // no data up to the end
		}
		if err != nil {
			return w.copyRange(src, dest, at, size) // holes are not known here
		}
		end, err := unix.Seek(src, start, unix.SEEK_HOLE)
		if err != nil {
			end = size
		}
		end = min(end, size)
		got, err := w.copyRange(src, dest, start, end)
		if err != nil {
			return got, err
		}
		if got < end {
			return got, nil // it shrank
		}
		at = end
	}
	return size, unix.Ftruncate(dest, size)
}

// copyRange copies from offset at up to end, or the end of the file when end is
// negative or beyond it, and returns the offset that it reached.
func (w *worker) copyRange(src, dest int, at, end int64) (int64, error) {
	for end >= 0 && at < end && !w.noRange.Load() {
		if err := w.ctx.Err(); err != nil {
			return at, err
		}
		from, to := at, at
		n, err := unix.CopyFileRange(src, &from, dest, &to, int(min(end-at, stretch)), 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil && !unsupported(err) {
			return at, err
		}
		if err != nil || n == 0 {
			// Some file systems say that there is nothing where there is. What
			// they cannot copy may be one file of an odd file system mounted in
			// the tree, EXDEV and ENOSYS are true of all.
			w.noRange.Store(err == unix.EXDEV || err == unix.ENOSYS)
			break
		}
		at += int64(n)
	}
	if at == end {
		return at, nil
	}
	return w.readWrite(src, dest, at, end)
}

func (w *worker) readWrite(src, dest int, at, end int64) (int64, error) {
	if w.data == nil {
		w.data = make([]byte, bufferSize)
	}
	for end < 0 || at < end {
		if err := w.ctx.Err(); err != nil {
			return at, err
		}
		buf := w.data
		if end >= 0 {
			buf = buf[:min(end-at, bufferSize)]
		}
		n, err := unix.Pread(src, buf, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return at, fmt.Errorf("%w: %w", errRead, err)
		}
		if n == 0 {
			break
		}
		if err := writeAt(dest, buf[:n], at); err != nil {
			return at, err
		}
		at += int64(n)
	}
	return at, nil
}

func writeAt(fd int, buf []byte, at int64) error {
	for len(buf) > 0 {
		n, err := unix.Pwrite(fd, buf, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		buf, at = buf[n:], at+int64(n)
	}
	return nil
}

// unsupported reports whether err says that a system call cannot do this here,
// and another way may.
func unsupported(err error) bool {
	switch err {
	case unix.EXDEV, unix.ENOSYS, unix.EINVAL, unix.EOPNOTSUPP, unix.ENOTTY, unix.EPERM, unix.EBADF:
		return true
	}
	return false
}
