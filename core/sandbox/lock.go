package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tegwick/sand-boxer/sdk"
)

// lockPoll is how often a held lock is tried again.
const lockPoll = 20 * time.Millisecond

// A sandbox has two lock files. The kernel drops a lock with its holder, so a
// process that is killed leaves none behind.
const (
	// lifeLock is held by whoever creates or destroys the sandbox.
	lifeLock = ".life"
	// execLock is held by whoever executes in it.
	execLock = ".exec"
)

func (o *Owner) lockPath(id, kind string) string {
	return filepath.Join(o.StateDir, "locks", id+kind)
}

// lock waits for a lock of the sandbox until ctx ends. The caller calls unlock.
func (o *Owner) lock(ctx context.Context, id, kind string) (unlock func(), err error) {
	f := flock.New(o.lockPath(id, kind), flock.SetPermissions(0o600))
	if ok, err := f.TryLockContext(ctx, lockPoll); !ok || err != nil {
		return nil, fmt.Errorf("wait for the lock of sandbox %s: %w", id, err)
	}
	return func() { f.Close() }, nil
}

// tryLock is lock without waiting: ok is false when somebody holds it.
func (o *Owner) tryLock(id, kind string) (unlock func(), ok bool, err error) {
	f := flock.New(o.lockPath(id, kind), flock.SetPermissions(0o600))
	ok, err = f.TryLock()
	if !ok || err != nil {
		return nil, false, err
	}
	return func() { f.Close() }, true, nil
}

// removeLocks removes the lock files of a destroyed sandbox. Who waits on one of
// them reads the record after it has the lock, and sees that it is destroyed.
func (o *Owner) removeLocks(id string) error {
	var errs []error
	for _, kind := range []string{lifeLock, execLock} {
		if err := os.Remove(o.lockPath(id, kind)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// strayAge is how old a lock file is before sweepLocks takes it for one that a
// killed create left: a running one takes its lock at once.
const strayAge = time.Minute

// sweepLocks removes the lock files of sandboxes that have no record: those of a
// create that was killed between its lock and its record.
func (o *Owner) sweepLocks(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(o.StateDir, "locks"))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		id := strings.TrimSuffix(strings.TrimSuffix(e.Name(), lifeLock), execLock)
		info, err := e.Info()
		if err != nil || !sdk.ValidSandboxID(id) || o.Now().Sub(info.ModTime()) < strayAge {
			continue
		}
		if orphan, err := o.isOrphan(ctx, id); err != nil || !orphan {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, o.removeLocks(id))
	}
	return errors.Join(errs...)
}
