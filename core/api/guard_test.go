package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

func anyExec() *fakeOwner {
	return &fakeOwner{
		exec: func(_ context.Context, _ sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
			return exited(out, "ok")
		},
		list: func(context.Context, sandbox.Filter) (sandbox.Page, error) { return sandbox.Page{}, nil },
	}
}

func TestBearer(t *testing.T) {
	with := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	exec := call{method: "POST", path: execPath, body: execBody(""), noToken: true}
	list := call{method: "GET", path: "/v1/sandboxes", noToken: true}
	health := call{method: "GET", path: "/healthz", noToken: true}
	for _, test := range []struct {
		name   string
		call   call
		header http.Header
		tcp    bool
		status int
	}{
		{"exec over unix", exec, nil, false, 401},
		{"exec over unix with it", exec, with("Bearer " + token), false, 200},
		{"exec over tcp", exec, nil, true, 401},
		{"exec over tcp with it", exec, with("Bearer " + token), true, 200},
		{"the scheme in any case", exec, with("bearer " + token), false, 200},
		{"another scheme", exec, with("Basic " + token), false, 401},
		{"no scheme", exec, with(token), false, 401},
		{"empty", exec, with("Bearer "), false, 401},
		{"the beginning of it", exec, with("Bearer " + token[:len(token)-1]), false, 401},
		{"more than it", exec, with("Bearer " + token + "0"), false, 401},
		{"another of the same length", exec, with("Bearer " + strings.Repeat("x", len(token))), false, 401},
		{"twice", exec, with("Bearer "+token, "Bearer "+token), false, 401},
		{"list over unix", list, nil, false, 200},
		{"list over tcp", list, nil, true, 401},
		{"list over tcp with it", list, with("Bearer " + token), true, 200},
		{"healthz over tcp", health, nil, true, 200},
		{"readyz over tcp", call{method: "GET", path: "/readyz", noToken: true}, nil, true, 401},
		{"metrics over tcp", call{method: "GET", path: "/metrics", noToken: true}, nil, true, 401},
		{"the description over tcp", call{method: "GET", path: "/v1/openapi.yaml", noToken: true}, nil, true, 401},
		{"no route over tcp", call{method: "GET", path: "/v2", noToken: true}, nil, true, 401},
		{"no method over tcp", call{method: "PUT", path: "/v1/sandboxes", noToken: true}, nil, true, 401},
		{"no route over unix", call{method: "GET", path: "/v2", noToken: true}, nil, false, 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, anyExec(), nil)
			test.call.header, test.call.tcp = test.header, test.tcp
			a := s.do(test.call)
			if a.StatusCode != test.status {
				t.Fatalf("status %d, want %d: %s", a.StatusCode, test.status, a.body)
			}
			if test.status != http.StatusUnauthorized {
				return
			}
			if p := a.problem(t); p.Code != "unauthenticated" || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("code %s, WWW-Authenticate %q", p.Code, a.Header.Get("WWW-Authenticate"))
			}
		})
	}
}

func TestWithoutTokenExecIsDisabled(t *testing.T) {
	s := serve(t, anyExec(), func(c *Config) { c.Token = "" })
	for _, tcp := range []bool{false, true} {
		for _, authorization := range []string{"", "Bearer ", "Bearer " + token} {
			c := call{method: "POST", path: execPath, body: execBody(""), noToken: true, tcp: tcp, header: http.Header{"Authorization": {authorization}}}
			if p := s.wantProblem(c, 403, "exec_disabled"); p.Hint == "" {
				t.Error("no hint")
			}
		}
	}
	s.wantProblem(call{method: "GET", path: "/v1/sandboxes", noToken: true, tcp: true}, 401, "unauthenticated")
	if a := s.do(call{method: "GET", path: "/v1/sandboxes", noToken: true}); a.StatusCode != 200 {
		t.Errorf("list over unix: status %d", a.StatusCode)
	}
}

func TestOriginIsRefused(t *testing.T) {
	s := serve(t, anyExec(), nil)
	for _, origin := range []string{"http://evil.example", "null", "http://localhost", ""} {
		for _, tcp := range []bool{false, true} {
			header := http.Header{"Origin": {origin}}
			s.wantProblem(call{method: "GET", path: "/healthz", tcp: tcp, header: header}, 403, "forbidden_origin")
			s.wantProblem(call{method: "POST", path: execPath, body: execBody(""), tcp: tcp, header: header}, 403, "forbidden_origin")
		}
	}
}

func TestHosts(t *testing.T) {
	s := serve(t, anyExec(), func(c *Config) { c.IsOurHost = func(name string) bool { return name == "boxes.example" } })
	_, port, _ := strings.Cut(s.tcp, ":")
	for _, test := range []struct {
		host string
		tcp  bool
		ours bool
	}{
		{"localhost", false, true},
		{"sandboxer", false, true},
		{"localhost:80", false, true},
		{"evil.example", false, false},
		{"boxes.example", false, false},
		{"127.0.0.1", false, false},
		{"127.0.0.1:" + port, true, true},
		{"127.1.2.3:" + port, true, true},
		{"[::1]:" + port, true, true},
		{"localhost:" + port, true, true},
		{"LOCALHOST:" + port, true, true},
		{"boxes.example:" + port, true, true},
		{"boxes.example", true, false},
		{"localhost", true, false},
		{"localhost:1", true, false},
		{"sandboxer:" + port, true, false},
		{"evil.example:" + port, true, false},
		{"localhost.evil.example:" + port, true, false},
		{"10.0.0.1:" + port, true, false},
		{"0.0.0.0:" + port, true, false},
		{":" + port, true, false},
	} {
		t.Run(test.host, func(t *testing.T) {
			c := call{method: "GET", path: "/healthz", host: test.host, tcp: test.tcp}
			if !test.ours {
				s.wantProblem(c, 421, "misdirected_request")
				return
			}
			if a := s.do(c); a.StatusCode != 200 {
				t.Errorf("status %d: %s", a.StatusCode, a.body)
			}
		})
	}
}

func TestSecurityHeadersAndRequestIDs(t *testing.T) {
	s := serve(t, anyExec(), nil)
	for _, c := range []call{
		{method: "GET", path: "/healthz"}, {method: "GET", path: "/none"}, {method: "PUT", path: "/healthz"},
		{method: "GET", path: "/v1/openapi.yaml"}, {method: "GET", path: "/metrics"},
	} {
		a := s.do(c)
		if a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: header %v", c.method, c.path, a.Header)
		}
	}
	for given, kept := range map[string]bool{
		"trace-1.A_b": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "": false, "a b": false, "a\tb": false, "é": false, "a/b": false,
	} {
		a := s.do(call{method: "GET", path: "/healthz", header: http.Header{"X-Request-Id": {given}}})
		if got := a.Header.Get("X-Request-Id"); (got == given) != kept || got == "" {
			t.Errorf("X-Request-Id %q became %q", given, got)
		}
	}
}

// TestNothingSecretIsLogged sends secrets in every place where a client may put
// one by mistake.
func TestNothingSecretIsLogged(t *testing.T) {
	const secret = "s3cr3t-s3cr3t"
	s := serve(t, anyExec(), nil)
	for _, c := range []call{
		{method: "POST", path: execPath, body: `{"command":["echo","` + secret + `"],"stdin_text":"` + secret + `","consumer":` + consumerJSON + `}`},
		{method: "POST", path: execPath, body: execBody(`,"stdin_text":"` + secret)},
		{method: "GET", path: "/" + secret},
		{method: "GET", path: "/v1/sandboxes?" + secret + "=" + secret},
		{method: "GET", path: "/v1/sandboxes?state=" + secret},
		{method: "GET", path: "/healthz", header: http.Header{"Cookie": {secret}, "Origin": {secret}}},
		{method: "GET", path: "/healthz", host: secret},
		{method: "POST", path: execPath, noToken: true, header: http.Header{"Authorization": {"Bearer " + secret}}},
	} {
		a := s.do(c)
		if strings.Contains(string(a.body), secret) {
			t.Errorf("%s %s: the reply repeats the secret: %s", c.method, c.path, a.body)
		}
	}
	s.stop()
	log := s.log.String()
	if strings.Contains(log, secret) || strings.Contains(log, token) {
		t.Errorf("the log holds a secret:\n%s", log)
	}
	if n := strings.Count(log, `"@message":"request"`); n != 8 {
		t.Errorf("%d requests in the log, want 8:\n%s", n, log)
	}
}
