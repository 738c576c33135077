package extension

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	socketDirPrefix = "sbx-ext-"
	// maxSocketBase leaves room for what follows it in the path of a Unix
	// socket, which has 107 bytes.
	maxSocketBase = 50
)

// socketDir is a private directory for the socket of one process. A lock on it
// lives as long as the host, so that a later host can tell it was left behind.
type socketDir struct {
	path string
	lock *os.File
}

// socketBase returns the parent of the socket directories.
func socketBase(dir string) string {
	if dir == "" {
		dir = os.TempDir()
	}
	if !filepath.IsAbs(dir) || len(dir) > maxSocketBase {
		return "/tmp"
	}
	return dir
}

func newSocketDir(base string) (*socketDir, error) {
	for range 10 {
		path, err := os.MkdirTemp(base, socketDirPrefix) // 0700
		if err != nil {
			return nil, fmt.Errorf("make a directory for the socket: %w", err)
		}
		lock, err := lockDir(path)
		if err != nil {
			continue // a host that sweeps got here first, and removes it
		}
		mine, err1 := lock.Stat()
		there, err2 := os.Lstat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, there) {
			return &socketDir{path: path, lock: lock}, nil
		}
		_ = lock.Close()
	}
	return nil, fmt.Errorf("make a directory for the socket in %s: others keep removing it", base)
}

func (d *socketDir) remove() error {
	defer d.lock.Close()
	return os.RemoveAll(d.path)
}

// sweepSocketDirs removes the directories in base of this user's hosts that
// are no more.
func sweepSocketDirs(base string) {
	dir, err := os.Open(base)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasPrefix(name, socketDirPrefix) {
			continue
		}
		path := filepath.Join(base, name)
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		if lock, err := lockDir(path); err == nil {
			_ = os.RemoveAll(path)
			_ = lock.Close()
		}
	}
}

// lockDir locks a directory, or fails when somebody holds the lock.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
