package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

// TestBadBodies sends what is no request; no owner is asked.
func TestBadBodies(t *testing.T) {
	c := `"consumer":` + consumerJSON
	for _, test := range []struct {
		name, path, body string
		pointer, detail  string
	}{
		{"empty", execPath, "", "", "is empty"},
		{"not JSON", execPath, "command=ls", "", "not JSON"},
		{"cut short", execPath, `{"command":["ls"`, "", "ends in the middle"},
		{"more behind", execPath, execBody("") + "{}", "", "behind"},
		{"an array", execPath, `[]`, "", "must be an object"},
		{"null", execPath, `null`, "", "must be an object"},
		{"not UTF-8", execPath, "{\"command\":[\"\xff\"]," + c + "}", "/command/0", "UTF-8"},
		{"half a surrogate", execPath, `{"command":["\ud800"],` + c + `}`, "/command/0", "surrogate"},
		{"a command line", execPath, `{"command":"ls",` + c + `}`, "/command", "argument vector"},
		{"a command of numbers", execPath, `{"command":[1],` + c + `}`, "/command/0", "must be a string"},
		{"a command of null", execPath, `{"command":null,` + c + `}`, "/command", "must be an array"},
		{"a consumer of text", execPath, `{"command":["ls"],"consumer":"agt"}`, "/consumer", "must be an object"},
		{"an actor of number", execPath, `{"command":["ls"],"consumer":{"actor":1}}`, "/consumer/actor", "must be a string"},
		{"a project of null", execPath, `{"command":["ls"],"consumer":{"project":null}}`, "/consumer/project", "must be a string"},
		{"a session of array", execPath, `{"command":["ls"],"consumer":{"session_id":[]}}`, "/consumer/session_id", "must be a string"},
		{"a run of object", execPath, `{"command":["ls"],"consumer":{"run_id":{}}}`, "/consumer/run_id", "must be a string"},
		{"references of text", execPath, execBody(`,"credential_route_refs":"a"`), "/credential_route_refs", "must be an array"},
		{"a reference of number", execPath, execBody(`,"credential_route_refs":["a",2]`), "/credential_route_refs/1", "must be a string"},
		{"stdin of number", execPath, execBody(`,"stdin_text":1`), "/stdin_text", "must be a string"},
		{"a timeout of text", execPath, execBody(`,"timeout_seconds":"30"`), "/timeout_seconds", "must be a whole number"},
		{"a timeout with a fraction", execPath, execBody(`,"timeout_seconds":1.5`), "/timeout_seconds", "whole number"},
		{"a timeout that is too long", execPath, execBody(`,"timeout_seconds":99999999999999999999`), "/timeout_seconds", "out of range"},
		{"a bound of bool", execPath, execBody(`,"max_output_bytes":true`), "/max_output_bytes", "must be a whole number"},
		{"an environment", execPath, execBody(`,"env":{"A":"b"}`), "/env", "is not a field"},
		{"a working directory", execPath, execBody(`,"cwd":"/"`), "/cwd", "is not a field"},
		{"a user", execPath, execBody(`,"user":"root"`), "/user", "is not a field"},
		{"a field in another case", execPath, execBody(`,"Stdin_text":"a"`), "/Stdin_text", "is not a field"},
		{"a field twice", execPath, execBody(`,"command":["rm"]`), "/command", "twice"},
		{"a profile of number", "/v1/sandboxes", `{"profile":1}`, "/profile", "must be a string"},
		{"inputs of array", "/v1/sandboxes", `{"inputs":[]}`, "/inputs", "must be an object"},
		{"an input of number", "/v1/sandboxes", `{"inputs":{"a/b":1}}`, "/inputs/a~1b", "must be a string"},
		{"a TTL of text", "/v1/sandboxes", `{"ttl_seconds":"1h"}`, "/ttl_seconds", "must be a whole number"},
		{"an unknown field of create", "/v1/sandboxes", `{"image":"x"}`, "/image", "is not a field"},
		{"a renewal of null", "/v1/sandboxes/" + id + "/renew", `{"ttl_seconds":null}`, "/ttl_seconds", "must be a whole number"},
		{"an unknown field of renew", "/v1/sandboxes/" + id + "/renew", `{"ttl":1}`, "/ttl", "is not a field"},
		{"nested without end", execPath, strings.Repeat("[", 100_000), "", "JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := serve(t, &fakeOwner{}, nil).wantProblem(call{method: "POST", path: test.path, body: test.body}, 400, "invalid_request")
			if p.Pointer != test.pointer || !strings.Contains(p.Detail, test.detail) {
				t.Errorf("pointer %q, detail %q; want %q and %q", p.Pointer, p.Detail, test.pointer, test.detail)
			}
		})
	}
}

func TestMediaTypes(t *testing.T) {
	for header, ok := range map[string]bool{
		"": true, "application/json": true, "application/JSON; charset=UTF-8": true,
		"text/plain": false, "application/x-www-form-urlencoded": false, "application/json; charset=latin1": false, "application/json;;": false, "nonsense": false,
	} {
		s := serve(t, anyExec(), nil)
		c := call{method: "POST", path: execPath, body: execBody(""), header: http.Header{}}
		if header != "" {
			c.header.Set("Content-Type", header)
		}
		if !ok {
			s.wantProblem(c, 415, "unsupported_media_type")
		} else if a := s.do(c); a.StatusCode != 200 {
			t.Errorf("Content-Type %q: status %d", header, a.StatusCode)
		}
	}
	c := call{method: "POST", path: execPath, body: execBody(""), header: http.Header{"Content-Encoding": {"gzip"}}}
	serve(t, anyExec(), nil).wantProblem(c, 415, "unsupported_media_type")
}

func TestLargeBodies(t *testing.T) {
	var got sandbox.ExecRequest
	owner := &fakeOwner{exec: func(_ context.Context, r sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
		got = r
		return exited(out, "")
	}}
	s := serve(t, owner, nil)
	// The longest form of the largest request: each byte an escape of six.
	escaped := func(n int) string { return strings.Repeat(`\u0061`, n) }
	body := fmt.Sprintf(`{"command":["true","%s"],"stdin_text":"%s","consumer":%s}`, escaped(sdk.MaxArgBytes-4), escaped(sdk.MaxStdinBytes), consumerJSON)
	if a := s.do(call{method: "POST", path: execPath, body: body}); a.StatusCode != 200 || len(got.Stdin) != sdk.MaxStdinBytes || len(got.Command[1]) != sdk.MaxArgBytes-4 {
		t.Errorf("status %d, %d bytes of stdin, %d of an argument: %.300s", a.StatusCode, len(got.Stdin), len(got.Command[1]), a.body)
	}
	for _, c := range []call{
		{method: "POST", path: execPath, body: execBody(`,"stdin_text":"` + strings.Repeat("a", maxExecBody) + `"`)},
		{method: "POST", path: "/v1/sandboxes", body: `{"profile":"` + strings.Repeat("a", 10<<20) + `"}`},
		{method: "POST", path: "/v1/sandboxes/" + id + "/renew", body: `{"ttl_seconds":` + strings.Repeat("1", maxBody) + `}`},
	} {
		for _, c.tcp = range []bool{false, true} {
			s.wantProblem(c, 413, "request_too_large")
		}
	}
}

// raw writes a request by hand and reads the reply, if there is one.
func (s *service) raw(t *testing.T, text string, closeWrite bool) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if closeWrite {
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func post(path, body string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, token, length, body)
}

func TestSlowBody(t *testing.T) {
	s := serve(t, &fakeOwner{}, func(c *Config) { c.BodyTimeout = 50 * time.Millisecond })
	res, body := s.raw(t, post(execPath, `{"command":`, 1000), false)
	if res.StatusCode != 408 || !strings.Contains(body, `"request_timeout"`) || !res.Close {
		t.Errorf("status %d, close %v: %s", res.StatusCode, res.Close, body)
	}
}

// TestSlowBodyThatNobodyReads has a stranger hold a connection.
func TestSlowBodyThatNobodyReads(t *testing.T) {
	s := serve(t, &fakeOwner{}, func(c *Config) { c.BodyTimeout = 50 * time.Millisecond })
	text := strings.Replace(post(execPath, `{"command":`, 1000), token, "x", 1)
	if res, body := s.raw(t, text, false); res.StatusCode != 401 || !res.Close {
		t.Errorf("status %d, close %v: %s", res.StatusCode, res.Close, body)
	}
}

func TestBodyThatEndsEarly(t *testing.T) {
	s := serve(t, &fakeOwner{}, nil)
	res, body := s.raw(t, post(execPath, `{"command":`, 1000), true)
	if res.StatusCode != 400 || !strings.Contains(body, `"invalid_request"`) {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
}

// TestLongExecOutlivesTheBodyTimeout makes sure that the time of the body does
// not bound the command.
func TestLongExecOutlivesTheBodyTimeout(t *testing.T) {
	const bodyTimeout = 50 * time.Millisecond
	s := serve(t, &fakeOwner{exec: func(ctx context.Context, _ sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
		select {
		case <-ctx.Done():
			t.Error("the command was ended")
		case <-time.After(3 * bodyTimeout):
		}
		return exited(out, "done")
	}}, func(c *Config) { c.BodyTimeout = bodyTimeout })
	if a := s.do(call{method: "POST", path: execPath, body: execBody("")}); a.StatusCode != 200 || !strings.Contains(string(a.body), "done") {
		t.Errorf("status %d: %s", a.StatusCode, a.body)
	}
}

func TestTimesDoNotOverflow(t *testing.T) {
	for n, want := range map[int64]time.Duration{
		1: time.Second, 0: 0, -1: -time.Second,
		1<<63 - 1: 9223372036 * time.Second, -1 << 63: -9223372036 * time.Second, 18446744075: 9223372036 * time.Second,
	} {
		if got := seconds(n); got != want {
			t.Errorf("%d seconds are %v, want %v", n, got, want)
		}
	}
}
