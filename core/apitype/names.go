package apitype

// Values of Sandbox.State.
const (
	StateProvisioning = "provisioning"
	StateReady        = "ready"
	StateFailed       = "failed"
	StateExpired      = "expired"
	StateDestroying   = "destroying"
	StateDestroyed    = "destroyed"
)

// Values of Execution.Mode.
const (
	ModeOwnerMediated = "owner-mediated"
	ModeSSH           = "ssh"
)

// Values of ExecResult.Outcome.
const (
	OutcomeExited      = "exited"
	OutcomeSignaled    = "signaled"
	OutcomeTimedOut    = "timed_out"
	OutcomeOOMKilled   = "oom_killed"
	OutcomeCanceled    = "canceled"
	OutcomeStartFailed = "start_failed"
)

// Values of Problem.Code that an exec may be refused with.
const (
	CodeExecDisabled     = "exec_disabled"
	CodeUnauthenticated  = "unauthenticated"
	CodeIdentityMismatch = "identity_mismatch"
	CodeSandboxNotFound  = "sandbox_not_found"
	CodeSandboxNotReady  = "sandbox_not_ready"
	CodeSandboxExpired   = "sandbox_expired"
	CodeExecInProgress   = "exec_in_progress"
	CodeExecUnsupported  = "exec_unsupported"
	CodeInvalidRequest   = "invalid_request"
	CodeBackendFailed    = "backend_failed"
)
