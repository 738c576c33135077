package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tegwick/sand-boxer/sdk"
)

// Retention is how long the record of a destroyed sandbox is kept.
const Retention = 30 * 24 * time.Hour

// Insert notes the intent to make a sandbox: its record, in state
// [Provisioning]. It fails with [ErrExists] where the id has one.
func (s *Store) Insert(ctx context.Context, r Record) error {
	err := s.write(ctx, func() error { return s.insert(ctx, s.db, r) })
	return s.explain(ctx, "record the sandbox", err)
}

// execer is what a database and a transaction have in common.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (s *Store) insert(ctx context.Context, db execer, r Record) error {
	if !sdk.ValidSandboxID(r.ID) || r.HostID == "" || r.State != Provisioning || r.MaxExpiresAt.Before(r.ExpiresAt) {
		return fmt.Errorf("a new record needs a sandbox id, a host id, the state %s and an expiry within its maximum", Provisioning)
	}
	if err := checkHandle(r.Handle); err != nil {
		return err
	}
	r.StateSince = s.now()
	values, err := r.values()
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO sandboxes ("+columns+") VALUES ("+placeholders+")", values...)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		return fmt.Errorf("%w: %s", ErrExists, r.ID)
	}
	return err
}

// checkHandle holds a backend to the bound that the SDK sets.
func checkHandle(h sdk.Handle) error {
	if len(h.Data) <= sdk.MaxHandleBytes {
		return nil
	}
	return sdk.Errorf(sdk.CodeBackendFailed, "the extension gave a handle of %d bytes, more than the %d allowed",
		len(h.Data), sdk.MaxHandleBytes)
}

// SetHandle stores a checkpoint of a running create. It fails with
// [*StateError] once the sandbox is no longer [Provisioning].
func (s *Store) SetHandle(ctx context.Context, id string, h sdk.Handle) error {
	if err := checkHandle(h); err != nil {
		return err
	}
	return s.update(ctx, "store the handle", id,
		"UPDATE sandboxes SET handle_version = ?, handle = ? WHERE id = ? AND state = ?",
		h.Version, h.Data, id, Provisioning)
}

// SetReady stores the answer of a create and moves the sandbox from
// [Provisioning] to [Ready]. It fails with [*StateError] from any other state.
func (s *Store) SetReady(ctx context.Context, id string, c sdk.Created) error {
	if err := checkHandle(c.Handle); err != nil {
		return err
	}
	limits, err := encodeLimits(c.Limits)
	if err != nil {
		return err
	}
	return s.update(ctx, "store the created sandbox", id,
		`UPDATE sandboxes SET state = ?, state_since = ?, handle_version = ?, handle = ?,
			pid = ?, workspace_dir = ?, ssh = ?, remote_dir = ?, execution = ?,
			network_posture = ?, network_enforced = ?, network_reason = ?, limits = ?
		WHERE id = ? AND state = ?`,
		Ready, s.now().UnixMilli(), c.Handle.Version, c.Handle.Data,
		c.Reachability.PID, c.Reachability.WorkspaceDir, c.Reachability.SSH, c.Reachability.RemoteDir, c.Execution,
		c.Network.Posture, c.Network.Enforced, c.Network.Reason, limits,
		id, Provisioning)
}

// Transition moves a sandbox to the state to, if it is in one of from; else it
// fails with [*StateError]. A nil failure keeps the one that is noted. Which
// steps make sense is the caller's to know; to [Ready] leads SetReady.
func (s *Store) Transition(ctx context.Context, id string, from []State, to State, failure *Failure) error {
	if len(from) == 0 {
		return errors.New("a transition needs a state to start from")
	}
	set, args := "state = ?, state_since = ?", []any{to, s.now().UnixMilli()}
	if failure != nil {
		set += ", failure_code = ?, failure_message = ?, failure_hint = ?"
		args = append(args, failure.Code, failure.Message, failure.Hint)
	}
	args = append(args, id)
	for _, state := range from {
		args = append(args, state)
	}
	return s.update(ctx, "note that the sandbox is "+string(to), id,
		"UPDATE sandboxes SET "+set+" WHERE id = ? AND state IN (?"+strings.Repeat(", ?", len(from)-1)+")", args...)
}

// update runs a statement on one record and finds out why it changed none. It
// is one statement, so it is atomic without a transaction.
func (s *Store) update(ctx context.Context, doing, id, query string, args ...any) error {
	err := s.write(ctx, func() error {
		result, err := s.db.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); n > 0 || err != nil {
			return err
		}
		r, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		return &StateError{SandboxID: id, State: r.State}
	})
	return s.explain(ctx, doing, err)
}

// SetExpiry moves the expiry of a [Ready] sandbox to t and returns what it is
// then: t, or what it was where that is later. It fails with [*StateError] when
// the sandbox is not ready or its time has passed, and with [ErrBeyondMax] when
// t is later than its MaxExpiresAt.
func (s *Store) SetExpiry(ctx context.Context, id string, t time.Time) (time.Time, error) {
	var expires int64
	err := s.transact(ctx, func(tx *sql.Tx) error {
		var state State
		var max int64
		err := tx.QueryRowContext(ctx, "SELECT state, expires_at, max_expires_at FROM sandboxes WHERE id = ?", id).
			Scan(&state, &expires, &max)
		switch now := s.now().UnixMilli(); {
		case errors.Is(err, sql.ErrNoRows):
			return notFound(id)
		case err != nil:
			return err
		case state != Ready:
			return &StateError{SandboxID: id, State: state}
		case expires <= now:
			return &StateError{SandboxID: id, State: Expired}
		case t.UnixMilli() > max:
			return fmt.Errorf("%w: at most %s", ErrBeyondMax, fromMilli(max).Format(time.RFC3339))
		case t.UnixMilli() <= expires:
			return nil
		}
		expires = t.UnixMilli()
		_, err = tx.ExecContext(ctx, "UPDATE sandboxes SET expires_at = ? WHERE id = ?", expires, id)
		return err
	})
	if err != nil {
		return time.Time{}, s.explain(ctx, "renew the sandbox", err)
	}
	return fromMilli(expires), nil
}

// Purge deletes the records of the sandboxes that were destroyed before the
// given time, and the idempotency keys that have lapsed. It returns how many
// records it deleted.
func (s *Store) Purge(ctx context.Context, before time.Time) (int64, error) {
	var purged int64
	err := s.transact(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM sandboxes WHERE state = ? AND state_since < ?", Destroyed, before.UnixMilli())
		if err != nil {
			return err
		}
		if purged, err = result.RowsAffected(); err != nil {
			return err
		}
		return s.dropLapsedKeys(ctx, tx)
	})
	return purged, s.explain(ctx, "purge old records", err)
}
