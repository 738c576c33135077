package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tegwick/sand-boxer/core/apitype"
)

var (
	fence = regexp.MustCompile("(?s)```(bash|json)\n(.*?)```")
	idOf  = regexp.MustCompile(`sbx-[0-9a-z]{26}`)
)

// runbook returns the blocks of code of the runbook, in its order.
func runbook(t *testing.T) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/runbook-bwrap-local.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllSubmatch(text, -1) {
		blocks = append(blocks, string(m[2]))
	}
	if len(blocks) != 5 {
		t.Fatalf("the runbook has %d blocks of code, want 5", len(blocks))
	}
	return blocks
}

// shell runs a block of the runbook as its reader does.
func (h *host) shell(t *testing.T, block string) string {
	t.Helper()
	cmd := exec.Command("sh", "-eu", "-c", block)
	cmd.Env = h.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", block, err, out)
	}
	return string(out)
}

// TestRunbook follows the runbook of bwrap-local line by line: as the local owner,
// and over a resident service in between.
func TestRunbook(t *testing.T) {
	blocks := runbook(t)
	h := newHost(t)
	source := gitRepository(t)

	created := h.shell(t, strings.ReplaceAll(blocks[0], "/path/to/repository", source))
	id := idOf.FindString(created)
	if id == "" {
		t.Fatalf("create printed no id:\n%s", created)
	}
	if out := h.shell(t, strings.ReplaceAll(blocks[1], "SANDBOX_ID", id)); out != "/workspace\n" {
		t.Errorf("exec printed %q", out)
	}
	reference := strings.Replace(strings.ReplaceAll(blocks[1], "SANDBOX_ID", id), "\n-- python3", "\n--credential-route-ref rein-openweights-openrouter-approle \\\n-- printenv SANDBOXER_CREDENTIAL_ROUTE_REFS\n: python3", 1)
	if out := h.shell(t, reference); out != `["rein-openweights-openrouter-approle"]`+"\n" {
		t.Errorf("inside the references are %q", out)
	}

	// The route is disabled until the service gets a token.
	disabled := startServeWith(t, h, nil)
	wantRefusal(t, disabled.must("POST", "/v1/sandboxes/"+id+"/exec", blocks[2]), 403, "exec_disabled", "")
	disabled.stop()
	s := startServe(t, h)
	wantRefusal(t, s.must("POST", "/v1/sandboxes/"+id+"/exec", blocks[2], "Authorization", ""), 401, "unauthenticated", "")
	wantRefusal(t, s.must("POST", "/v1/sandboxes/"+id+"/exec", strings.Replace(blocks[2], "run-456", "run-457", 1)), 403, "identity_mismatch", "")
	res := s.exec(id, blocks[2])
	if res.Outcome != "exited" || *res.ExitCode != 0 || !strings.HasPrefix(res.Stdout, "Python 3") {
		t.Errorf("python3 -V over the service: %s", mustJSON(res))
	}
	want := apitype.Consumer{Actor: "agt", Project: "glas-harness", SessionID: "session-123", RunID: "run-456"}
	if res.Consumer != want || res.Profile != "profile.bwrap-local" || res.Extension != "ext.bwrap" || res.CommandName != "python3" ||
		res.Workspace != "/workspace" || res.Network.Posture != "deny" {
		t.Errorf("the result does not record what the runbook says: %s", mustJSON(res))
	}
	s.stop()

	h.shell(t, strings.ReplaceAll(blocks[3], "SANDBOX_ID", id))
	mustBeEmpty(t, h.state)
}

// TestRunbookProofs runs the scripts of the make targets that end the runbook.
func TestRunbookProofs(t *testing.T) {
	h := newHost(t)
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("sandboxer")
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	for _, dir := range []string{"bin", "scripts"} {
		if err := os.Mkdir(filepath.Join(tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program, filepath.Join(tree, "bin/sandboxer")); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(runbook(t)[4]) {
		target := strings.TrimSpace(strings.TrimPrefix(line, "make "))
		if !strings.Contains(string(makefile), "\n"+target+":") || !strings.Contains(string(makefile), "\n\tscripts/"+target+".sh\n") {
			t.Errorf("the Makefile has no target %s that runs its script", target)
		}
		script, err := os.ReadFile("../../scripts/" + target + ".sh")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(tree, "scripts", target+".sh")
		if err := os.WriteFile(path, script, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", path)
		cmd.Env = h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", target, err, out)
		}
	}
}
