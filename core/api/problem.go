package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/sdk"
)

// Codes that only a request over HTTP can be refused with.
const (
	codeExecDisabled     sdk.Code = apitype.CodeExecDisabled
	codeUnauthenticated  sdk.Code = apitype.CodeUnauthenticated
	codeForbiddenOrigin  sdk.Code = "forbidden_origin"
	codeMisdirected      sdk.Code = "misdirected_request"
	codeRouteNotFound    sdk.Code = "route_not_found"
	codeMethodNotAllowed sdk.Code = "method_not_allowed"
	codeUnsupportedMedia sdk.Code = "unsupported_media_type"
	codeRequestTooLarge  sdk.Code = "request_too_large"
	codeRequestTimeout   sdk.Code = "request_timeout"
	codeServiceNotReady  sdk.Code = "service_not_ready"
)

// statuses is the one table of codes. What is not in it is a failure of the
// service.
var statuses = map[sdk.Code]int{
	sdk.CodeInvalidRequest:       http.StatusBadRequest,
	sdk.CodeInvalidProfile:       http.StatusUnprocessableEntity,
	sdk.CodeProfileNotFound:      http.StatusNotFound,
	sdk.CodeExtensionNotFound:    http.StatusUnprocessableEntity,
	sdk.CodeExtensionInvalid:     http.StatusUnprocessableEntity,
	sdk.CodeVersionMismatch:      http.StatusUnprocessableEntity,
	sdk.CodeSourceInvalid:        http.StatusUnprocessableEntity,
	sdk.CodeSourceForbidden:      http.StatusForbidden,
	sdk.CodeUnenforceable:        http.StatusUnprocessableEntity,
	sdk.CodeHostUnsupported:      http.StatusServiceUnavailable,
	sdk.CodeDiskFull:             http.StatusInsufficientStorage,
	sdk.CodeSandboxNotFound:      http.StatusNotFound,
	sdk.CodeSandboxNotReady:      http.StatusConflict,
	sdk.CodeSandboxExpired:       http.StatusGone,
	sdk.CodeSandboxGone:          http.StatusGone,
	sdk.CodeIdentityMismatch:     http.StatusForbidden,
	sdk.CodeIdempotencyConflict:  http.StatusConflict,
	sdk.CodeStdinTooLarge:        http.StatusRequestEntityTooLarge,
	sdk.CodeExecInProgress:       http.StatusConflict,
	sdk.CodeExecUnsupported:      http.StatusUnprocessableEntity,
	sdk.CodeRenewUnsupported:     http.StatusUnprocessableEntity,
	sdk.CodeBackendFailed:        http.StatusBadGateway,
	sdk.CodeCommandNotFound:      http.StatusUnprocessableEntity,
	sdk.CodeCommandNotExecutable: http.StatusUnprocessableEntity,
	sdk.CodeCanceled:             http.StatusConflict,
	sdk.CodeInternal:             http.StatusInternalServerError,

	codeExecDisabled:     http.StatusForbidden,
	codeUnauthenticated:  http.StatusUnauthorized,
	codeForbiddenOrigin:  http.StatusForbidden,
	codeMisdirected:      http.StatusMisdirectedRequest,
	codeRouteNotFound:    http.StatusNotFound,
	codeMethodNotAllowed: http.StatusMethodNotAllowed,
	codeUnsupportedMedia: http.StatusUnsupportedMediaType,
	codeRequestTooLarge:  http.StatusRequestEntityTooLarge,
	codeRequestTimeout:   http.StatusRequestTimeout,
	codeServiceNotReady:  http.StatusServiceUnavailable,
}

var (
	errNoRoute  = sdk.Errorf(codeRouteNotFound, "there is no such route").WithHint("GET /v1/openapi.yaml describes the routes")
	errNoMethod = sdk.Errorf(codeMethodNotAllowed, "the route does not take this method").WithHint("the Allow header lists those it takes")
)

// problemOf says what a client is told of an error. What went wrong inside is
// for the log alone.
func problemOf(err error) apitype.Problem {
	e := sdk.AsError(err)
	if e.Code == sdk.CodeInternal && errors.Is(err, context.Canceled) {
		// The client has gone, or the service stops.
		e = sdk.Errorf(sdk.CodeCanceled, "the request was canceled")
	}
	status, known := statuses[e.Code]
	if !known || e.Code == sdk.CodeInternal {
		e = sdk.Errorf(sdk.CodeInternal, "the service failed").WithHint("its log says why, under the request id")
		status = http.StatusInternalServerError
	}
	p := apitype.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: e.Message, Code: string(e.Code), Hint: e.Hint,
	}
	if strings.HasPrefix(e.Field, "/") {
		p.Pointer = e.Field
	}
	return p
}

// fail answers with a problem. It is the only place that does.
func (s *server) fail(x *exchange, err error) {
	p := problemOf(err)
	p.RequestID = x.id
	x.code = p.Code
	s.Metrics.refused(p.Code)
	if p.Status == http.StatusInternalServerError {
		s.Log.Error("a request failed", "request_id", x.id, "route", x.route, "error", err)
	}
	if x.status != 0 {
		return // the reply has begun
	}
	if p.Status == http.StatusUnauthorized {
		x.Header().Set("WWW-Authenticate", `Bearer realm="sandboxer"`)
	}
	x.drain()
	x.write(p.Status, apitype.ProblemContentType, p)
}
