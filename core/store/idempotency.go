package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// KeyLifetime is how long an idempotency key is remembered.
const KeyLifetime = 24 * time.Hour

// Key is an idempotency key of a client.
type Key struct {
	// Scope keeps the keys of different consumers apart.
	Scope string
	Name  string
}

// Reservation is what a key was first used for.
type Reservation struct {
	SandboxID string
	// BodyHash is a digest of the request; the same key with another is the
	// client's mistake.
	BodyHash string
}

// InsertOnce is [Store.Insert] unless the key was used before: then it inserts
// nothing and returns the earlier reservation and false. Key and record are
// stored together, so that a key never leads to a sandbox that was not begun.
func (s *Store) InsertOnce(ctx context.Context, r Record, key Key, bodyHash string) (Reservation, bool, error) {
	var found Reservation
	var reserved bool
	err := s.transact(ctx, func(tx *sql.Tx) error {
		if err := s.dropLapsedKeys(ctx, tx); err != nil {
			return err
		}
		var err error
		if found, reserved, err = s.reservation(ctx, tx, key); err != nil || reserved {
			return err
		}
		if err := s.insert(ctx, tx, r); err != nil {
			return err
		}
		found = Reservation{SandboxID: r.ID, BodyHash: bodyHash}
		_, err = tx.ExecContext(ctx,
			"INSERT INTO idempotency_keys (scope, name, body_hash, sandbox_id, expires_at) VALUES (?, ?, ?, ?, ?)",
			key.Scope, key.Name, bodyHash, r.ID, s.now().Add(KeyLifetime).UnixMilli())
		return err
	})
	if err != nil {
		return Reservation{}, false, s.explain(ctx, "record the sandbox", err)
	}
	return found, !reserved, nil
}

// Reserved returns what a key was used for, and whether it was used at all. A
// create asks it first, to answer a repeated request without any work.
func (s *Store) Reserved(ctx context.Context, key Key) (Reservation, bool, error) {
	found, ok, err := s.reservation(ctx, s.db, key)
	return found, ok, s.explain(ctx, "look up the idempotency key", err)
}

// querier is what a database and a transaction have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *Store) reservation(ctx context.Context, db querier, key Key) (Reservation, bool, error) {
	var found Reservation
	err := db.QueryRowContext(ctx,
		"SELECT sandbox_id, body_hash FROM idempotency_keys WHERE scope = ? AND name = ? AND expires_at > ?",
		key.Scope, key.Name, s.now().UnixMilli()).Scan(&found.SandboxID, &found.BodyHash)
	if errors.Is(err, sql.ErrNoRows) {
		return Reservation{}, false, nil
	}
	return found, err == nil, err
}

func (s *Store) dropLapsedKeys(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM idempotency_keys WHERE expires_at <= ?", s.now().UnixMilli())
	return err
}
