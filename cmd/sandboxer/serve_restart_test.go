package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// TestRestart has ten sandboxes outlive a service that is ended, and one that is
// killed; exec works on all of them afterwards.
func TestRestart(t *testing.T) {
	for name, end := range map[string]func(*running){"clean": (*running).stop, "killed": (*running).kill} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			s := startServe(t, h)
			source := tree(t, 5, 100)
			var ids []string
			for i := range 10 {
				id := s.create(source, "")
				s.exec(id, command("sh", "-c", fmt.Sprintf("echo %d > note", i)))
				ids = append(ids, id)
			}
			end(s)
			s = startServe(t, h)
			for i, id := range ids {
				if res := s.exec(id, command("cat", "note")); res.Stdout != fmt.Sprintf("%d\n", i) {
					t.Errorf("sandbox %d after the restart: %s", i, mustJSON(res))
				}
			}
		})
	}
}

// TestKillDuringCreateAndExec kills the service in the middle of both. The next
// one takes the first and clears the second away.
func TestKillDuringCreateAndExec(t *testing.T) {
	h := newHost(t)
	s := startServe(t, h)
	id := s.create(tree(t, 1, 1), "")
	done := s.begin(t.Context(), id, holdingScript)
	created := make(chan error, 1)
	go func() {
		_, err := s.do("POST", "/v1/sandboxes", createBody(tree(t, 4000, 10), ""), "Idempotency-Key", "cut-short")
		created <- err
	}()
	eventually(t, "the create to begin", func() bool {
		list := decodeAs[apitype.SandboxList](t, s.must("GET", "/v1/sandboxes?state=provisioning", ""))
		return len(list.Sandboxes) == 1
	})
	s.kill()
	<-done
	if err := <-created; err == nil {
		t.Fatal("the create was answered before the kill: the source is too small")
	}
	s = startServe(t, h, "--reap-interval", "100ms")
	eventually(t, "the reaper to clear the create away", func() bool {
		list := decodeAs[apitype.SandboxList](t, s.must("GET", "/v1/sandboxes?state=provisioning,destroying,failed", ""))
		return len(list.Sandboxes) == 0
	})
	eventually(t, "exec to work", func() bool {
		return s.must("POST", "/v1/sandboxes/"+id+"/exec", command("true")).status == 200
	})
	s.onlyBroker(id)
}

func TestReaperDestroysTheExpired(t *testing.T) {
	h := newHost(t)
	s := startServe(t, h, "--reap-interval", "50ms", "--log-format", "json")
	id := s.create(tree(t, 1, 1), `,"ttl_seconds":1`)
	eventually(t, "the reaper", func() bool {
		return decodeAs[apitype.Sandbox](t, s.must("GET", "/v1/sandboxes/"+id, "")).State == "destroyed"
	})
	if left, _ := filepath.Glob(filepath.Join(h.state, "ext/bwrap/sandboxes/*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	eventually(t, "the reap to be counted", func() bool {
		return strings.Contains(string(s.must("GET", "/metrics", "").body), `sandboxer_reaped_total{result="destroyed"} 1`+"\n")
	})
	s.stop()
	reaped := false
	for line := range strings.Lines(s.log.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("a line of the log is not JSON: %s", line)
		}
		reaped = reaped || entry["@message"] == "destroyed a sandbox" && entry["sandbox_id"] == id
	}
	if !reaped {
		t.Error("the reap is not logged")
	}
}
