// Package audit keeps a tamper-evident record of what was asked of the host
// and how it ended: a file of JSON lines, each of which carries the hash of the
// line before.
//
// A line that is edited, removed, moved or cut from the head breaks the chain,
// and [Verify] names the first line that does not fit. What a chain cannot
// show by itself is that its newest lines are missing, or that all of it was
// written anew: compare [Report.LastSeq] and [Report.LastHash] with a note of
// them kept elsewhere.
//
// The record holds no secret and no output: of a command it is given the name
// only. A line takes about 450 bytes, at most 20 KiB, and nothing is ever
// deleted: a thousand lines a day grow the file by 160 MB a year.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// FileName is the name of the record in the state directory.
const FileName = "audit.jsonl"

// ActionTorn is the action of an entry that the log adds by itself: it says
// how many bytes, and with which hash, a write that was cut short by a crash
// left in front of it.
const ActionTorn = "audit.torn"

// Event is one thing that happened. Texts that are too long are cut, and end
// in "…" then: a record must not fail for what a client sent.
type Event struct {
	// Time is when it happened; zero is now. It is kept in UTC and to the
	// millisecond.
	Time time.Time `json:"time"`
	// Action says what was done, as "sandbox.create"; at most 64 bytes.
	Action string `json:"action"`
	// SandboxID and ExecID are at most 128 bytes each.
	SandboxID string   `json:"sandbox_id,omitempty"`
	Consumer  Consumer `json:"consumer,omitzero"`
	// Outcome and Code say how it ended; at most 64 bytes each.
	Outcome string `json:"outcome,omitempty"`
	Code    string `json:"code,omitempty"`
	ExecID  string `json:"exec_id,omitempty"`
	// Details are at most 8, with names of 32 and values of 256 bytes.
	Details map[string]string `json:"details,omitempty"`
}

// Consumer is who asked; each field is at most 128 bytes.
type Consumer struct {
	Actor     string `json:"actor"`
	Project   string `json:"project"`
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
}

// Log is the record of a state directory. Its methods may be called from
// several goroutines, and several processes may use the same directory at once.
type Log struct {
	path string
	// turn holds a token while a goroutine has the file's lock: the lock is
	// between processes only.
	turn chan struct{}
	file *os.File
	sync *syncer
}

// Open opens the record in the state directory dir, which must exist, and makes
// it where it is missing. The caller closes it.
func Open(dir string) (*Log, error) {
	l := &Log{path: filepath.Join(dir, FileName), turn: make(chan struct{}, 1)}
	if err := l.open(); err != nil {
		return nil, err
	}
	l.sync = newSyncer()
	return l, nil
}

// Close waits until every event is on the disk and releases the file. No Append
// may run any more.
func (l *Log) Close() error {
	err := l.sync.close()
	if err != nil {
		err = l.explain("sync", err)
	}
	return errors.Join(err, l.file.Close())
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return l.explain("open", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = l.explain("open", err)
	case !info.Mode().IsRegular():
		err = sdk.Errorf(sdk.CodeHostUnsupported, "the audit log %s is not a regular file", l.path).
			WithHint("move it away, or set SANDBOXER_STATE_DIR to another directory")
	case info.Mode().Perm()&0o077 != 0:
		err = sdk.Errorf(sdk.CodeHostUnsupported, "the audit log %s is open to other users (mode %04o)", l.path, info.Mode().Perm()).
			WithHint("chmod 600 %s", l.path)
	}
	if err != nil {
		f.Close()
		return err
	}
	// A file that was open before is left to its finalizer: a reader or a
	// sync may still be at work on it.
	l.file = f
	return nil
}

// Append adds an event behind all others. It waits for its turn, for at most ten
// seconds, not for the disk: the event survives the end of this process from now
// on, and a power cut a moment later. After a failure of the disk every Append
// fails.
func (l *Log) Append(ctx context.Context, e Event) error {
	if e.Action == "" || e.Action == ActionTorn || len(e.Details) > maxDetails {
		return fmt.Errorf("an audit event needs an action of its own and at most %d details", maxDetails)
	}
	if err := l.sync.failed(); err != nil {
		return l.explain("sync", err)
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	err := l.locked(ctx, syscall.LOCK_EX, func() error {
		if err := l.append(e.bounded()); err != nil {
			return err
		}
		l.sync.soon(l.file)
		return nil
	})
	if err != nil {
		return l.explain("append to", err)
	}
	return nil
}

// append writes the event behind the last entry, with the lock held. A torn
// piece that it finds stays as it is, and gets an entry that describes it.
func (l *Log) append(e Event) error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	end, err := readEnd(l.file, info.Size())
	if err != nil {
		return err
	}
	out, err := end.follow(e)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(out); err != nil {
		// Nobody else writes now: take back what was written of it. Where
		// that fails too, the next append sets the piece aside.
		return errors.Join(err, l.file.Truncate(info.Size()))
	}
	if info.Size() > 0 {
		return nil
	}
	return syncDir(filepath.Dir(l.path)) // the file may be new
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// explain tells a person what to do about a failed call.
func (l *Log) explain(doing string, err error) error {
	if _, ok := errors.AsType[*sdk.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return sdk.Errorf(sdk.CodeDiskFull, "no room to %s the audit log: %w", doing, err).
			WithHint("free some space on the file system of %s and try again", l.path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EROFS),
		errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EISDIR):
		return sdk.Errorf(sdk.CodeHostUnsupported, "cannot %s the audit log: %w", doing, err).
			WithHint("check that %s is a file of yours, in a directory that exists and is not mounted read-only; "+
				"or set SANDBOXER_STATE_DIR to another directory", l.path)
	}
	return fmt.Errorf("%s the audit log: %w", doing, err)
}
