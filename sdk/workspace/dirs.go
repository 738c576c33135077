package workspace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// fileID tells one file from every other.
type fileID struct{ dev, ino uint64 }

func identify(fd int) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fileID{}, err
	}
	return idOf(&st), nil
}

func idOf(st *unix.Stat_t) fileID { return fileID{uint64(st.Dev), st.Ino} }

// openat opens name in a directory, close-on-exec.
func openat(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// maxPath is the longest path that one system call takes.
const maxPath = unix.PathMax - 1

// openAbs opens the directory at a clean absolute path without a symlink in it.
func openAbs(path string) (int, error) {
	top, err := openat(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(top)
	return openDir(top, strings.TrimPrefix(path, "/"))
}

// openDir opens the directory at a path beneath root for reading. It follows no
// symlink in any element, and takes paths longer than PATH_MAX. An empty path
// is root itself.
func openDir(root int, path string) (int, error) {
	if path == "" {
		path = "."
	}
	at, flags := root, unix.O_PATH
	for {
		head, rest := path, ""
		if len(path) > maxPath {
			cut := strings.LastIndexByte(path[:maxPath+1], '/')
			if cut <= 0 {
				cut = maxPath // no name is this long: the kernel refuses it
			}
			head, rest = path[:cut], strings.TrimPrefix(path[cut:], "/")
		}
		if rest == "" {
			flags = unix.O_RDONLY
		}
		fd, err := openBeneath(at, head, flags|unix.O_DIRECTORY)
		if at != root {
			unix.Close(at)
		}
		if err != nil || rest == "" {
			return fd, err
		}
		at, path = fd, rest
	}
}

func openBeneath(root int, path string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	for {
		fd, err := unix.Openat2(root, path, &how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
			// A kernel before 5.6, or a seccomp filter that does not know the call.
			return openStepwise(root, path, flags)
		}
		return fd, err
	}
}

func openStepwise(root int, path string, flags int) (int, error) {
	at := root
	for {
		name, rest, more := strings.Cut(path, "/")
		f := flags
		if more {
			f = unix.O_PATH | unix.O_DIRECTORY
		}
		fd, err := openat(at, name, f|unix.O_NOFOLLOW, 0)
		if at != root {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, path = fd, rest
	}
}

// dirent is one entry of a directory; kind is a DT_ constant.
type dirent struct {
	name string
	kind uint8
}

// readDirents appends the next entries of an open directory, as many as fit
// into buf, to list. It appends none at the end of the directory.
func readDirents(fd int, buf []byte, list []dirent) ([]dirent, error) {
	const lengthAt, kindAt, nameAt = 16, 18, 19 // in struct linux_dirent64
	before := len(list)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return list, err
		}
		for rest := buf[:n]; len(rest) > nameAt; {
			size := int(binary.NativeEndian.Uint16(rest[lengthAt:]))
			name, _, _ := bytes.Cut(rest[nameAt:size], []byte{0})
			if s := string(name); s != "." && s != ".." {
				list = append(list, dirent{s, rest[kindAt]})
			}
			rest = rest[size:]
		}
		if len(list) > before {
			return list, nil
		}
	}
}

// kindOf returns the DT_ constant of a stat mode.
func kindOf(mode uint32) uint8 { return uint8(mode & unix.S_IFMT >> 12) }
