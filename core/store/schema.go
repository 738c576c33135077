package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tegwick/sand-boxer/sdk"
)

// migrations lead from an empty file to the schema of today. PRAGMA
// user_version counts how many a file has had. One that was released is never
// edited: a change is a new one at the end.
var migrations = []string{`
CREATE TABLE sandboxes (
	id                TEXT    NOT NULL PRIMARY KEY,
	host_id           TEXT    NOT NULL,
	state             TEXT    NOT NULL,
	state_since       INTEGER NOT NULL, -- times are Unix milliseconds
	profile           TEXT    NOT NULL,
	profile_digest    TEXT    NOT NULL,
	extension         TEXT    NOT NULL,
	extension_version TEXT    NOT NULL,
	actor             TEXT    NOT NULL,
	project           TEXT    NOT NULL,
	session_id        TEXT    NOT NULL,
	run_id            TEXT    NOT NULL,
	created_at        INTEGER NOT NULL,
	expires_at        INTEGER NOT NULL,
	max_expires_at    INTEGER NOT NULL,
	exec_timeout_max  INTEGER NOT NULL, -- seconds
	handle_version    INTEGER NOT NULL,
	handle            BLOB,
	pid               INTEGER NOT NULL,
	workspace_dir     TEXT    NOT NULL,
	ssh               TEXT    NOT NULL,
	remote_dir        TEXT    NOT NULL,
	execution         TEXT    NOT NULL,
	network_posture   TEXT    NOT NULL,
	network_enforced  INTEGER NOT NULL,
	network_reason    TEXT    NOT NULL,
	limits            TEXT    NOT NULL, -- JSON, see limitJSON
	failure_code      TEXT    NOT NULL, -- empty: no failure
	failure_message   TEXT    NOT NULL,
	failure_hint      TEXT    NOT NULL
) STRICT;
CREATE INDEX sandboxes_by_state ON sandboxes (state, id);
CREATE TABLE idempotency_keys (
	scope      TEXT    NOT NULL,
	name       TEXT    NOT NULL,
	body_hash  TEXT    NOT NULL,
	sandbox_id TEXT    NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
	expires_at INTEGER NOT NULL,
	PRIMARY KEY (scope, name)
) STRICT;
CREATE INDEX idempotency_keys_by_sandbox ON idempotency_keys (sandbox_id);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
`}

// migrate brings the file to the version of steps. It reads the version first,
// so that an up-to-date file costs one query and no lock.
func (s *Store) migrate(ctx context.Context, steps []string) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	version, err := s.version(ctx, conn, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	if err := setWAL(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	if err := s.applySteps(ctx, conn, steps); err != nil {
		// The connection must not go back to the pool inside a transaction,
		// also when it is ctx that ended.
		_, rollbackErr := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, rollbackErr)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// applySteps runs in the exclusive transaction, where another process may have
// been first.
func (s *Store) applySteps(ctx context.Context, conn *sql.Conn, steps []string) error {
	version, err := s.version(ctx, conn, len(steps))
	if err != nil {
		return err
	}
	for i, step := range steps[version:] {
		if _, err := conn.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("migrate to version %d: %w", version+i+1, err)
		}
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(steps)))
	return err
}

// version reads the version of the file; one above known is refused.
func (s *Store) version(ctx context.Context, conn *sql.Conn, known int) (int, error) {
	var version int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version < 0 || version > known {
		return 0, sdk.Errorf(sdk.CodeVersionMismatch, "the state database %s has version %d, this program knows %d",
			s.path, version, known).
			WithHint("use the newer sandboxer that wrote it, or set SANDBOXER_STATE_DIR to another directory")
	}
	return version, nil
}

// setWAL switches the file to write-ahead logging, once in its life. SQLite
// does not wait out busy_timeout here when two processes switch at once, so
// this waits for it.
func setWAL(ctx context.Context, conn *sql.Conn) error {
	for deadline := time.Now().Add(busyTimeout); ; {
		var mode string
		err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		e, isSQLite := errors.AsType[*sqlite.Error](err)
		busy := isSQLite && e.Code()&0xff == sqlite3.SQLITE_BUSY
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("the file system does not support write-ahead logging (journal mode is %s)", mode)
		case !busy || time.Now().After(deadline):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
