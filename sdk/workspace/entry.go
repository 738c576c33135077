package workspace

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// keptMode is what of a mode is kept: all but setuid and setgid.
const keptMode = 0o1777

// copyFiles copies entries of d that are not directories.
func (w *worker) copyFiles(d *dir, entries []dirent) error {
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		var err error
		switch e.kind {
		case unix.DT_REG:
			err = w.copyFile(d, e.name)
		case unix.DT_LNK:
			err = w.copyLink(d, e.name)
		default:
			w.skip(d, e.name, "it is a "+kindName(e.kind))
		}
		if errors.Is(err, errGone) {
			w.skip(d, e.name, "vanished or changed during the copy")
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func kindName(kind uint8) string {
	switch kind {
	case unix.DT_FIFO:
		return "fifo"
	case unix.DT_SOCK:
		return "socket"
	case unix.DT_CHR, unix.DT_BLK:
		return "device"
	}
	return "special file"
}

// copyFile copies a regular file. Where the entry has become something else
// since the directory was read, O_NOFOLLOW refuses a symlink and O_NONBLOCK
// keeps a fifo from waiting for a writer.
func (w *worker) copyFile(d *dir, name string) error {
	src, st, err := openRegular(d.src, name)
	if err != nil {
		return w.entryError(d, name, err)
	}
	defer unix.Close(src)
	text := w.relink(d, name, src)
	dest, err := openat(d.dest, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return w.writeError(d, name, err)
	}
	n := int64(len(text))
	if text != nil {
		err = writeAt(dest, text, 0)
	} else {
		n, err = w.copyData(src, dest, st)
	}
	if err == nil {
		err = w.sealFile(dest, d.dest, name, st)
	}
	// A file system may report a full disk no earlier than here.
	if e := unix.Close(dest); err == nil && e != nil && e != unix.EINTR {
		err = e
	}
	switch {
	case err == nil:
		w.files.Add(1)
		w.bytes.Add(n)
		return nil
	case err == w.ctx.Err():
		return err
	case errors.Is(err, errRead):
		return sourceError(filepath.Join(d.tree.path, d.path(), name), err)
	}
	return w.writeError(d, name, err)
}

// openRegular opens a regular file for reading, or fails with errChanged.
func openRegular(dir int, name string) (int, *unix.Stat_t, error) {
	fd, err := openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errChanged
	}
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, &st, nil
}

func (w *worker) copyLink(d *dir, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(d.src, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return w.entryError(d, name, err)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.src, name, buf)
	if errors.Is(err, unix.EINVAL) || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		err = errChanged
	}
	if err != nil {
		return w.entryError(d, name, err)
	}
	if err := unix.Symlinkat(string(buf[:n]), d.dest, name); err != nil {
		return w.writeError(d, name, err)
	}
	if w.owned() {
		if err := unix.Fchownat(d.dest, name, w.opts.UID, w.opts.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return w.writeError(d, name, err)
		}
	}
	if err := setTime(d.dest, name, st.Mtim); err != nil {
		return w.writeError(d, name, err)
	}
	w.symlinks.Add(1)
	return nil
}

// seal gives a directory its final owner, mode and time.
func (w *worker) seal(d *dir, fd int) error {
	err := w.setOwnerAndMode(fd, d.mode)
	if err == nil {
		err = setTime(fd, ".", d.mtime)
	}
	if err != nil {
		return w.writeError(d, "", err)
	}
	return nil
}

func (c *copier) sealFile(fd, dir int, name string, st *unix.Stat_t) error {
	if err := c.setOwnerAndMode(fd, st.Mode); err != nil {
		return err
	}
	return setTime(dir, name, st.Mtim)
}

// setOwnerAndMode sets the owner first, while the mode lets nobody else in.
func (c *copier) setOwnerAndMode(fd int, mode uint32) error {
	if c.owned() {
		if err := unix.Fchown(fd, c.opts.UID, c.opts.GID); err != nil {
			return err
		}
	}
	return unix.Fchmod(fd, mode&keptMode)
}

func (c *copier) owned() bool { return c.opts.UID >= 0 || c.opts.GID >= 0 }

// setTime sets the modification time of an entry and leaves the access time.
func setTime(dir int, name string, mtime unix.Timespec) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// entryError sorts an error of reading an entry into gone and unreadable.
func (w *worker) entryError(d *dir, name string, err error) error {
	if gone(err) {
		return errGone
	}
	return sourceError(filepath.Join(d.tree.path, d.path(), name), err)
}

func (w *worker) writeError(d *dir, name string, err error) error {
	return destError(w.dest, w.destPath(d, name), err)
}
