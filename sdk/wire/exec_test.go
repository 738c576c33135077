package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
)

func execer(f func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error)) sdk.Backend {
	return &full{exec: f}
}

func exited(stdout, stderr int64) sdk.ExecResult {
	return sdk.ExecResult{Outcome: sdk.OutcomeExited, StdoutBytes: stdout, StderrBytes: stderr}
}

func TestExecPassesEverything(t *testing.T) {
	req := sdk.ExecRequest{
		Ref: testRef, ExecID: "e1", Argv: []string{"cat", "-"}, Env: map[string]string{"A": "b"},
		Stdin:    bytes.Repeat([]byte("s"), sdk.MaxStdinBytes),
		Deadline: time.Now().Add(time.Hour).UTC().Round(0), MaxOutputBytes: 1 << 20,
	}
	want := sdk.ExecResult{Outcome: sdk.OutcomeSignaled, Signal: "SIGKILL", Duration: time.Second,
		StartedAt: time.Unix(3, 4).UTC(), StdoutBytes: 2 << 20, StderrBytes: 3, SurvivorsKilled: 2}
	f := connect(t, execer(func(_ context.Context, got sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
		if diff := cmp.Diff(req, got, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = out.Stdout.Write(got.Stdin) })
		wg.Go(func() { _, _ = io.WriteString(out.Stderr, "err") })
		wg.Wait()
		return want, nil
	}))
	var stdout, stderr bytes.Buffer
	got, err := f.Exec(t.Context(), req, sdk.ExecOutput{Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if !bytes.Equal(stdout.Bytes(), req.Stdin) || stderr.String() != "err" {
		t.Errorf("arrived: %d bytes of stdout, %q of stderr", stdout.Len(), &stderr)
	}
}

func TestExecRefusesTooMuchStdin(t *testing.T) {
	f := connect(t, execer(func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error) {
		t.Error("the backend was called")
		return exited(0, 0), nil
	}))
	_, err := f.Exec(t.Context(), sdk.ExecRequest{Stdin: make([]byte, sdk.MaxStdinBytes+1)}, sdk.ExecOutput{})
	if sdk.CodeOf(err) != sdk.CodeInvalidRequest {
		t.Error(err)
	}
}

func TestCanceledExecReportsWhatTheBackendSays(t *testing.T) {
	started := make(chan struct{})
	f := connect(t, execer(func(ctx context.Context, _ sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
		close(started)
		<-ctx.Done()
		_, _ = io.WriteString(out.Stdout, "last words")
		return sdk.ExecResult{Outcome: sdk.OutcomeCanceled, StdoutBytes: 10, SurvivorsKilled: 4}, nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	var stdout bytes.Buffer
	got, err := f.Exec(ctx, sdk.ExecRequest{MaxOutputBytes: 100}, sdk.ExecOutput{Stdout: &stdout})
	if err != nil || got.Outcome != sdk.OutcomeCanceled || got.SurvivorsKilled != 4 || stdout.String() != "last words" {
		t.Errorf("got %+v, %v, stdout %q", got, err, stdout.String())
	}
}

func TestExecCanceledBeforeItsCall(t *testing.T) {
	f := connect(t, execer(func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error) {
		t.Error("the backend was called")
		return exited(0, 0), nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Exec(ctx, sdk.ExecRequest{}, sdk.ExecOutput{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// brokenPipe fails from its first write on.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestExecEndsTheCommandWhenNobodyReads(t *testing.T) {
	f := connect(t, execer(func(ctx context.Context, _ sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
		_, _ = io.WriteString(out.Stdout, "x")
		<-ctx.Done()
		return sdk.ExecResult{Outcome: sdk.OutcomeCanceled, StdoutBytes: 1}, nil
	}))
	_, err := f.Exec(t.Context(), sdk.ExecRequest{MaxOutputBytes: 10}, sdk.ExecOutput{Stdout: brokenPipe{}})
	if sdk.CodeOf(err) != sdk.CodeCanceled || !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestWriteAfterExecIsHarmless(t *testing.T) {
	leaked := make(chan io.Writer, 1)
	f := connect(t, execer(func(_ context.Context, _ sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
		leaked <- out.Stdout
		return exited(0, 0), nil
	}))
	if _, err := f.Exec(t.Context(), sdk.ExecRequest{MaxOutputBytes: 10}, sdk.ExecOutput{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(<-leaked, "late"); err == nil {
		t.Error("a write after the end was taken")
	}
}

func TestExecEndsWhenTheHostGoesAway(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	conn, hangup := dial(t, NewServer(execer(func(ctx context.Context, _ sdk.ExecRequest, _ sdk.ExecOutput) (sdk.ExecResult, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return sdk.ExecResult{Outcome: sdk.OutcomeCanceled}, nil
	})))
	f, _, err := Connect(t.Context(), conn, HostInfo{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := f.Exec(t.Context(), sdk.ExecRequest{}, sdk.ExecOutput{})
		done <- err
	}()
	<-started
	hangup()
	<-ended
	if err := <-done; sdk.CodeOf(err) != sdk.CodeBackendFailed || !errors.Is(err, ErrEnded) {
		t.Errorf("host got %v", err)
	}
}
