package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/apitype"
)

func TestExecResults(t *testing.T) {
	s := startServe(t, newHost(t))
	id := s.create(tree(t, 1, 1), "")
	million := strings.Repeat("a", 1_000_000)
	for _, test := range []struct {
		name, body string
		check      func(r apitype.ExecResult) bool
	}{
		{"exit code and both streams", command("sh", "-c", "echo out; echo err >&2; exit 3"), func(r apitype.ExecResult) bool {
			return r.Outcome == "exited" && *r.ExitCode == 3 && r.Stdout == "out\n" && r.Stderr == "err\n" && r.CommandName == "sh" && r.Signal == nil
		}},
		{"a signal", command("sh", "-c", "kill -9 $$"), func(r apitype.ExecResult) bool {
			return r.Outcome == "signaled" && *r.Signal == "SIGKILL" && r.ExitCode == nil
		}},
		{"not found", command("no-such-program"), func(r apitype.ExecResult) bool {
			return r.Outcome == "start_failed" && r.Failure.Code == "command_not_found"
		}},
		{"a timeout, with what was written before", commandWith(`,"timeout_seconds":1`, "sh", "-c", "echo before; sleep 60"), func(r apitype.ExecResult) bool {
			return r.Outcome == "timed_out" && r.TimedOut && r.Stdout == "before\n" && r.ExitCode == nil
		}},
		{"1,000,000 bytes of stdin", commandWith(`,"stdin_text":"`+million+`","max_output_bytes":1000000`, "cat"), func(r apitype.ExecResult) bool {
			return r.Stdout == million && !r.StdoutTruncated
		}},
		{"no stdin", command("cat"), func(r apitype.ExecResult) bool { return *r.ExitCode == 0 && r.StdoutBytes == 0 }},
		{"bytes that are no text", command("printf", `\377`), func(r apitype.ExecResult) bool { return r.Encoding == "base64" && r.Stdout == "/w==" }},
		{"more output than is kept", commandWith(`,"max_output_bytes":10`, "sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' a"), func(r apitype.ExecResult) bool {
			return r.Stdout == "aaaaaaaaaa" && r.StdoutTruncated && r.StdoutBytes == 1_000_000
		}},
		{"references", commandWith(`,"credential_route_refs":["a-1","b"]`, "sh", "-c", "echo $SANDBOXER_CREDENTIAL_ROUTE_REFS"), func(r apitype.ExecResult) bool {
			return r.Stdout == `["a-1","b"]`+"\n"
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if r := s.exec(id, test.body); !test.check(r) {
				t.Errorf("%.1000s", mustJSON(r))
			}
		})
	}
}

// onlyBroker fails when a process runs in the sandbox beside its pid 1.
func (s *running) onlyBroker(id string) {
	s.t.Helper()
	if res := s.exec(id, command("sh", "-c", "echo /proc/[0-9]*")); len(strings.Fields(res.Stdout)) != 2 {
		s.t.Errorf("processes are left inside: %s", res.Stdout)
	}
}

func TestClientThatDisconnectsEndsItsCommand(t *testing.T) {
	h := newHost(t)
	s := startServe(t, h)
	id := s.create(tree(t, 1, 1), "")
	ctx, leave := context.WithCancel(t.Context())
	done := s.begin(ctx, id, holdingScript)
	leave()
	<-done
	eventually(t, "the audit of the canceled command", func() bool {
		return cmp.Equal(h.audited(t, "exec", id), []string{"canceled"})
	})
	eventually(t, "the end of the exec", func() bool {
		return s.must("POST", "/v1/sandboxes/"+id+"/exec", command("true")).status == http.StatusOK
	})
	s.onlyBroker(id)
}

// TestRacingExecs has two clients of the service, then a client and another
// process, ask at once: one command runs, the other is refused.
func TestRacingExecs(t *testing.T) {
	s := startServe(t, newHost(t))
	id := s.create(tree(t, 1, 1), "")
	path := "/v1/sandboxes/" + id + "/exec"
	for range 3 {
		var wg sync.WaitGroup
		replies := make([]reply, 2)
		for i := range replies {
			wg.Go(func() { replies[i] = s.must("POST", path, command("sleep", "1")) })
		}
		wg.Wait()
		if replies[0].status > replies[1].status {
			replies[0], replies[1] = replies[1], replies[0]
		}
		if replies[0].status != http.StatusOK {
			t.Errorf("neither ran: %s", replies[0].body)
		}
		wantRefusal(t, replies[1], 409, "exec_in_progress", "")
	}

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := s.begin(ctx, id, holdingScript)
	if _, stderr := s.h.run(125, "exec", id, "--", "true"); !strings.Contains(stderr, "(exec_in_progress)") {
		t.Errorf("the local process during an exec over HTTP: %s", stderr)
	}
	leave()
	<-done
	eventually(t, "the end of the exec", func() bool {
		return s.must("POST", path, command("true")).status == http.StatusOK
	})
	local, _ := startExec(t, s.h, append([]string{"exec", id}, holding...)...)
	wantRefusal(t, s.must("POST", path, command("true")), 409, "exec_in_progress", "")
	local.Process.Signal(syscall.SIGINT)
	local.Wait()
	s.onlyBroker(id)
}

// TestStopWaitsForRunningCommands ends the service during a command that ends in
// time.
func TestStopWaitsForRunningCommands(t *testing.T) {
	s := startServe(t, newHost(t), "--drain-timeout", "20s")
	id := s.create(tree(t, 1, 1), "")
	done := s.begin(t.Context(), id, "touch started; sleep 1; echo done")
	s.stop()
	if r := <-done; !strings.Contains(string(r.body), `"stdout":"done\n"`) {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}

// TestStopEndsCommandsAfterTheDrainTimeout ends the service during one that does
// not.
func TestStopEndsCommandsAfterTheDrainTimeout(t *testing.T) {
	h := newHost(t)
	s := startServe(t, h, "--drain-timeout", "100ms")
	id := s.create(tree(t, 1, 1), "")
	done := s.begin(t.Context(), id, holdingScript)
	begin := time.Now()
	s.stop()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if r := decodeAs[apitype.ExecResult](t, <-done); r.Outcome != "canceled" {
		t.Errorf("result %s", mustJSON(r))
	}
	if got := h.audited(t, "exec", id); !cmp.Equal(got, []string{"canceled"}) {
		t.Errorf("audited: %v", got)
	}
	// The sandbox has outlived the service, and nothing else in it.
	if out, _ := h.run(0, "exec", id, "--", "sh", "-c", "echo /proc/[0-9]*"); len(strings.Fields(out)) != 2 {
		t.Errorf("processes are left inside: %s", out)
	}
}

// TestSecondSignalEndsTheServiceAtOnce does not wait for a command.
func TestSecondSignalEndsTheServiceAtOnce(t *testing.T) {
	s := startServe(t, newHost(t), "--drain-timeout", "1h")
	id := s.create(tree(t, 1, 1), "")
	done := s.begin(t.Context(), id, holdingScript)
	s.ended = true
	s.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the first signal to be seen", func() bool { return strings.Contains(s.log.String(), "stopping") })
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err == nil {
		t.Error("the service ended well, want by the signal")
	}
	<-done
	s.raw.CloseIdleConnections()
}

// TestIdempotentCreate asks for the same sandbox many times at once, then for
// another with the same key.
func TestIdempotentCreate(t *testing.T) {
	s := startServe(t, newHost(t))
	source := tree(t, 50, 100)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			if r, err := s.do("POST", "/v1/sandboxes", createBody(source, ""), "Idempotency-Key", "key-1"); err != nil || r.status != http.StatusCreated {
				t.Errorf("status %d, %v: %s", r.status, err, r.body)
			} else {
				ids[i] = decodeAs[apitype.Sandbox](t, r).SandboxID
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("one key made several sandboxes: %v", ids)
		}
	}
	wantRefusal(t, s.must("POST", "/v1/sandboxes", createBody(source, `,"ttl_seconds":60`), "Idempotency-Key", "key-1"), 409, "idempotency_conflict", "")
	list := decodeAs[apitype.SandboxList](t, s.must("GET", "/v1/sandboxes?state=ready", ""))
	if len(list.Sandboxes) != 1 {
		t.Errorf("%d sandboxes, want 1", len(list.Sandboxes))
	}
	s.must("DELETE", "/v1/sandboxes/"+ids[0], "")
}

// TestPages goes through a list page by page.
func TestPages(t *testing.T) {
	s := startServe(t, newHost(t))
	source := tree(t, 1, 1)
	var want, got []string
	for range 3 {
		want = append(want, s.create(source, ""))
	}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		list := decodeAs[apitype.SandboxList](t, s.must("GET", fmt.Sprintf("/v1/sandboxes?limit=2&project=demo&cursor=%s", cursor), ""))
		for _, x := range list.Sandboxes {
			got = append(got, x.SandboxID)
		}
		cursor = list.Next
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	if list := decodeAs[apitype.SandboxList](t, s.must("GET", "/v1/sandboxes?project=other", "")); len(list.Sandboxes) != 0 {
		t.Errorf("another project has %d sandboxes", len(list.Sandboxes))
	}
	wantRefusal(t, s.must("GET", "/v1/sandboxes?cursor=x", ""), 400, "invalid_request", "")
}
