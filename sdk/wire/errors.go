package wire

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// ErrEnded is in the chain of the error of a call whose connection broke: the
// plugin's process ended, and it is not known how far the call came.
var ErrEnded = errors.New("the extension process ended during the call")

const (
	errorDomain = "sandboxer"
	// A status travels in HTTP/2 headers, which peers bound.
	maxStatusBytes = 4 << 10
	maxHintBytes   = 1 << 10
	maxFieldBytes  = 256
	// maxTextBytes bounds what a plugin may tell a person in one piece.
	maxTextBytes = 8 << 10
)

// grpcCodes is the one table between the codes of package sdk and of gRPC. The
// way back is by name, in the status's ErrorInfo: a gRPC code alone says that
// the failure is not the backend's word.
var grpcCodes = map[sdk.Code]codes.Code{
	sdk.CodeInvalidRequest:       codes.InvalidArgument,
	sdk.CodeInvalidProfile:       codes.InvalidArgument,
	sdk.CodeProfileNotFound:      codes.NotFound,
	sdk.CodeExtensionNotFound:    codes.NotFound,
	sdk.CodeExtensionInvalid:     codes.FailedPrecondition,
	sdk.CodeVersionMismatch:      codes.FailedPrecondition,
	sdk.CodeSourceInvalid:        codes.InvalidArgument,
	sdk.CodeSourceForbidden:      codes.PermissionDenied,
	sdk.CodeUnenforceable:        codes.FailedPrecondition,
	sdk.CodeHostUnsupported:      codes.FailedPrecondition,
	sdk.CodeDiskFull:             codes.ResourceExhausted,
	sdk.CodeSandboxNotFound:      codes.NotFound,
	sdk.CodeSandboxNotReady:      codes.FailedPrecondition,
	sdk.CodeSandboxExpired:       codes.FailedPrecondition,
	sdk.CodeSandboxGone:          codes.NotFound,
	sdk.CodeIdentityMismatch:     codes.PermissionDenied,
	sdk.CodeIdempotencyConflict:  codes.AlreadyExists,
	sdk.CodeExecInProgress:       codes.Aborted,
	sdk.CodeExecUnsupported:      codes.Unimplemented,
	sdk.CodeRenewUnsupported:     codes.Unimplemented,
	sdk.CodeBackendFailed:        codes.Unknown,
	sdk.CodeCommandNotFound:      codes.NotFound,
	sdk.CodeCommandNotExecutable: codes.FailedPrecondition,
	sdk.CodeCanceled:             codes.Canceled,
	sdk.CodeInternal:             codes.Internal,
}

// toStatus turns the error of a backend into one that gRPC carries.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	e := asError(err)
	msg := clean(e.Message, maxStatusBytes)
	info := &errdetails.ErrorInfo{
		Domain: errorDomain,
		Reason: string(e.Code),
		Metadata: map[string]string{
			"hint":  clean(e.Hint, maxHintBytes),
			"field": clean(e.Field, maxFieldBytes),
		},
	}
	for {
		st, err := status.New(grpcCodes[e.Code], msg).WithDetails(info)
		if err != nil {
			return status.Error(codes.Internal, msg)
		}
		if statusBytes(st) <= maxStatusBytes {
			return st.Err()
		}
		msg = clean(msg, len(msg)*3/4)
	}
}

// asError gives err a code that the table knows.
func asError(err error) *sdk.Error {
	if _, ok := errors.AsType[*sdk.Error](err); !ok &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return sdk.Errorf(sdk.CodeCanceled, "%w", err)
	}
	e := sdk.AsError(err)
	if _, ok := grpcCodes[e.Code]; !ok {
		e.Code = sdk.CodeInternal
	}
	return e
}

// statusBytes is what st takes in the headers: the message percent-encoded,
// then the whole as base64.
func statusBytes(st *status.Status) int {
	n := proto.Size(st.Proto()) * 4 / 3
	for _, b := range []byte(st.Message()) {
		if b >= ' ' && b <= '~' && b != '%' {
			n++
		} else {
			n += 3
		}
	}
	return n
}

// fromStatus turns the error of a call into an *sdk.Error. ctx is the caller's.
func fromStatus(ctx context.Context, err error) error {
	st := status.Convert(err)
	e := errorInfo(st)
	switch {
	case ctx.Err() != nil && (e == nil || e.Code == sdk.CodeCanceled):
		return canceled(ctx)
	case e != nil:
		return e
	}
	msg := clean(st.Message(), maxHintBytes)
	switch st.Code() {
	case codes.Unavailable, codes.Canceled:
		return sdk.Errorf(sdk.CodeBackendFailed, "%w", ErrEnded)
	case codes.DeadlineExceeded: // a hair before ctx itself ends
		return sdk.Errorf(sdk.CodeCanceled, "the call to the extension was canceled: %w", context.DeadlineExceeded)
	case codes.Unimplemented:
		return lied("does not serve a call that it offers: %s", msg)
	case codes.ResourceExhausted:
		return sdk.Errorf(sdk.CodeBackendFailed, "a message to or from the extension is too large: %s", msg)
	}
	return lied("broke the protocol: %s", msg)
}

// errorInfo returns the backend's own error, or nil where st has none.
func errorInfo(st *status.Status) *sdk.Error {
	for _, detail := range st.Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != errorDomain {
			continue
		}
		return newError(info.GetReason(), st.Message(), info.GetMetadata()["hint"], info.GetMetadata()["field"])
	}
	return nil
}

func errorToProto(e *sdk.Error) *pluginpb.Error {
	if e == nil {
		return nil
	}
	return &pluginpb.Error{Code: string(e.Code), Message: text(e.Message), Hint: text(e.Hint), Field: text(e.Field)}
}

func errorFromProto(e *pluginpb.Error) *sdk.Error {
	if e == nil {
		return nil
	}
	return newError(e.GetCode(), e.GetMessage(), e.GetHint(), e.GetField())
}

// newError makes an error of what came over the wire. A code that this side
// does not know is the backend's failure all the same.
func newError(code, message, hint, field string) *sdk.Error {
	c := sdk.Code(code)
	if _, ok := grpcCodes[c]; !ok {
		c = sdk.CodeBackendFailed
	}
	return &sdk.Error{
		Code:    c,
		Message: clean(message, maxTextBytes),
		Hint:    clean(hint, maxTextBytes),
		Field:   clean(field, maxFieldBytes),
	}
}

// lied is the error for an answer that no honest backend gives.
func lied(format string, args ...any) error {
	return sdk.Errorf(sdk.CodeBackendFailed, "the extension "+format, args...)
}

func canceled(ctx context.Context) error {
	return sdk.Errorf(sdk.CodeCanceled, "the call to the extension was canceled: %w", ctx.Err())
}

// clean makes s fit to be shown: control characters and what turns the
// direction of text could forge what a terminal shows. It cuts s to limit bytes.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, s)
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	cut := max(limit-len(mark), 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}
