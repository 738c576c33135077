package sdk

import (
	"io"
	"time"
)

// Bounds of an exec request, as the owner API promises them.
const (
	MaxArgs             = 4096
	MaxArgBytes         = 1 << 20
	MaxStdinBytes       = 1_000_000
	MaxOutputBytes      = 16 << 20
	DefaultOutputBytes  = 256 << 10
	DefaultExecTimeout  = 15 * time.Minute
	MaxCredentialRoutes = 32
	// KillGrace is how long a process that got SIGTERM may go on before it
	// gets SIGKILL.
	KillGrace = 2 * time.Second
)

// WorkspaceDir is where the workspace is mounted in every sandbox.
const WorkspaceDir = "/workspace"

// ExecRequest is one argument vector to run.
type ExecRequest struct {
	Ref
	// ExecID names this exec in logs and audit.
	ExecID string
	// Argv is the argument vector; Argv[0] is looked up in the sandbox's PATH
	// unless it has a slash. Never a shell line.
	Argv []string
	// Env is added to the sandbox's own clean environment.
	Env map[string]string
	// Stdin is what the command reads; nil is /dev/null.
	Stdin []byte
	// Deadline is when the command is ended with [OutcomeTimedOut].
	Deadline time.Time
	// MaxOutputBytes bounds what is kept of each stream; what is beyond is
	// read and counted.
	MaxOutputBytes int64
}

// ExecOutput takes the streams of a command. A Write may block; it is never
// called from two goroutines for the same stream.
type ExecOutput struct {
	Stdout io.Writer
	Stderr io.Writer
}

// Outcome says how a command ended.
type Outcome string

// The outcomes of a command.
const (
	OutcomeExited      Outcome = "exited"
	OutcomeSignaled    Outcome = "signaled"
	OutcomeTimedOut    Outcome = "timed_out"
	OutcomeOOMKilled   Outcome = "oom_killed"
	OutcomeCanceled    Outcome = "canceled"
	OutcomeStartFailed Outcome = "start_failed"
)

// ExecResult is how a command ended.
type ExecResult struct {
	Outcome Outcome
	// ExitCode is meaningful only when Outcome is OutcomeExited.
	ExitCode int
	// Signal is a name as "SIGKILL", set only when Outcome is
	// OutcomeSignaled.
	Signal string
	// Failure says why the command did not start, set only when Outcome is
	// OutcomeStartFailed. Its code is [CodeCommandNotFound] or
	// [CodeCommandNotExecutable].
	Failure   *Error
	StartedAt time.Time
	Duration  time.Duration
	// StdoutBytes and StderrBytes count what was produced, kept or not.
	StdoutBytes, StderrBytes int64
	// SurvivorsKilled counts the processes that outlived the command.
	SurvivorsKilled int
}
