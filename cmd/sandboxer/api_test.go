package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tegwick/sand-boxer/core/api"
	"github.com/tegwick/sand-boxer/core/api/apitest"
	"github.com/tegwick/sand-boxer/core/apitype"
)

// wantRefusal checks a refusal, and that it names the field at fault.
func wantRefusal(t *testing.T, r reply, status int, code, pointer string) {
	t.Helper()
	p := r.problem(t)
	if r.status != status || p.Code != code || p.Pointer != pointer {
		t.Errorf("status %d: %.500s; want %d with code %s at %q", r.status, r.body, status, code, pointer)
	}
}

// TestExecRefusals goes through what an exec is refused with, each with a real
// sandbox in the state that is refused.
func TestExecRefusals(t *testing.T) {
	h := newHost(t)
	s := startServe(t, h)
	source := tree(t, 1, 1)
	id := s.create(source, "")
	destroyed := s.create(source, "")
	s.must("DELETE", "/v1/sandboxes/"+destroyed, "")
	expired := s.create(source, `,"ttl_seconds":1`)
	eventually(t, "the expiry", func() bool {
		return decodeAs[apitype.Sandbox](t, s.must("GET", "/v1/sandboxes/"+expired, "")).State != "ready"
	})
	stranger := strings.Replace(command("true"), `"r-1"`, `"r-2"`, 1)
	for _, test := range []struct {
		name, id, body string
		status         int
		code, pointer  string
	}{
		{"another run", id, stranger, 403, "identity_mismatch", ""},
		{"another run of a destroyed sandbox", destroyed, stranger, 403, "identity_mismatch", ""},
		{"no such sandbox", "sbx-01arz3ndektsv4rrffq69g5fav", command("true"), 404, "sandbox_not_found", ""},
		{"no id", "x", command("true"), 400, "invalid_request", "/sandbox_id"},
		{"a destroyed sandbox", destroyed, command("true"), 409, "sandbox_not_ready", ""},
		{"an expired sandbox", expired, command("true"), 410, "sandbox_expired", ""},
		{"a command line", id, `{"command":"ls","consumer":` + consumerJSON + `}`, 400, "invalid_request", "/command"},
		{"no command", id, command(), 400, "invalid_request", "/command"},
		{"an empty program", id, command(""), 400, "invalid_request", "/command"},
		{"no consumer", id, `{"command":["true"]}`, 400, "invalid_request", "/consumer/actor"},
		{"no run", id, `{"command":["true"],"consumer":{"actor":"a","project":"b","session_id":"c"}}`, 400, "invalid_request", "/consumer/run_id"},
		{"a NUL", id, command("echo", "a\x00b"), 400, "invalid_request", "/command/1"},
		{"4097 arguments", id, command(make([]string, 4097)...), 400, "invalid_request", "/command"},
		{"more than 1 MiB of arguments", id, command("echo", strings.Repeat("a", 1<<20)), 400, "invalid_request", "/command"},
		{"10 MiB of arguments", id, command("echo", strings.Repeat("a", 10<<20)), 400, "invalid_request", "/command"},
		{"1,000,001 bytes of stdin", id, commandWith(`,"stdin_text":"`+strings.Repeat("a", 1_000_001)+`"`, "cat"), 413, "stdin_too_large", "/stdin_text"},
		{"10 MiB of stdin", id, commandWith(`,"stdin_text":"`+strings.Repeat("a", 10<<20)+`"`, "cat"), 413, "stdin_too_large", "/stdin_text"},
		{"20 MiB of stdin", id, commandWith(`,"stdin_text":"`+strings.Repeat("a", 20<<20)+`"`, "cat"), 413, "request_too_large", ""},
		{"no time", id, commandWith(`,"timeout_seconds":0`, "true"), 400, "invalid_request", "/timeout_seconds"},
		{"more time than the profile's", id, commandWith(`,"timeout_seconds":14401`, "true"), 400, "invalid_request", "/timeout_seconds"},
		{"time that would wrap around", id, commandWith(`,"timeout_seconds":18446744075`, "true"), 400, "invalid_request", "/timeout_seconds"},
		{"no output", id, commandWith(`,"max_output_bytes":0`, "true"), 400, "invalid_request", "/max_output_bytes"},
		{"more than 16 MiB of output", id, commandWith(`,"max_output_bytes":16777217`, "true"), 400, "invalid_request", "/max_output_bytes"},
		{"a reference that is a value", id, commandWith(`,"credential_route_refs":["a","TOKEN=x"]`, "true"), 400, "invalid_request", "/credential_route_refs/1"},
		{"a reference in upper case", id, commandWith(`,"credential_route_refs":["ghp_Abc"]`, "true"), 400, "invalid_request", "/credential_route_refs/0"},
		{"33 references", id, commandWith(`,"credential_route_refs":["a"`+strings.Repeat(`,"a"`, 32)+`]`, "true"), 400, "invalid_request", "/credential_route_refs"},
		{"an environment", id, commandWith(`,"env":{}`, "true"), 400, "invalid_request", "/env"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantRefusal(t, s.must("POST", "/v1/sandboxes/"+test.id+"/exec", test.body), test.status, test.code, test.pointer)
		})
	}
	if res := s.exec(id, command("true")); res.Outcome != "exited" {
		t.Errorf("after all that: %+v", res)
	}
	wantRefusal(t, s.must("POST", "/v1/sandboxes/"+id+"/exec", command("true"), "Authorization", "Bearer "+strings.Repeat("x", 32)), 401, "unauthenticated", "")
	for _, outcome := range h.audited(t, "exec", id) {
		if outcome != "refused" && outcome != "exited" {
			t.Errorf("audited: %s", outcome)
		}
	}
}

// TestExtensionThatDies kills the process of the extension during an exec: that
// is no result of the command, and the next exec works.
func TestExtensionThatDies(t *testing.T) {
	s := startServe(t, newHost(t))
	id := s.create(tree(t, 1, 1), "")
	done := s.begin(t.Context(), id, holdingScript)
	children := childrenOf(t, s.cmd.Process.Pid)
	if len(children) != 1 {
		t.Fatalf("the service has the children %v", children)
	}
	syscall.Kill(children[0], syscall.SIGKILL)
	wantRefusal(t, <-done, 502, "backend_failed", "")
	if res := s.exec(id, command("sh", "-c", "echo /proc/[0-9]*")); len(strings.Fields(res.Stdout)) != 2 {
		t.Errorf("after the death of the extension: %+v", res)
	}
	if m := s.must("GET", "/metrics", ""); !strings.Contains(string(m.body), `sandboxer_extension_restarts_total{extension="bwrap"} 1`) {
		t.Error("the restart is not counted")
	}
}

func TestCreateRefusals(t *testing.T) {
	s := startServe(t, newHost(t), "--source-root", "/etc")
	source := tree(t, 1, 1)
	file := filepath.Join(source, "d0/f0")
	for _, test := range []struct {
		name, body    string
		status        int
		code, pointer string
	}{
		{"no profile", `{"consumer":` + consumerJSON + `}`, 400, "invalid_request", "/profile"},
		{"a bad name", `{"profile":"../x","consumer":` + consumerJSON + `}`, 400, "invalid_request", "/profile"},
		{"no such profile", `{"profile":"x","consumer":` + consumerJSON + `}`, 404, "profile_not_found", "/profile"},
		{"no consumer", `{"profile":"bwrap-local"}`, 400, "invalid_request", "/consumer/actor"},
		{"a consumer with a space", strings.Replace(createBody(source, ""), "agt", "a b", 1), 400, "invalid_request", "/consumer/actor"},
		{"a file as source", createBody(file, ""), 422, "source_invalid", ""},
		{"a missing source", createBody(source+"/none", ""), 422, "source_invalid", ""},
		{"a relative source", createBody("repo", ""), 422, "source_invalid", ""},
		{"the root", createBody("/", ""), 403, "source_forbidden", ""},
		{"the home directory", createBody("/root", ""), 403, "source_forbidden", ""},
		{"no TTL", createBody(source, `,"ttl_seconds":0`), 400, "invalid_request", "/ttl_seconds"},
		{"too long a TTL", createBody(source, `,"ttl_seconds":86401`), 400, "invalid_request", "/ttl_seconds"},
		{"a TTL that would wrap around", createBody(source, `,"ttl_seconds":18446744075`), 400, "invalid_request", "/ttl_seconds"},
		{"10 MiB", createBody(source, strings.Repeat(" ", 10<<20)), 413, "request_too_large", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantRefusal(t, s.must("POST", "/v1/sandboxes", test.body), test.status, test.code, test.pointer)
		})
	}
	r := s.must("POST", "/v1/sandboxes", `{"profile":"bwrap-local","inputs":{},"consumer":`+consumerJSON+`}`)
	if r.status < 400 || r.status > 499 {
		t.Errorf("a missing input: status %d: %s", r.status, r.body)
	}
}

// TestExamplesOfTheDescription sends each example of openapi.yaml to a real
// service.
func TestExamplesOfTheDescription(t *testing.T) {
	s := startServe(t, newHost(t))
	source := tree(t, 1, 1)
	made := s.must("POST", "/v1/sandboxes", strings.Replace(strings.Replace(createBody(source, ""), `"demo"`, `"glas-harness"`, 1), `"s-1","run_id":"r-1"`, `"session-123","run_id":"run-456"`, 1))
	id := decodeAs[apitype.Sandbox](t, made).SandboxID
	real := strings.NewReplacer("/srv/repos/app", source, "sbx-01arz3ndektsv4rrffq69g5fav", id)
	send := func(method, path string, body []byte) {
		t.Helper()
		r := s.must(method, real.Replace(path), real.Replace(string(body)))
		if r.status >= http.StatusMultipleChoices {
			t.Errorf("%s %s %s: status %d: %s", method, path, body, r.status, r.body)
		}
		if r.status == http.StatusCreated {
			s.must("DELETE", "/v1/sandboxes/"+decodeAs[apitype.Sandbox](t, r).SandboxID, "")
		}
	}
	sent := 0
	// The sandbox of the examples goes last.
	var last func()
	for path, item := range apitest.Load(t, api.Spec).Paths.Map() {
		path = strings.Replace(path, "{sandbox_id}", "sbx-01arz3ndektsv4rrffq69g5fav", 1)
		for method, op := range item.Operations() {
			switch {
			case method == http.MethodDelete:
				last = func() { send(method, path, nil) }
			case op.RequestBody == nil:
				send(method, path, nil)
				send(method, path+exampleQuery(op.Parameters), nil)
			default:
				for _, example := range op.RequestBody.Value.Content.Get("application/json").Examples {
					send(method, path, mustJSON(example.Value.Value))
					sent++
				}
			}
		}
	}
	last()
	if sent != 6 {
		t.Errorf("%d examples of bodies were sent, want 6", sent)
	}
}

// exampleQuery is a query with the example of every parameter.
func exampleQuery(params openapi3.Parameters) string {
	query := url.Values{}
	for _, p := range params {
		if p.Value.In != "query" {
			continue
		}
		if many, ok := p.Value.Example.([]any); ok {
			for _, v := range many {
				query.Add(p.Value.Name, v.(string))
			}
			continue
		}
		query.Set(p.Value.Name, strings.Trim(string(mustJSON(p.Value.Example)), `"`))
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

func TestSecretsDoNotReachTheSandbox(t *testing.T) {
	s := startServe(t, newHost(t))
	id := s.create(tree(t, 1, 1), "")
	res := s.exec(id, command("sh", "-c", "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'"))
	if strings.Contains(res.Stdout, testToken) || strings.Contains(res.Stdout, "SANDBOXER_EXEC_TOKEN") {
		t.Errorf("the token can be read inside:\n%s", res.Stdout)
	}
	if strings.Contains(s.log.String(), testToken) {
		t.Errorf("the token is in the log:\n%s", s.log)
	}
	for _, pid := range childrenOf(t, s.cmd.Process.Pid) {
		if env, err := os.ReadFile(procPath(pid, "environ")); err != nil || strings.Contains(string(env), testToken) {
			t.Errorf("the extension has the token in its environment (%v)", err)
		}
	}
}
