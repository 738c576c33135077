package sdk

import (
	"time"
)

// Info describes an extension.
type Info struct {
	// Name is the extension's name without the "ext." prefix.
	Name string
	// Version is the extension's semantic version, without a leading "v".
	Version string
	// Schema describes the config block of a profile. The host checks the
	// block against it before any call.
	Schema Schema
}

// Ref names a sandbox in a call.
type Ref struct {
	SandboxID string
	// HostID names the host installation that owns the sandbox.
	HostID string
	// Handle is the last handle that the host stored; empty when none was.
	Handle Handle
}

// Handle is the backend's own note on a sandbox. It is opaque to the host, at
// most [MaxHandleBytes] long, and holds no secret.
type Handle struct {
	// Version is the backend's version of the format of Data.
	Version uint32
	Data    []byte
}

// MaxHandleBytes bounds Handle.Data.
const MaxHandleBytes = 64 << 10

// CreateRequest is what the host asks Create for.
type CreateRequest struct {
	SandboxID string
	HostID    string
	// Workspace is the tree to copy in.
	Workspace WorkspaceSource
	// Network is the posture to enforce. A posture that the backend cannot
	// enforce is refused with [CodeUnenforceable], unless BestEffort is set.
	Network NetworkRequest
	// ExpiresAt is when the sandbox ends by itself. Never zero.
	ExpiresAt time.Time
	// Config is the profile's config block as JSON, already checked against
	// Info.Schema, with the schema's defaults filled in. "{}" when absent.
	Config []byte
}

// WorkspaceSource says what is copied to the workspace.
type WorkspaceSource struct {
	// Path is an absolute path on the host, its symlinks resolved. Empty: an
	// empty workspace.
	Path string
	// Exclude holds patterns, relative to Path, of what is not copied.
	Exclude []string
}

// PostureDeny is the network posture in which no packet leaves the sandbox.
const PostureDeny = "deny"

// NetworkRequest is the network that a profile asks for.
type NetworkRequest struct {
	Posture string
	// BestEffort lets the backend go on where it cannot enforce Posture; it
	// then reports Enforced false and why.
	BestEffort bool
}

// Progress is how a running Create talks to the host.
type Progress interface {
	// Checkpoint stores a handle. It returns once the handle is on the
	// host's disk, and fails when the host no longer wants the sandbox:
	// Create then cleans up and returns that error.
	Checkpoint(h Handle) error
	// Report tells a person what is being done, in the present tense.
	Report(message string)
}

// Created is the answer of a successful Create.
type Created struct {
	Handle       Handle
	Reachability Reachability
	// Execution is [ExecutionOwnerMediated] or [ExecutionSSH].
	Execution string
	Network   Network
	// Limits are the resource limits of the sandbox, each with whether it is
	// enforced.
	Limits []Limit
}

// Modes of execution.
const (
	ExecutionOwnerMediated = "owner-mediated"
	ExecutionSSH           = "ssh"
)

// Reachability says where a sandbox is. A local backend fills PID and
// WorkspaceDir, a remote one SSH and RemoteDir, never both.
type Reachability struct {
	PID          int
	WorkspaceDir string
	SSH          string
	RemoteDir    string
}

// Network is what a backend enforces.
type Network struct {
	Posture  string
	Enforced bool
	// Reason says why the posture is not enforced; empty when it is.
	Reason string
}

// Limit is one bound on a sandbox.
type Limit struct {
	// Name carries its unit, as "memory_bytes".
	Name     string
	Value    int64
	Enforced bool
	// Reason says why the limit is not enforced; empty when it is.
	Reason string
}

// Destroyed says what Destroy removed. A second Destroy returns the zero value.
type Destroyed struct {
	// Removed names what was removed, as "process 4711" or "workspace".
	Removed []string
}

// Found is a sandbox that List reports.
type Found struct {
	SandboxID string
	Alive     bool
}

// Status is the answer of Inspect.
type Status struct {
	Alive bool
	// Reason says how the sandbox ended; empty while it is alive.
	Reason string
}

// Health is the answer of a HealthChecker.
type Health struct {
	// Usable is false when Create would fail on this machine.
	Usable bool
	// Problems says what is missing, each with its fix. A usable backend may
	// have some too.
	Problems []Problem
	// Unavailable lists the capabilities that do not work here.
	Unavailable []Capability
}

// Problem is one thing that is wrong with a machine, and the fix.
type Problem struct {
	Message string
	Hint    string
}
