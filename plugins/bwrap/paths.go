package main

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// paths lays out the extension's directory:
//
//	WORK/broker-DIGEST      the program that is pid 1 inside
//	WORK/uids/UID           a link to the id of the sandbox that has the uid
//	WORK/sandboxes/ID/      one sandbox, see below
type paths struct{ work string }

func (p paths) uids() string      { return filepath.Join(p.work, "uids") }
func (p paths) sandboxes() string { return filepath.Join(p.work, "sandboxes") }

func (p paths) sandbox(id string) sandboxDir {
	return sandboxDir(filepath.Join(p.sandboxes(), id))
}

// sandboxDir is the directory of one sandbox, which no process of the sandbox
// can reach. Of what is in it, the sandbox sees three trees alone.
type sandboxDir string

// trees belongs to the sandbox's own uid and is closed to all others: the ids
// of sandboxes are no secret, what they work on is.
func (d sandboxDir) trees() string     { return filepath.Join(string(d), "trees") }
func (d sandboxDir) workspace() string { return filepath.Join(d.trees(), "workspace") }
func (d sandboxDir) home() string      { return filepath.Join(d.trees(), "home") }
func (d sandboxDir) tmp() string       { return filepath.Join(d.trees(), "tmp") }

// alive is locked by who makes the sandbox, then by its pid 1 for as long as it
// lives.
func (d sandboxDir) alive() string { return filepath.Join(string(d), "alive") }

// log takes what bwrap says.
func (d sandboxDir) log() string { return filepath.Join(string(d), "bwrap.log") }

func (d sandboxDir) exists() bool {
	_, err := os.Lstat(string(d))
	return err == nil
}

// lives reports whether pid 1 of the sandbox holds its lock.
func (d sandboxDir) lives() (bool, error) {
	f, err := os.Open(d.alive())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// checkEnterable refuses a directory that the sandbox's own uid could not
// reach: bwrap, which runs under that uid, binds the workspace from there.
func checkEnterable(dir string) error {
	for d := dir; ; d = filepath.Dir(d) {
		fi, err := os.Stat(d)
		if err != nil {
			return err
		}
		if fi.Mode()&0o001 == 0 {
			return sdk.Errorf(sdk.CodeHostUnsupported,
				"the state directory %s cannot be entered by a sandbox's own user: %s has mode %04o", dir, d, fi.Mode().Perm()).
				WithHint("set SANDBOXER_STATE_DIR to a directory below one that everybody may enter, as /var/lib/sandboxer, or run: chmod o+x %s", d)
		}
		if d == "/" || d == "." {
			return nil
		}
	}
}
