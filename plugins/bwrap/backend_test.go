package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// testID is of this run alone: another may look for processes at the same time.
var testID = func() string {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	id := []byte("sbx-01arz3ndektsv4rr")
	for range 10 {
		id = append(id, digits[rand.IntN(len(digits))])
	}
	return string(id)
}()

type noProgress struct{ t testing.TB }

func (noProgress) Checkpoint(sdk.Handle) error { return nil }
func (p noProgress) Report(m string)           { p.t.Log(m) }

// newSandbox provisions a sandbox of source and destroys it when the test ends.
func newSandbox(t testing.TB, source string) (*backend, sdk.Created) {
	t.Helper()
	work := filepath.Join(sharedTempDir(t), "work")
	if err := os.Mkdir(work, 0o711); err != nil {
		t.Fatal(err)
	}
	b := newBackend(work)
	created, err := b.Create(t.Context(), createRequest(source), noProgress{t})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ref := sdk.Ref{SandboxID: testID, Handle: created.Handle}
		if _, err := b.Destroy(context.Background(), ref); err != nil {
			t.Error(err)
		}
	})
	return b, created
}

func createRequest(source string) sdk.CreateRequest {
	return sdk.CreateRequest{
		SandboxID: testID, Workspace: sdk.WorkspaceSource{Path: source},
		Network: sdk.NetworkRequest{Posture: sdk.PostureDeny}, ExpiresAt: time.Now().Add(time.Hour),
	}
}

// sharedTempDir is a temporary directory that other users may enter.
func sharedTempDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "sandboxer-bwrap-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// sh is the argument vector of a shell script.
func sh(script string) []string { return []string{"sh", "-c", script} }

// output runs a script that must succeed and returns what it prints.
func output(t testing.TB, b *backend, script string) string {
	t.Helper()
	res, stdout, stderr := run(t, b, sdk.ExecRequest{Argv: sh(script)})
	if res.Outcome != sdk.OutcomeExited || res.ExitCode != 0 {
		t.Fatalf("%s: %s %d %s: %s", script, res.Outcome, res.ExitCode, res.Signal, stderr)
	}
	return stdout
}

// mustBeAlone fails when anything but the broker lives in the sandbox.
func mustBeAlone(t testing.TB, b *backend) {
	t.Helper()
	// The shell's glob needs no process of its own: it sees pid 1 and itself.
	if got := strings.Fields(output(t, b, "echo /proc/[0-9]*")); len(got) != 2 {
		t.Errorf("processes are left in the sandbox: %v", got)
	}
}

// run executes argv and returns the result and both streams.
func run(t testing.TB, b *backend, req sdk.ExecRequest) (res sdk.ExecResult, stdout, stderr string) {
	t.Helper()
	req.SandboxID = testID
	if req.Deadline.IsZero() {
		req.Deadline = time.Now().Add(time.Minute)
	}
	if req.MaxOutputBytes == 0 {
		req.MaxOutputBytes = sdk.DefaultOutputBytes
	}
	var o, e bytes.Buffer
	res, err := b.Exec(t.Context(), req, sdk.ExecOutput{Stdout: &o, Stderr: &e})
	if err != nil {
		t.Fatal(err)
	}
	return res, o.String(), e.String()
}
