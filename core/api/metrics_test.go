package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

func TestMetrics(t *testing.T) {
	busy := false
	owner := anyExec()
	owner.exec = func(_ context.Context, _ sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
		if busy {
			return sandbox.ExecResult{}, sdk.Errorf(sdk.CodeExecInProgress, "busy")
		}
		res, err := exited(out, "")
		res.Duration = 7 * time.Millisecond
		return res, err
	}
	owner.create = func(_ context.Context, r sandbox.CreateRequest) (sandbox.Sandbox, error) {
		if r.Profile == "p" {
			return aSandbox(), nil
		}
		return sandbox.Sandbox{}, sdk.Errorf(sdk.CodeBackendFailed, "no")
	}
	owner.list = func(context.Context, sandbox.Filter) (sandbox.Page, error) {
		expired := aSandbox()
		expired.State = "expired"
		return sandbox.Page{Records: []sandbox.Sandbox{aSandbox(), aSandbox(), expired}}, nil
	}
	s := serve(t, owner, nil)
	exec := call{method: "POST", path: execPath, body: execBody("")}
	create := func(profile string) {
		s.do(call{method: "POST", path: "/v1/sandboxes", body: `{"profile":"` + profile + `","consumer":` + consumerJSON + `}`})
	}
	s.do(exec)
	busy = true
	s.do(exec)
	exec.noToken = true
	s.do(exec)
	create("p")
	create("profile.p")
	create("made-up")
	s.metrics.ExtensionRestarted("e")
	s.metrics.Reaped([]sandbox.Reaped{{}, {}, {Err: errSecret}}, errSecret)
	text := string(s.do(call{method: "GET", path: "/metrics"}).body)
	for _, line := range []string{
		`sandboxer_exec_duration_seconds_count{outcome="exited",profile="p"} 1`,
		`sandboxer_exec_duration_seconds_bucket{outcome="exited",profile="p",le="0.005"} 0`,
		`sandboxer_exec_duration_seconds_bucket{outcome="exited",profile="p",le="0.01"} 1`,
		`sandboxer_create_duration_seconds_count{outcome="ready",profile="p"} 1`,
		`sandboxer_create_duration_seconds_count{outcome="backend_failed",profile="p"} 1`,
		`sandboxer_create_duration_seconds_count{outcome="backend_failed",profile=""} 1`,
		`sandboxer_refusals_total{code="exec_in_progress"} 1`,
		`sandboxer_refusals_total{code="unauthenticated"} 1`,
		`sandboxer_extension_restarts_total{extension="e"} 1`,
		`sandboxer_reaped_total{result="destroyed"} 2`,
		`sandboxer_reaped_total{result="failed"} 2`,
		`sandboxer_sandboxes{state="ready"} 2`,
		`sandboxer_sandboxes{state="expired"} 1`,
		`sandboxer_sandboxes{state="failed"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds"} {
		if !strings.Contains(text, "\n"+name+" ") {
			t.Errorf("missing: %s", name)
		}
	}
	if strings.Contains(text, "made-up") {
		t.Error("a client makes up a label")
	}
	owner.list = func(context.Context, sandbox.Filter) (sandbox.Page, error) { return sandbox.Page{}, errSecret }
	if a := s.do(call{method: "GET", path: "/metrics"}); a.StatusCode != 200 || !strings.Contains(string(a.body), "go_goroutines") {
		t.Errorf("without the state: status %d", a.StatusCode)
	}
}
