package sdk

import (
	"errors"
	"fmt"
)

// Code is a stable name of a failure: the same in Go, HTTP and on stderr.
type Code string

// The codes that a host or a backend may answer with.
const (
	CodeInvalidRequest       Code = "invalid_request"
	CodeInvalidProfile       Code = "invalid_profile"
	CodeProfileNotFound      Code = "profile_not_found"
	CodeExtensionNotFound    Code = "extension_not_found"
	CodeExtensionInvalid     Code = "extension_invalid"
	CodeVersionMismatch      Code = "version_mismatch"
	CodeSourceInvalid        Code = "source_invalid"
	CodeSourceForbidden      Code = "source_forbidden"
	CodeUnenforceable        Code = "unenforceable"
	CodeHostUnsupported      Code = "host_unsupported"
	CodeDiskFull             Code = "disk_full"
	CodeSandboxNotFound      Code = "sandbox_not_found"
	CodeSandboxNotReady      Code = "sandbox_not_ready"
	CodeSandboxExpired       Code = "sandbox_expired"
	CodeSandboxGone          Code = "sandbox_gone"
	CodeIdentityMismatch     Code = "identity_mismatch"
	CodeIdempotencyConflict  Code = "idempotency_conflict"
	CodeStdinTooLarge        Code = "stdin_too_large"
	CodeExecInProgress       Code = "exec_in_progress"
	CodeExecUnsupported      Code = "exec_unsupported"
	CodeRenewUnsupported     Code = "renew_unsupported"
	CodeBackendFailed        Code = "backend_failed"
	CodeCommandNotFound      Code = "command_not_found"
	CodeCommandNotExecutable Code = "command_not_executable"
	CodeCanceled             Code = "canceled"
	CodeInternal             Code = "internal"
)

// Error is a failure as data: it crosses the wire whole.
type Error struct {
	Code Code
	// Message is one sentence for a person, lower case, without a final stop.
	Message string
	// Hint says what to type or change; empty when there is nothing.
	Hint string
	// Field is the JSON pointer or flag of the input at fault; often empty.
	Field string

	err error
}

// Errorf makes an Error. A %w verb is kept for errors.Is and errors.As on this
// side of the wire.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), err: errors.Unwrap(err)}
}

// WithHint returns a copy of e that tells the reader what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithField returns a copy of e that names the input at fault.
func (e *Error) WithField(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.err }

// Is reports whether target is an *Error of the same code, so that
// errors.Is(err, &Error{Code: CodeDiskFull}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// CodeOf returns the code of err: that of the first *Error in its chain, else
// CodeInternal; "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// AsError returns the first *Error in err's chain with err's whole message, or
// wraps err as CodeInternal. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Code: CodeInternal, Message: err.Error(), err: err}
	}
	c := *e
	c.Message = err.Error()
	return &c
}
