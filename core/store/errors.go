package store

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tegwick/sand-boxer/sdk"
)

var (
	// ErrNotFound is in the chain of the sdk.CodeSandboxNotFound error that
	// a method returns for an id without a record.
	ErrNotFound = errors.New("no such sandbox")
	// ErrExists is in the chain of the error for a second Insert of an id.
	ErrExists = errors.New("the sandbox exists already")
	// ErrBeyondMax is in the chain of the error for an expiry that is later
	// than the record's MaxExpiresAt.
	ErrBeyondMax = errors.New("the expiry is later than the profile allows")
)

// StateError says that a change was not made because the sandbox is in another
// state than the change starts from.
type StateError struct {
	SandboxID string
	// State is the state that it is in, or [Expired] where its time has
	// passed and nobody has noted it yet.
	State State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("sandbox %s is %s", e.SandboxID, e.State)
}

func notFound(id string) error {
	return sdk.Errorf(sdk.CodeSandboxNotFound, "%w: %s", ErrNotFound, id).
		WithHint("'sandboxer list' shows the sandboxes of this state directory")
}

func diskFull(path string, err error) error {
	return sdk.Errorf(sdk.CodeDiskFull, "no room to write the state database %s: %w", path, err).
		WithHint("free some space on the file system of the state directory and try again")
}

func directoryHint(dir string) string {
	return fmt.Sprintf("check that %s exists, that it and its files belong to you, and that it is not mounted "+
		"read-only; or set SANDBOXER_STATE_DIR to another directory", dir)
}

// explain turns what SQLite says into an error that tells a person what to do.
// An error that does so already passes unchanged, any other is told what was
// being done.
func (s *Store) explain(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*sdk.Error](err); ok {
		return err
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if ctx.Err() != nil { // SQLite says that it was interrupted
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	switch e.Code() & 0xff { // the low byte of an extended code is the primary one
	case sqlite3.SQLITE_FULL:
		return diskFull(s.path, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return sdk.Errorf(sdk.CodeInternal, "%s: %s is damaged or is not a database: %w", doing, s.path, err).
			WithHint("restore it from a backup; or move it and its -wal and -shm files away, and 'sandboxer reap' " +
				"destroys the sandboxes that then have no record")
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return sdk.Errorf(sdk.CodeHostUnsupported, "%s: cannot write %s: %w", doing, s.path, err).
			WithHint("%s", directoryHint(s.dir))
	case sqlite3.SQLITE_BUSY:
		return sdk.Errorf(sdk.CodeInternal, "%s: another process has held the lock on %s for %v: %w", doing, s.path, busyTimeout, err).
			WithHint("'fuser -v %s' shows who; end it and try again", s.path)
	default:
		return sdk.Errorf(sdk.CodeInternal, "%s: %s: %w", doing, s.path, err)
	}
}
