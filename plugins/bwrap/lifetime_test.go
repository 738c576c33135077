package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/proc"
	"github.com/tegwick/sand-boxer/sdk"
)

func listen(t *testing.T) *net.TCPAddr {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr)
}

func clearCloseOnExec(t *testing.T, f *os.File) {
	if _, err := unix.FcntlInt(rawFD(f), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
}

// mustBeGone fails when anything of the test sandbox is left on the host.
func mustBeGone(t *testing.T, b *backend) {
	t.Helper()
	ids, err := proc.Find(func(argv []string) bool { return slices.Contains(argv, testID) })
	if err != nil || len(ids) > 0 {
		t.Errorf("processes %v are left, %v", ids, err)
	}
	if b.paths.sandbox(testID).exists() {
		t.Errorf("%s is left", b.paths.sandbox(testID))
	}
	if uids, _ := os.ReadDir(b.paths.uids()); len(uids) > 0 {
		t.Errorf("uids %v are left", uids)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), testID) {
		t.Errorf("a mount is left, %v", err)
	}
}

func newWorkDir(t testing.TB) string {
	work := filepath.Join(sharedTempDir(t), "work")
	if err := os.Mkdir(work, 0o711); err != nil {
		t.Fatal(err)
	}
	return work
}

func TestDestroy(t *testing.T) {
	hostile := "mkdir -p deep/a/b && echo x >deep/a/b/f && chmod 000 deep/a/b deep/a deep; ln -s / root-link; " +
		"mkdir -p $HOME/.cache && chmod 500 $HOME/.cache; echo ok"
	tests := []struct {
		name string
		ref  func(sdk.Created) sdk.Ref
	}{
		{"with its handle", func(c sdk.Created) sdk.Ref { return sdk.Ref{SandboxID: testID, Handle: c.Handle} }},
		{"by id alone", func(sdk.Created) sdk.Ref { return sdk.Ref{SandboxID: testID} }},
		{"with a foreign handle", func(sdk.Created) sdk.Ref {
			return sdk.Ref{SandboxID: testID, Handle: sdk.Handle{Version: 99, Data: []byte("?")}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, created := newSandbox(t, "")
			output(t, b, hostile)
			done, err := b.Destroy(t.Context(), tt.ref(created))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(done.Removed, "workspace") || len(done.Removed) < 2 {
				t.Errorf("removed %v", done.Removed)
			}
			mustBeGone(t, b)
			if done, err = b.Destroy(t.Context(), tt.ref(created)); err != nil || len(done.Removed) > 0 {
				t.Errorf("the second destroy: %v, %v", done, err)
			}
		})
	}
}

// TestRecycledPIDIsSpared gives Destroy a handle whose pid now belongs to
// somebody else.
func TestRecycledPIDIsSpared(t *testing.T) {
	bystander := exec.Command("sleep", "300")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { bystander.Process.Kill(); bystander.Wait() }()
	id, err := proc.Of(bystander.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	b := newBackend(newWorkDir(t))
	for name, stale := range map[string]proc.ID{
		"other start": {PID: id.PID, Start: id.Start - 1, Boot: id.Boot},
		"other boot":  {PID: id.PID, Start: id.Start, Boot: "another"},
	} {
		h, err := note{Init: stale, Monitor: stale}.handle()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Destroy(t.Context(), sdk.Ref{SandboxID: testID, Handle: h}); err != nil {
			t.Error(err)
		}
		if !id.Alive() {
			t.Fatalf("%s: the bystander was killed", name)
		}
	}
}

func TestExpiryNeedsNobody(t *testing.T) {
	b := newBackend(newWorkDir(t))
	req := createRequest("")
	req.ExpiresAt = time.Now().Add(3 * time.Second)
	created, err := b.Create(t.Context(), req, noProgress{t})
	if err != nil {
		t.Fatal(err)
	}
	p, err := noteOf(created.Handle).Init.Open()
	if err != nil && !errors.Is(err, proc.ErrGone) {
		t.Fatal(err)
	}
	if err == nil {
		defer p.Close()
		if err := p.Wait(20 * time.Second); err != nil {
			t.Error(err)
		}
	}
	status, err := b.Inspect(t.Context(), sdk.Ref{SandboxID: testID})
	if err != nil || status.Alive || status.Reason == "" {
		t.Errorf("status %+v, %v", status, err)
	}
	if _, err := b.Destroy(t.Context(), sdk.Ref{SandboxID: testID, Handle: created.Handle}); err != nil {
		t.Error(err)
	}
	mustBeGone(t, b)
}

func TestExpiryEndsTheCommand(t *testing.T) {
	b := newBackend(newWorkDir(t))
	req := createRequest("")
	req.ExpiresAt = time.Now().Add(3 * time.Second)
	created, err := b.Create(t.Context(), req, noProgress{t})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Destroy(context.Background(), sdk.Ref{SandboxID: testID, Handle: created.Handle})
	res, stdout, _ := run(t, b, sdk.ExecRequest{Argv: sh("echo start; sleep 300"), Deadline: req.ExpiresAt})
	if res.Outcome != sdk.OutcomeTimedOut || stdout != "start\n" {
		t.Errorf("%s, stdout %q", res.Outcome, stdout)
	}
}

func TestRenew(t *testing.T) {
	b := newBackend(newWorkDir(t))
	req := createRequest("")
	req.ExpiresAt = time.Now().Add(4 * time.Second)
	created, err := b.Create(t.Context(), req, noProgress{t})
	if err != nil {
		t.Fatal(err)
	}
	ref := sdk.Ref{SandboxID: testID, Handle: created.Handle}
	defer b.Destroy(context.Background(), ref)
	if err := b.Renew(t.Context(), ref, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	// The command outlives the first expiry, and would not the sandbox's end.
	past := fmt.Sprintf("sleep %.1f; echo alive", time.Until(req.ExpiresAt).Seconds()+0.5)
	res, stdout, _ := run(t, b, sdk.ExecRequest{Argv: sh(past)})
	if res.Outcome != sdk.OutcomeExited || stdout != "alive\n" {
		t.Errorf("%s, stdout %q", res.Outcome, stdout)
	}
}

func TestCreateAgainReplacesWhatWasLeft(t *testing.T) {
	b, first := newSandbox(t, "")
	second, err := b.Create(t.Context(), createRequest(""), noProgress{t})
	if err != nil {
		t.Fatal(err)
	}
	if first.Reachability.PID == second.Reachability.PID || noteOf(first.Handle).Init.Alive() {
		t.Errorf("the first sandbox still lives: %+v", first.Reachability)
	}
	if got := output(t, b, "echo ok"); got != "ok\n" {
		t.Errorf("exec printed %q", got)
	}
}

func TestList(t *testing.T) {
	b, _ := newSandbox(t, "")
	const dead = "sbx-01arz3ndektsv4rs0000000000" // after every testID
	if err := os.Mkdir(string(b.paths.sandbox(dead)), 0o711); err != nil {
		t.Fatal(err)
	}
	found, err := b.List(t.Context(), "host")
	if err != nil {
		t.Fatal(err)
	}
	want := []sdk.Found{{SandboxID: testID, Alive: true}, {SandboxID: dead}}
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

// TestSandboxOutlivesItsMaker checks that no process of the sandbox is tied to
// the thread or process that started it.
func TestSandboxOutlivesItsMaker(t *testing.T) {
	_, created := newSandbox(t, "")
	n := noteOf(created.Handle)
	for _, id := range []proc.ID{n.Init, n.Monitor} {
		// Field 6 of stat is the session: its own, so no terminal's hangup
		// reaches it.
		sid, err := unix.Getsid(id.PID)
		if err != nil {
			t.Fatal(err)
		}
		if own, _ := unix.Getsid(0); sid == own {
			t.Errorf("process %d shares the session of its maker", id.PID)
		}
	}
}
