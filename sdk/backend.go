// Package sdk is the contract between the sand-boxer host and an extension.
//
// An extension is a program whose main calls wire.Serve with a [Backend]. The
// backend provisions and destroys sandboxes; each ability beyond that is an
// optional one-method interface ([Execer], [Renewer], [Inspector],
// [HealthChecker], [ConfigValidator]). The capabilities that the host sees are
// derived from what the value implements, never declared by hand.
//
// The backend keeps nothing between calls: each call carries the sandbox id
// and the [Handle] that the host stored. The plugin process, the host process
// and the machine may end at any point.
//
// This package depends on the standard library alone.
package sdk

import (
	"context"
	"time"
)

// Backend is what every extension implements.
type Backend interface {
	// Info describes the extension. It has no side effects, needs nothing
	// installed, and returns the same value for the life of the process.
	Info() Info

	// Create provisions a sandbox and returns when it is ready for use. It
	// is idempotent by req.SandboxID: called again after a crash it adopts
	// or replaces what an earlier call left.
	//
	// It calls progress.Checkpoint before it makes anything that Destroy
	// could not find by the id alone. When it returns an error it has
	// removed what it made; the host calls Destroy in any case.
	Create(ctx context.Context, req CreateRequest, progress Progress) (Created, error)

	// Destroy removes everything of the sandbox and returns when nothing is
	// left. It works with an empty handle, by id alone, and succeeds when
	// there is nothing to remove.
	Destroy(ctx context.Context, ref Ref) (Destroyed, error)

	// List reports every sandbox of hostID that has anything left on this
	// backend, known to the host or not.
	List(ctx context.Context, hostID string) ([]Found, error)
}

// Execer is optional. Without it the host refuses exec with
// [CodeExecUnsupported] and makes no call.
type Execer interface {
	// Exec runs one argument vector in the sandbox. A command that fails,
	// is killed or times out is a result, not an error; an error means the
	// command could not be run or that its end is not known.
	//
	// It writes at most req.MaxOutputBytes to each of stdout and stderr,
	// reads the streams of the command to their end, and returns after the
	// last write. When ctx ends, the command and every process it started
	// are killed before Exec returns with [OutcomeCanceled].
	Exec(ctx context.Context, req ExecRequest, out ExecOutput) (ExecResult, error)
}

// Renewer is optional. Without it a sandbox of this backend keeps the expiry
// it was created with.
type Renewer interface {
	// Renew tells the sandbox that it now ends at expiresAt.
	Renew(ctx context.Context, ref Ref, expiresAt time.Time) error
}

// Inspector is optional. Without it the host learns that a sandbox is gone
// only when a call fails.
type Inspector interface {
	// Inspect reports whether the sandbox is alive.
	Inspect(ctx context.Context, ref Ref) (Status, error)
}

// HealthChecker is optional. Without it the host takes the backend to be
// usable with every capability it implements.
type HealthChecker interface {
	// Health reports what works on this machine. It may take capabilities
	// back, never add one.
	Health(ctx context.Context) (Health, error)
}

// ConfigValidator is optional. Without it only the schema in [Info] is
// checked.
type ConfigValidator interface {
	// ValidateConfig checks what the schema cannot say. A diagnostic's path
	// is turned into a file, line and column of the profile by the host.
	ValidateConfig(ctx context.Context, config []byte) ([]Diagnostic, error)
}
