package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tegwick/sand-boxer/sdk"
)

// As root, each sandbox runs as a uid of its own from this range. It lies above
// the ranges that systemd's UIDS-GIDS document lists as in use by others
// (containers end at 1,879,048,191) and below 2^31, where old interfaces break.
const (
	firstUID = 1_900_000_000
	uidCount = 1 << 16
)

// owner is the user that a sandbox runs as on the host.
type owner struct {
	uid, gid int
	// switched is whether that is another user than the host's: it is under
	// root, where a sandbox never is root.
	switched bool
}

// copyIDs are the ids for files made for the sandbox; -1 leaves them alone.
func (o owner) copyIDs() (uid, gid int) {
	if o.switched {
		return o.uid, o.gid
	}
	return -1, -1
}

// mkdir makes a directory of the sandbox's, with mode whatever the umask.
func (o owner) mkdir(path string, mode os.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	if o.switched {
		if err := os.Lchown(path, o.uid, o.gid); err != nil {
			return err
		}
	}
	return os.Chmod(path, mode)
}

// mustSwitch tells whether a process with euid runs sandboxes as other uids, by
// the uid map of its user namespace (see user_namespaces(7)). Root does. Root of
// a user namespace without those uids is an ordinary user of the host, and stays
// the one it is; unless it is the host's root by another name.
func mustSwitch(euid int, uidMap string) (bool, error) {
	if euid != 0 {
		return false, nil
	}
	hostRoot := true
	for line := range strings.Lines(uidMap) {
		var inside, outside, count int
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return false, fmt.Errorf("read the uid map: %w", err)
		}
		if inside <= firstUID && firstUID+uidCount <= inside+count {
			return true, nil
		}
		if inside == 0 {
			hostRoot = outside == 0
		}
	}
	if hostRoot {
		return false, sdk.Errorf(sdk.CodeHostUnsupported, "sandboxes of root need the uids from %d on, which this user namespace does not have", firstUID).
			WithHint("run sandboxer as an ordinary user, or map these uids into the namespace")
	}
	return false, nil
}

// claimOwner gives the sandbox id its user. A uid is claimed by a link named
// after it that points at the id: made in one step, held across crashes.
func (p paths) claimOwner(id string, switched bool) (owner, error) {
	if !switched {
		return owner{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	if err := os.MkdirAll(p.uids(), 0o700); err != nil {
		return owner{}, err
	}
	// A random start keeps two state directories on one machine apart.
	start := rand.IntN(uidCount)
	for i := range uidCount {
		uid := firstUID + (start+i)%uidCount
		err := os.Symlink(id, filepath.Join(p.uids(), strconv.Itoa(uid)))
		if err == nil {
			return owner{uid: uid, gid: uid, switched: true}, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return owner{}, err
		}
	}
	return owner{}, sdk.Errorf(sdk.CodeHostUnsupported, "all %d user ids for sandboxes are in use", uidCount).
		WithHint("destroy sandboxes that are no longer needed: sandboxer list")
}

// releaseOwner gives back what claimOwner gave to id. Call it when nothing of
// the uid is left.
func (p paths) releaseOwner(id string) error {
	entries, err := os.ReadDir(p.uids())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		link := filepath.Join(p.uids(), e.Name())
		if target, err := os.Readlink(link); err != nil || target != id {
			continue
		}
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
