package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/sdk"
)

const (
	defaultBodyTimeout = 30 * time.Second
	// maxBody bounds the bodies of all routes but exec.
	maxBody = 64 << 10
	// maxExecBody lets every exec pass that the owner accepts: text of which
	// each byte is written as an escape of six, and the rest of the request.
	maxExecBody = 6*(sdk.MaxStdinBytes+sdk.MaxArgBytes) + 512<<10
	maxDrain    = 32 << 20
)

// decode reads the body, of at most limit bytes, into v.
func (x *exchange) decode(v any, limit int64) error {
	r := x.request
	if err := checkMedia(r.Header); err != nil {
		return err
	}
	err := apitype.DecodeStrict(http.MaxBytesReader(x.ResponseWriter, r.Body, limit), v)
	field, _ := errors.AsType[*apitype.FieldError](err)
	if err == nil || field != nil {
		// All of it is read. From here on the server reads to notice that
		// the client leaves, for as long as the handler takes.
		x.setReadDeadline(time.Time{})
	}
	if err == nil {
		return nil
	}
	if field != nil {
		e := sdk.Errorf(sdk.CodeInvalidRequest, "%w", field).WithField(field.Pointer)
		if field.Hint != "" {
			return e.WithHint("%s", field.Hint)
		}
		return e
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return sdk.Errorf(codeRequestTooLarge, "the request is longer than %d bytes", limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return sdk.Errorf(codeRequestTimeout, "the request did not arrive within %v", x.bodyTimeout)
	}
	// What else goes wrong with a body is its sender's doing.
	return sdk.Errorf(sdk.CodeInvalidRequest, "the request could not be read to its end")
}

// drain reads on to the end of the body of a request that is refused. A client
// that first sends all and then reads would else find its connection broken. One
// that waits to be told to go on is not told to.
func (x *exchange) drain() {
	if x.request.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, x.request.Body, maxDrain)
	}
}

// checkMedia refuses what is not JSON by its own account.
func checkMedia(h http.Header) error {
	refused := func(name, hint string) error {
		return sdk.Errorf(codeUnsupportedMedia, "the %s of the request is not one that is read here", name).WithHint("%s", hint)
	}
	if h.Get("Content-Encoding") != "" {
		return refused("Content-Encoding", "send the body as it is")
	}
	given, ok := h["Content-Type"]
	if !ok {
		return nil
	}
	media, params, err := mime.ParseMediaType(strings.Join(given, ","))
	charset := strings.ToLower(params["charset"])
	if err != nil || media != "application/json" || charset != "" && charset != "utf-8" {
		return refused("Content-Type", "send JSON, with Content-Type: application/json")
	}
	return nil
}

// checkQuery refuses query parameters that the route does not have, and those
// that cannot be read.
func checkQuery(r *http.Request, known []string) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return sdk.Errorf(sdk.CodeInvalidRequest, "the query of the URL cannot be read").WithHint("write it as name=value&name=value, percent-encoded")
	}
	for name := range values {
		if slices.Contains(known, name) {
			continue
		}
		hint := "this route has no query parameters"
		if len(known) > 0 {
			hint = "the parameters here are " + strings.Join(known, ", ")
		}
		// A name is not repeated: it may be a secret in the wrong place.
		return sdk.Errorf(sdk.CodeInvalidRequest, "the query has a parameter that this route does not have").WithHint("%s", hint)
	}
	return nil
}

// one returns the value of a query parameter that may be given once; "" for
// none.
func one(values url.Values, name string) (string, error) {
	if len(values[name]) > 1 {
		return "", sdk.Errorf(sdk.CodeInvalidRequest, "the query parameter %s is given %d times", name, len(values[name])).WithHint("give it once")
	}
	return values.Get(name), nil
}

// seconds is a time of a request. One that is too long for a Duration is the
// longest there is: the owner refuses it.
func seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(max(-most, min(n, most))) * time.Second
}

func optionalSeconds(n *int64) *time.Duration {
	if n == nil {
		return nil
	}
	d := seconds(*n)
	return &d
}
