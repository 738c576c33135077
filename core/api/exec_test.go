package api

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

func TestExecRequestAndResult(t *testing.T) {
	var got sandbox.ExecRequest
	owner := &fakeOwner{exec: func(_ context.Context, r sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
		got = r
		res, err := exited(out, "out<&>")
		res.ExitCode, res.Duration = 3, 12*time.Millisecond
		return res, err
	}}
	s := serve(t, owner, nil)
	a := s.do(call{method: "POST", path: execPath, body: execBody(`,"stdin_text":"","timeout_seconds":30,"max_output_bytes":3,"credential_route_refs":["a","b"]`)})
	if got.SandboxID != id || got.Command[0] != "true" || got.Consumer.RunID != "r-1" || got.Stdin == nil || len(got.Stdin) != 0 ||
		*got.Timeout != 30*time.Second || *got.MaxOutputBytes != 3 || strings.Join(got.CredentialRouteRefs, " ") != "a b" {
		t.Errorf("the owner got %+v", got)
	}
	var r apitype.ExecResult
	if err := json.Unmarshal(a.body, &r); err != nil || a.StatusCode != 200 {
		t.Fatalf("status %d, %v", a.StatusCode, err)
	}
	if r.Stdout != "out" || r.StdoutBytes != 6 || !r.StdoutTruncated || *r.ExitCode != 3 || r.CommandName != "true" || r.DurationMS != 12 {
		t.Errorf("result %s", a.body)
	}
	if strings.Contains(string(a.body), "stdin") {
		t.Errorf("stdin is in the result: %s", a.body)
	}
	s.do(call{method: "POST", path: execPath, body: execBody("")})
	if got.Stdin != nil || got.Timeout != nil || got.MaxOutputBytes != nil {
		t.Errorf("the owner got %+v, want nothing but the command and the consumer", got)
	}
}

// TestOutputOfALyingBackendIsBounded has a backend write more than it was asked
// to.
func TestOutputOfALyingBackendIsBounded(t *testing.T) {
	for limit, kept := range map[string]int{"": 256 << 10, `,"max_output_bytes":10`: 10, `,"max_output_bytes":-5`: 0, `,"max_output_bytes":999999999999`: 16 << 20} {
		s := serve(t, &fakeOwner{exec: func(_ context.Context, _ sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
			return exited(out, strings.Repeat("a", 17<<20))
		}}, nil)
		s.unixHTTP.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", s.socket) }}
		a := s.do(call{method: "POST", path: execPath, body: execBody(limit)})
		var r apitype.ExecResult
		if err := json.Unmarshal(a.body, &r); err != nil || len(r.Stdout) != kept || r.StdoutBytes != 17<<20 {
			t.Errorf("bound %q: %v, %d bytes are kept of %d, want %d", limit, err, len(r.Stdout), r.StdoutBytes, kept)
		}
	}
}

// untilCanceled is an exec that waits for the end of its context.
func untilCanceled(started, ended chan<- struct{}) *fakeOwner {
	return &fakeOwner{exec: func(ctx context.Context, _ sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		res, err := exited(out, "so far")
		res.Outcome = sdk.OutcomeCanceled
		return res, err
	}}
}

func TestClientThatLeavesEndsItsCommand(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, untilCanceled(started, ended), nil)
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, post(execPath, execBody(""), len(execBody("")))); err != nil {
		t.Fatal(err)
	}
	<-started
	conn.Close()
	<-ended
}

// TestHalfClosedConnection closes the writing half alone: the command is ended
// as if the client had left, and the client reads so.
func TestHalfClosedConnection(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, untilCanceled(started, ended), nil)
	res, body := s.raw(t, post(execPath, execBody(""), len(execBody(""))), true)
	if res.StatusCode != 200 || !strings.Contains(body, `"outcome":"canceled"`) || !strings.Contains(body, `"stdout":"so far"`) {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
}

// TestEndOfTheServiceEndsCommands ends the base context as a service does whose
// time to drain is over.
func TestEndOfTheServiceEndsCommands(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	base, stop := context.WithCancel(t.Context())
	defer stop()
	server := httptest.NewUnstartedServer(New(Config{
		Owner: untilCanceled(started, ended), Catalog: fakeCatalog{}, Metrics: NewMetrics(), Log: hclog.NewNullLogger(), Token: token,
	}))
	server.Config.BaseContext = func(net.Listener) context.Context { return base }
	server.Start()
	defer server.Close()
	go func() {
		<-started
		stop()
	}()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+execPath, strings.NewReader(execBody("")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); !strings.Contains(string(body), `"outcome":"canceled"`) {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
}

// FuzzExecRequest sends any bytes as an exec request. Nothing that is sent is a
// failure of the service, and what reaches the owner is within the bounds.
func FuzzExecRequest(f *testing.F) {
	for _, seed := range []string{
		execBody(""), `{}`, `{"command":"ls"}`, `{"command":["\u0000"],"consumer":{}}`, execBody(`,"stdin_text":null,"timeout_seconds":1`),
		execBody(`,"max_output_bytes":-1`), `{"command":[],"command":[]}`, "\xff", `{"a":[[[[`, execBody(`,"timeout_seconds":18446744075`),
	} {
		f.Add([]byte(seed), "application/json")
	}
	f.Add([]byte(execBody("")), "text/plain")
	handler := New(Config{
		Owner: &fakeOwner{exec: func(_ context.Context, r sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
			if len(r.Command) == 0 {
				return sandbox.ExecResult{}, sdk.Errorf(sdk.CodeInvalidRequest, "the command is empty")
			}
			return exited(out, "ok")
		}},
		Catalog: fakeCatalog{}, Metrics: NewMetrics(), Log: hclog.NewNullLogger(), Token: token,
	})
	local := &net.UnixAddr{Name: "s", Net: "unix"}
	f.Fuzz(func(t *testing.T, body []byte, media string) {
		r := httptest.NewRequest("POST", execPath, strings.NewReader(string(body)))
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 && w.Code != 415 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("the reply is not JSON: %q", w.Body)
		}
	})
}
