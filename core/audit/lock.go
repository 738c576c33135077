package audit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// lockWait bounds the wait for another process, which may be stopped.
const lockWait = 10 * time.Second

// locked runs fn with the lock of the file held: syscall.LOCK_EX or LOCK_SH.
func (l *Log) locked(ctx context.Context, how int, fn func() error) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		if err := l.flock(ctx, how); err != nil {
			return err
		}
		current, err := l.isCurrent()
		if err == nil && current {
			err = fn()
		}
		err = errors.Join(err, syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN))
		if err != nil || current {
			return err
		}
		// The file was moved away or deleted: go on in the one that others use.
		if err := l.open(); err != nil {
			return err
		}
	}
}

// flock polls, because a blocked flock could be ended by nothing.
func (l *Log) flock(ctx context.Context, how int) error {
	deadline := time.Now().Add(lockWait)
	for wait := 100 * time.Microsecond; ; wait = min(2*wait, 2*time.Millisecond) {
		err := syscall.Flock(int(l.file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if time.Now().After(deadline) {
			return sdk.Errorf(sdk.CodeInternal, "another process has held the lock on %s for %v", l.path, lockWait).
				WithHint("'fuser -v %s' shows who; end it and try again", l.path)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// isCurrent says whether the open file is still the one at its path.
func (l *Log) isCurrent() (bool, error) {
	open, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}
