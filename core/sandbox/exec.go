package sandbox

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// credentialRoutes is the variable that carries the references of a request.
const credentialRoutes = "SANDBOXER_CREDENTIAL_ROUTE_REFS"

// ExecRequest asks for one argument vector to be run.
type ExecRequest struct {
	SandboxID string
	// Consumer repeats the identity given at create.
	Consumer Consumer
	Command  []string
	// CredentialRouteRefs are catalog identifiers, handed to the command as
	// they are.
	CredentialRouteRefs []string
	// Stdin is what the command reads; nil is /dev/null.
	Stdin []byte
	// Timeout is at most the profile's; nil is 15 minutes or the profile's
	// maximum, whichever is less.
	Timeout *time.Duration
	// MaxOutputBytes bounds what is kept of each stream; nil is 256 KiB.
	MaxOutputBytes *int64
}

// bounds are the bounds of one exec, checked and with the defaults filled in.
type bounds struct {
	timeout time.Duration
	output  int64
}

// ExecResult is how a command ended.
type ExecResult struct {
	sdk.ExecResult
	ExecID  string
	Sandbox Sandbox
}

// Exec runs one argument vector in a sandbox, and writes what is kept of its
// output to out. A command that fails is a result; an error means that it was
// refused or that its end is not known, and it is never run again. When ctx
// ends, the command is ended and the result is canceled.
func (o *Owner) Exec(ctx context.Context, req ExecRequest, out sdk.ExecOutput) (ExecResult, error) {
	s, err := o.admit(ctx, req.SandboxID, req.Consumer)
	if err != nil {
		return ExecResult{}, err
	}
	b, err := boundsOf(req, s)
	if err == nil {
		err = checkCommand(req)
	}
	if err != nil {
		return ExecResult{}, err
	}
	ext, err := o.Extensions.Open(ctx, s.Extension)
	if err != nil {
		return ExecResult{}, err
	}
	if ext.Features.Exec == nil {
		return ExecResult{}, sdk.Errorf(sdk.CodeExecUnsupported, "ext.%s does not offer exec", s.Extension).
			WithHint("use a profile whose extension lists exec.v1")
	}
	unlock, ok, err := o.tryLock(s.ID, execLock)
	if err != nil {
		return ExecResult{}, err
	}
	if !ok {
		return ExecResult{}, sdk.Errorf(sdk.CodeExecInProgress, "a command is running in sandbox %s", s.ID).
			WithHint("wait for its end, or create a second sandbox")
	}
	defer unlock()
	// It may have been destroyed, and its lock file with it, since it was
	// read.
	if s, err = o.Get(ctx, s.ID); err == nil {
		err = checkReady(s)
	}
	if err != nil {
		return ExecResult{}, err
	}
	return o.exec(ctx, ext, s, req, b, out)
}

func (o *Owner) exec(ctx context.Context, ext Extension, s Sandbox, req ExecRequest, b bounds, out sdk.ExecOutput) (ExecResult, error) {
	refs, err := json.Marshal(append([]string{}, req.CredentialRouteRefs...))
	if err != nil {
		return ExecResult{}, err
	}
	deadline := o.Now().Add(b.timeout)
	if s.ExpiresAt.Before(deadline) {
		deadline = s.ExpiresAt
	}
	id := "exec-" + strings.ToLower(ulid.Make().String())
	res, err := ext.Features.Exec(ctx, sdk.ExecRequest{
		Ref: refOf(s), ExecID: id, Argv: req.Command, Env: map[string]string{credentialRoutes: string(refs)},
		Stdin: req.Stdin, Deadline: deadline, MaxOutputBytes: b.output,
	}, out)
	e := event{action: actionExec, execID: id, command: req.Command[0], outcome: string(res.Outcome)}
	if err == nil {
		err = checkResult(s, res)
	}
	if err != nil {
		err = o.execFailed(context.WithoutCancel(ctx), s, err)
		e.outcome, e.code = outcomeFailed, sdk.CodeOf(err)
	}
	o.note(ctx, s, e)
	if err != nil {
		return ExecResult{}, err
	}
	return ExecResult{ExecResult: res, ExecID: id, Sandbox: s}, nil
}

// execFailed names why a command has no result.
func (o *Owner) execFailed(ctx context.Context, s Sandbox, err error) error {
	if now, gerr := o.Get(ctx, s.ID); gerr == nil && now.State != store.Ready {
		return checkReady(now)
	}
	if sdk.CodeOf(err) == sdk.CodeSandboxGone {
		e := sdk.AsError(err)
		failure := &Failure{Code: e.Code, Message: e.Message, Hint: e.Hint}
		if terr := o.store.Transition(ctx, s.ID, []State{store.Ready}, store.Failed, failure); terr != nil {
			o.Log.Error("note that a sandbox failed", "sandbox_id", s.ID, "error", terr)
		}
		s.State, s.Failure = store.Failed, failure
		return checkReady(s)
	}
	return backendError(s.Extension, "run the command", err)
}

// backendError marks an error that a backend gave no code as the backend's.
func backendError(extension, doing string, err error) error {
	if sdk.CodeOf(err) != sdk.CodeInternal {
		return err
	}
	return sdk.Errorf(sdk.CodeBackendFailed, "ext.%s could not %s: %w", extension, doing, err).
		WithHint("the log of the host has more; SANDBOXER_LOG_LEVEL=debug shows all of it")
}

// admit returns the sandbox when the consumer may use it now. Identity comes
// before state: a stranger learns nothing of the sandbox.
func (o *Owner) admit(ctx context.Context, id string, c Consumer) (Sandbox, error) {
	if err := checkConsumer(c); err != nil {
		return Sandbox{}, err
	}
	s, err := o.Get(ctx, id)
	if err != nil {
		return Sandbox{}, err
	}
	if !sameConsumer(s.Consumer, c) {
		o.note(ctx, Sandbox{ID: s.ID, Consumer: c}, event{action: actionExec, outcome: outcomeRefused, code: sdk.CodeIdentityMismatch})
		return Sandbox{}, sdk.Errorf(sdk.CodeIdentityMismatch, "the identity is not the one that sandbox %s is bound to", s.ID).
			WithHint("repeat the actor, project, session id and run id given at create")
	}
	return s, checkReady(s)
}

// sameConsumer compares all four fields whatever the first three are.
func sameConsumer(a, b Consumer) bool {
	same := subtle.ConstantTimeCompare([]byte(a.Actor), []byte(b.Actor))
	same &= subtle.ConstantTimeCompare([]byte(a.Project), []byte(b.Project))
	same &= subtle.ConstantTimeCompare([]byte(a.SessionID), []byte(b.SessionID))
	same &= subtle.ConstantTimeCompare([]byte(a.RunID), []byte(b.RunID))
	return same == 1
}

// checkReady returns nil for a ready sandbox, else the refusal for its state.
func checkReady(s Sandbox) error {
	expired := s.State == store.Expired || s.Failure != nil && s.Failure.Code == sdk.CodeSandboxExpired
	switch {
	case s.State == store.Ready:
		return nil
	case expired:
		return sdk.Errorf(sdk.CodeSandboxExpired, "sandbox %s expired at %s", s.ID, s.ExpiresAt.Format(time.RFC3339)).
			WithHint("create a new one, with a longer --ttl if need be")
	case s.State == store.Failed && s.Failure != nil:
		return sdk.Errorf(sdk.CodeSandboxNotReady, "sandbox %s is failed: %s", s.ID, s.Failure.Message).
			WithHint("sandboxer destroy %s, then create a new one", s.ID)
	}
	return sdk.Errorf(sdk.CodeSandboxNotReady, "sandbox %s is %s, not ready", s.ID, s.State)
}

func boundsOf(req ExecRequest, s Sandbox) (bounds, error) {
	limit := s.ExecTimeoutMax
	b := bounds{timeout: min(sdk.DefaultExecTimeout, limit), output: sdk.DefaultOutputBytes}
	if req.Timeout != nil {
		b.timeout = *req.Timeout
	}
	if req.MaxOutputBytes != nil {
		b.output = *req.MaxOutputBytes
	}
	if b.timeout < time.Second || b.timeout > limit {
		return b, sdk.Errorf(sdk.CodeInvalidRequest, "a timeout of %v is not between 1s and %v, the maximum of profile.%s", b.timeout, limit, s.Profile).
			WithField("/timeout_seconds").WithHint("ask for a timeout within these bounds, or raise exec.timeout_max in the profile")
	}
	if b.output < 1 || b.output > sdk.MaxOutputBytes {
		return b, sdk.Errorf(sdk.CodeInvalidRequest, "an output bound of %d bytes is not between 1 and %d", b.output, sdk.MaxOutputBytes).
			WithField("/max_output_bytes").WithHint("ask for a bound within these, or write large output to a file of the workspace")
	}
	return b, nil
}

// checkResult holds a backend to the form of a result.
func checkResult(s Sandbox, r sdk.ExecResult) error {
	var problem string
	switch r.Outcome {
	case sdk.OutcomeExited, sdk.OutcomeTimedOut, sdk.OutcomeOOMKilled, sdk.OutcomeCanceled:
	case sdk.OutcomeSignaled:
		if r.Signal == "" {
			problem = "a signaled command without a signal"
		}
	case sdk.OutcomeStartFailed:
		if r.Failure == nil {
			problem = "a command that did not start, without a reason"
		}
	default:
		problem = fmt.Sprintf("the outcome %q", r.Outcome)
	}
	if problem == "" {
		return nil
	}
	return sdk.Errorf(sdk.CodeBackendFailed, "ext.%s answered an exec with %s", s.Extension, problem)
}
