// Package store keeps the sandboxes of a host in an SQLite file, so that an
// owner that dies at any point finds at its next start what it had begun.
//
// A change is on the disk when its method returns: the journal is synced at
// each commit. Each method is atomic, and those of the state machine name the
// state that they start from, so that of several processes on the same file
// exactly one wins. The file is small and local; it does not belong on a
// network file system.
//
// A method whose context ends may have made its change or not. Pass a context
// that outlives the client where that matters.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the "sqlite" driver of database/sql

	"github.com/tegwick/sand-boxer/sdk"
)

// FileName is the name of the database in the state directory. SQLite keeps
// two more beside it while it is open, with "-wal" and "-shm" at the end.
const FileName = "sandboxer.db"

const (
	// busyTimeout is how long a call waits for the write lock of another
	// process; a transaction here takes milliseconds.
	busyTimeout = 10 * time.Second
	// maxConns lets reads go on while a write waits for the disk.
	maxConns = 4
)

// Store is an open database. Its methods may be called from several
// goroutines. The one who opened it closes it.
type Store struct {
	db *sql.DB
	// get is prepared because each exec reads a record, and most of the
	// time of a read goes into the parsing of its statement.
	get  *sql.Stmt
	dir  string
	path string
	now  func() time.Time
	// writer holds a token while a write runs. Inside a process a channel
	// is fairer and faster than SQLite's sleep-and-retry.
	writer chan struct{}
}

// Open opens the database of the state directory dir, and makes or migrates
// it where needed. The directory must exist and be private to its user.
func Open(ctx context.Context, dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the state directory: %w", err)
	}
	s := &Store{
		dir:    dir,
		path:   filepath.Join(dir, FileName),
		now:    time.Now,
		writer: make(chan struct{}, 1),
	}
	if err := ensureFile(s.path); err != nil {
		return nil, err
	}
	if s.db, err = sql.Open("sqlite", dataSource(s.path)); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.path, err)
	}
	s.db.SetMaxOpenConns(maxConns)
	s.db.SetMaxIdleConns(maxConns)
	err = s.migrate(ctx, migrations)
	if err == nil {
		s.get, err = s.db.PrepareContext(ctx, "SELECT "+columns+" FROM sandboxes WHERE id = ?")
	}
	if err != nil {
		s.db.Close()
		return nil, s.explain(ctx, "open the state database", err)
	}
	return s, nil
}

// Close releases the database.
func (s *Store) Close() error { return errors.Join(s.get.Close(), s.db.Close()) }

// dataSource sets what SQLite forgets with each connection. WAL mode is kept
// in the file, and synchronous=FULL is what this SQLite is built with: a
// statement for either would only cost each start of the program some time.
func dataSource(path string) string {
	q := url.Values{
		"mode":    {"rw"},
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(" + strconv.FormatInt(busyTimeout.Milliseconds(), 10) + ")",
			"foreign_keys(1)",
		},
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// ensureFile makes an empty database file where there is none. It uses mknod,
// which opens nothing: a descriptor of ours on the file, once closed, would
// drop the locks that SQLite holds on it elsewhere in this process.
func ensureFile(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = syscall.Mknod(path, syscall.S_IFREG|0o600, 0)
		if err == nil || errors.Is(err, fs.ErrExist) {
			info, err = os.Lstat(path)
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return diskFull(path, err)
	case err != nil:
		return sdk.Errorf(sdk.CodeHostUnsupported, "cannot use the state database %s: %w", path, err).
			WithHint("%s", directoryHint(filepath.Dir(path)))
	case !info.Mode().IsRegular():
		return sdk.Errorf(sdk.CodeHostUnsupported, "the state database %s is not a regular file", path).
			WithHint("move it away, or set SANDBOXER_STATE_DIR to another directory")
	case info.Mode().Perm()&0o077 != 0:
		return sdk.Errorf(sdk.CodeHostUnsupported, "the state database %s is open to other users (mode %04o)", path, info.Mode().Perm()).
			WithHint("chmod 600 %s", path)
	}
	return nil
}

// write runs fn as the only writer of this process.
func (s *Store) write(ctx context.Context, fn func() error) error {
	select {
	case s.writer <- struct{}{}:
		defer func() { <-s.writer }()
		return fn()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transact runs fn in a transaction that holds the write lock from its start.
func (s *Store) transact(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return s.write(ctx, func() error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := fn(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}
