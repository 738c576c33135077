package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/julienschmidt/httprouter"
	"github.com/oklog/ulid/v2"

	"github.com/tegwick/sand-boxer/sdk"
)

// replyTimeout is how long a client may take to read a reply.
const replyTimeout = time.Minute

// handler answers one request, with a reply or an error.
type handler func(x *exchange) error

// exchange is a request and its reply. It is the http.ResponseWriter of the
// handlers.
type exchange struct {
	http.ResponseWriter
	request *http.Request
	params  httprouter.Params
	id      string
	// bodyTimeout is that of the Config.
	bodyTimeout time.Duration
	// For the log: the route, what was answered, and a problem's code.
	route  string
	status int
	code   string
}

// Unwrap lets an http.ResponseController find the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader notes the status, and gives the client a time to read the reply.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= http.StatusOK {
		x.status = status
		x.setWriteDeadline(time.Now().Add(replyTimeout))
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	return x.ResponseWriter.Write(b)
}

// setWriteDeadline does nothing where there is no connection, as in a test.
func (x *exchange) setWriteDeadline(t time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(t)
}

func (x *exchange) setReadDeadline(t time.Time) {
	_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(t)
}

// reply sends v as JSON.
func (x *exchange) reply(status int, v any) error {
	x.write(status, "application/json", v)
	return nil
}

// write sends v. A client that has gone cannot be told, so that errors end here.
func (x *exchange) write(status int, contentType string, v any) {
	x.Header().Set("Content-Type", contentType)
	x.WriteHeader(status)
	e := json.NewEncoder(x)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
}

// sandboxID is the id in the path. Its form is the owner's to check.
func (x *exchange) sandboxID() string { return x.params.ByName("id") }

// observe is the outermost layer: it names each request, guards it, outlives its
// panics and logs it.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		x := &exchange{ResponseWriter: w, request: r, id: requestID(r), bodyTimeout: s.BodyTimeout}
		// The deadline of the last reply on this connection would still hold.
		x.setWriteDeadline(time.Time{})
		if r.ContentLength != 0 {
			// Also for a body that no handler reads: the server does, before
			// it replies.
			x.setReadDeadline(begin.Add(s.BodyTimeout))
		}
		h := x.Header()
		h.Set("X-Request-Id", x.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				s.Log.Error("a request panicked", "request_id", x.id, "route", x.route, "panic", p, "stack", hclog.Stacktrace())
				if x.status != 0 {
					panic(http.ErrAbortHandler) // a reply cut short must not look whole
				}
				s.fail(x, sdk.Errorf(sdk.CodeInternal, "a panic, logged above"))
			}
			s.logAccess(x, time.Since(begin))
		}()
		if err := s.guard(r); err != nil {
			s.fail(x, err)
			return
		}
		next.ServeHTTP(x, r)
	})
}

// logAccess logs what was asked and answered: no body, no argument, no query, and
// no path that is not a route, since any of them may hold a secret.
func (s *server) logAccess(x *exchange, took time.Duration) {
	fields := []any{
		"request_id", x.id, "method", clipMethod(x.request.Method), "route", x.route, "status", x.status,
		"duration_ms", float64(took.Microseconds()) / 1000, "client", clientOf(x.request),
	}
	if id := x.sandboxID(); sdk.ValidSandboxID(id) {
		fields = append(fields, "sandbox_id", id)
	}
	if x.code != "" {
		fields = append(fields, "code", x.code)
	}
	s.Log.Info("request", fields...)
}

// clipMethod keeps a method short that a stranger made up.
func clipMethod(m string) string { return m[:min(len(m), 16)] }

var wellFormedID = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)

// requestID is the client's where it gave one of a harmless form.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); wellFormedID.MatchString(id) {
		return id
	}
	return "req-" + strings.ToLower(ulid.Make().String())
}
