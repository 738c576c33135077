package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// host is a state directory of its own and the environment of its user.
type host struct {
	t     testing.TB
	state string
	env   []string
}

func newHost(t testing.TB) *host {
	h := &host{t: t, state: newStateDir(t)}
	profiles, err := filepath.Abs("../../profiles")
	if err != nil {
		t.Fatal(err)
	}
	h.env = append(os.Environ(),
		"SANDBOXER_STATE_DIR="+h.state, "SANDBOXER_EXTENSION_PATH="+extensionDir(t), "SANDBOXER_PROFILE_PATH="+profiles,
		"SANDBOXER_ACTOR=agt", "SANDBOXER_PROJECT=demo", "SANDBOXER_SESSION_ID=s-1", "SANDBOXER_RUN_ID=r-1")
	t.Cleanup(func() { mustBeEmpty(t, h.state) })
	return h
}

// command is sandboxer with args. Its output goes to the buffers.
func (h *host) command(args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd = exec.Command("sandboxer", args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, stdout, stderr
	return cmd, stdout, stderr
}

// run runs sandboxer, which must exit with code, and returns its streams.
func (h *host) run(code int, args ...string) (stdout, stderr string) {
	h.t.Helper()
	cmd, o, e := h.command(args...)
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		h.t.Fatalf("sandboxer %s: %v, want exit code %d\n%s%s", strings.Join(args, " "), err, code, o, e)
	}
	return o.String(), e.String()
}

// create makes a sandbox of source and destroys it when the test ends.
func (h *host) create(source string) (id string) {
	h.t.Helper()
	out, _ := h.run(0, "create", "--profile", "bwrap-local", "--input", "repo="+source, "-q")
	id = strings.TrimSpace(out)
	h.t.Cleanup(func() { h.run(0, "destroy", id) })
	return id
}

// tree makes a source directory of n files.
func tree(t testing.TB, n, size int) string {
	dir := t.TempDir()
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("d%d", i/100), fmt.Sprintf("f%d", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte{'x'}, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKillAtAnyMomentOfCreate kills the program at moments spread over a whole
// create, and finds a record from which destroy cleans everything.
func TestKillAtAnyMomentOfCreate(t *testing.T) {
	h := newHost(t)
	source := tree(t, 2000, 1000)
	begin := time.Now()
	h.run(0, "run", "--profile", "bwrap-local", "--input", "repo="+source, "--", "true")
	whole := time.Since(begin)
	const moments = 30
	for i := range moments {
		cmd, _, _ := h.command("create", "--profile", "bwrap-local", "--input", "repo="+source)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Not a wait for something: the moment itself is what is tested.
		time.Sleep(whole * time.Duration(i) / moments)
		cmd.Process.Kill()
		cmd.Wait()
		out, _ := h.run(0, "list", "-q")
		for _, id := range strings.Fields(out) {
			h.run(0, "destroy", id)
		}
		// Killed before its record, a create leaves an empty lock file, which
		// the reaper sweeps once it is a minute old.
		locks, err := filepath.Glob(filepath.Join(h.state, "locks", "*.life"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range locks {
			if err := os.Remove(l); err != nil {
				t.Error(err)
			}
		}
		mustBeEmpty(t, h.state)
	}
}

// TestReapAfterKill is the same with reap, which knows no id.
func TestReapAfterKill(t *testing.T) {
	h := newHost(t)
	source := tree(t, 500, 1000)
	for i := range 5 {
		cmd, _, _ := h.command("create", "--profile", "bwrap-local", "--input", "repo="+source)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+40*i) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	h.run(0, "reap", "--dry-run")
	// What was ready when its maker died is a sandbox like any other.
	h.run(0, "reap")
	out, _ := h.run(0, "list", "-q")
	for _, id := range strings.Fields(out) {
		h.run(0, "destroy", id)
	}
}

func TestReapDestroysTheExpired(t *testing.T) {
	h := newHost(t)
	out, _ := h.run(0, "create", "--profile", "bwrap-local", "--input", "repo="+tree(t, 1, 1), "--ttl", "2s", "-q")
	id := strings.TrimSpace(out)
	for state := "ready"; state == "ready"; time.Sleep(50 * time.Millisecond) {
		var s apitype.Sandbox
		out, _ := h.run(0, "show", id, "-o", "json")
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatal(err)
		}
		state = s.State
	}
	if _, stderr := h.run(125, "exec", id, "--", "true"); !strings.Contains(stderr, "(sandbox_expired)") {
		t.Errorf("exec after the expiry: %s", stderr)
	}
	if out, _ := h.run(0, "reap", "--dry-run"); !strings.Contains(out, "would destroy "+id+": it expired at") {
		t.Errorf("reap --dry-run: %s", out)
	}
	if out, _ := h.run(0, "reap"); !strings.Contains(out, "destroyed "+id) {
		t.Errorf("reap: %s", out)
	}
	if _, stderr := h.run(125, "exec", id, "--", "true"); !strings.Contains(stderr, "(sandbox_expired)") {
		t.Errorf("exec after the reap: %s", stderr)
	}
}

// startExec starts a command that holds the sandbox until it is told to end,
// and returns when it runs.
func startExec(t testing.TB, h *host, args ...string) (cmd *exec.Cmd, rest func() string) {
	t.Helper()
	cmd = exec.Command("sandboxer", args...)
	cmd.Env = h.env
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("started\n"))); err != nil {
		t.Fatalf("the command did not start: %v", err)
	}
	return cmd, func() string {
		b, _ := io.ReadAll(out)
		return string(b)
	}
}

var holding = []string{"--", "sh", "-c", "echo started; setsid -f sleep 300; sleep 300"}

func TestOneExecAtATime(t *testing.T) {
	h := newHost(t)
	id := h.create(tree(t, 1, 1))
	first, _ := startExec(t, h, append([]string{"exec", id}, holding...)...)
	_, stderr := h.run(125, "exec", id, "--", "true")
	if !strings.Contains(stderr, "(exec_in_progress)") {
		t.Errorf("the second exec: %s", stderr)
	}
	first.Process.Signal(syscall.SIGINT)
	if first.Wait(); first.ProcessState.ExitCode() != 130 {
		t.Errorf("exit code %d after an interrupt, want 130", first.ProcessState.ExitCode())
	}
	if out, _ := h.run(0, "exec", id, "--", "sh", "-c", "echo /proc/[0-9]*"); len(strings.Fields(out)) != 2 {
		t.Errorf("processes are left inside: %s", out)
	}
}

// TestLargeOutput is far over what one message between host and extension holds.
func TestLargeOutput(t *testing.T) {
	h := newHost(t)
	id := h.create(tree(t, 1, 1))
	const most = 16 << 20
	stdout, stderr := h.run(0, "exec", id, "--max-output-bytes", fmt.Sprint(most), "--", "head", "-c", "100000000", "/dev/zero")
	if len(stdout) != most || !strings.Contains(stderr, "stdout is cut at 16777216 of 100000000 bytes") {
		t.Errorf("got %d bytes, and: %s", len(stdout), stderr)
	}
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		h := newHost(t)
		cmd, _ := startExec(t, h, append([]string{"run", "--profile", "bwrap-local", "--input", "repo=" + tree(t, 1, 1)}, holding...)...)
		cmd.Process.Signal(sig)
		if cmd.Wait(); cmd.ProcessState.ExitCode() != 128+int(sig) {
			t.Errorf("%v: exit code %d, want %d", sig, cmd.ProcessState.ExitCode(), 128+int(sig))
		}
		if out, _ := h.run(0, "list", "-q"); out != "" {
			t.Errorf("%v: %s is left", sig, out)
		}
	}
}

// TestKilledExecEndsItsCommand kills the program, and with it the extension, in
// the middle of an exec.
func TestKilledExecEndsItsCommand(t *testing.T) {
	h := newHost(t)
	id := h.create(tree(t, 1, 1))
	cmd, rest := startExec(t, h, append([]string{"exec", id}, holding...)...)
	cmd.Process.Kill()
	rest()
	cmd.Wait()
	// The broker ends the command, then takes the next one.
	if out, _ := h.run(0, "exec", id, "--", "sh", "-c", "echo /proc/[0-9]*"); len(strings.Fields(out)) != 2 {
		t.Errorf("processes are left inside: %s", out)
	}
}

func TestDestroyDuringExec(t *testing.T) {
	h := newHost(t)
	id := h.create(tree(t, 1, 1))
	cmd, stdout, stderr := h.command(append([]string{"exec", id}, holding...)...)
	r, w := io.Pipe()
	cmd.Stdout = io.MultiWriter(stdout, w)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, len("started\n"))); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	h.run(0, "destroy", id)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 125 || !strings.Contains(stderr.String(), "(sandbox_not_ready)") {
		t.Errorf("exit code %d, stderr %s", cmd.ProcessState.ExitCode(), stderr)
	}
}

func TestDestroyDuringCreate(t *testing.T) {
	h := newHost(t)
	create, _, stderr := h.command("create", "--profile", "bwrap-local", "--input", "repo="+tree(t, 20000, 10))
	if err := create.Start(); err != nil {
		t.Fatal(err)
	}
	id := ""
	for id == "" {
		out, _ := h.run(0, "list", "-q")
		id = strings.TrimSpace(out)
	}
	h.run(0, "destroy", id)
	if create.Wait(); create.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "was destroyed while it was being made (canceled)") {
		t.Errorf("exit code %d, stderr %s", create.ProcessState.ExitCode(), stderr)
	}
}

// TestEndedSandbox has pid 1 of the namespaces killed behind the owner's back.
func TestEndedSandbox(t *testing.T) {
	h := newHost(t)
	id := h.create(tree(t, 1, 1))
	var s apitype.Sandbox
	out, _ := h.run(0, "show", id, "-o", "json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(*s.Reachability.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, stderr := h.run(125, "exec", id, "--", "true")
	if !strings.Contains(stderr, "is failed: ") || !strings.Contains(stderr, "(sandbox_not_ready)") || !strings.Contains(stderr, "hint: sandboxer destroy "+id) {
		t.Errorf("exec: %s", stderr)
	}
	if out, _ := h.run(0, "show", id); !strings.Contains(out, "(sandbox_gone)") {
		t.Errorf("show: %s", out)
	}
}
