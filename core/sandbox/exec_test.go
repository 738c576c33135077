package sandbox

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

type execFunc = func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error)

func answers(r sdk.ExecResult, err error) execFunc {
	return func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error) { return r, err }
}

func (w *world) exec(ctx context.Context, id string) (ExecResult, error) {
	return w.Exec(ctx, ExecRequest{SandboxID: id, Consumer: consumer, Command: []string{"true"}}, sdk.ExecOutput{Stdout: io.Discard, Stderr: io.Discard})
}

func TestExecRefusals(t *testing.T) {
	calls := 0
	w := newWorld(t, sdk.Features{Exec: func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error) {
		calls++
		return sdk.ExecResult{Outcome: sdk.OutcomeExited}, nil
	}})
	good := func(id string) ExecRequest {
		return ExecRequest{SandboxID: id, Consumer: consumer, Command: []string{"true"}}
	}
	tests := []struct {
		name   string
		change func(*ExecRequest)
		before func(t *testing.T, id string)
		code   sdk.Code
	}{
		{"none", func(*ExecRequest) {}, nil, ""},
		{"other actor", func(r *ExecRequest) { r.Consumer.Actor = "x" }, nil, sdk.CodeIdentityMismatch},
		{"other project", func(r *ExecRequest) { r.Consumer.Project = "x" }, nil, sdk.CodeIdentityMismatch},
		{"other session", func(r *ExecRequest) { r.Consumer.SessionID = "x" }, nil, sdk.CodeIdentityMismatch},
		{"other run", func(r *ExecRequest) { r.Consumer.RunID = "x" }, nil, sdk.CodeIdentityMismatch},
		{"no run", func(r *ExecRequest) { r.Consumer.RunID = "" }, nil, sdk.CodeInvalidRequest},
		{"no such sandbox", func(r *ExecRequest) { r.SandboxID = "sbx-01arz3ndektsv4rrffq69g5fav" }, nil, sdk.CodeSandboxNotFound},
		{"bad id", func(r *ExecRequest) { r.SandboxID = "../x" }, nil, sdk.CodeInvalidRequest},
		{"no command", func(r *ExecRequest) { r.Command = nil }, nil, sdk.CodeInvalidRequest},
		{"timeout over the maximum", func(r *ExecRequest) { r.Timeout = ptr(61 * time.Minute) }, nil, sdk.CodeInvalidRequest},
		{"destroyed", func(*ExecRequest) {}, func(t *testing.T, id string) {
			if _, err := w.Destroy(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}, sdk.CodeSandboxNotReady},
		{"failed", func(*ExecRequest) {}, func(t *testing.T, id string) {
			if err := w.store.Transition(t.Context(), id, []State{store.Ready}, store.Failed, &Failure{Code: "x", Message: "m"}); err != nil {
				t.Fatal(err)
			}
		}, sdk.CodeSandboxNotReady},
		{"another exec runs", func(*ExecRequest) {}, func(t *testing.T, id string) {
			unlock, ok, err := w.tryLock(id, execLock)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			t.Cleanup(unlock)
		}, sdk.CodeExecInProgress},
		{"expired", func(*ExecRequest) {}, func(*testing.T, string) { w.now = w.now.Add(time.Hour) }, sdk.CodeSandboxExpired},
		{"expired and reaped", func(*ExecRequest) {}, func(t *testing.T, id string) {
			w.now = w.now.Add(time.Hour)
			if _, err := w.Reap(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}, sdk.CodeSandboxExpired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls = 0
			s := w.create(t)
			if tt.before != nil {
				tt.before(t, s.ID)
			}
			req := good(s.ID)
			tt.change(&req)
			_, err := w.Exec(t.Context(), req, sdk.ExecOutput{})
			wantCode(t, err, tt.code)
			if (calls == 1) != (tt.code == "") {
				t.Errorf("the backend was called %d times", calls)
			}
		})
	}
}

// TestMismatchTellsNothing checks that all four mismatches read the same.
func TestMismatchTellsNothing(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	s := w.create(t)
	messages := map[string]bool{}
	for _, change := range []func(*Consumer){
		func(c *Consumer) { c.Actor = "x" }, func(c *Consumer) { c.Project = "x" },
		func(c *Consumer) { c.SessionID = "x" }, func(c *Consumer) { c.RunID = "x" },
	} {
		c := consumer
		change(&c)
		_, err := w.Exec(t.Context(), ExecRequest{SandboxID: s.ID, Consumer: c, Command: []string{"true"}}, sdk.ExecOutput{})
		messages[err.Error()] = true
		for _, secret := range []string{consumer.Actor, consumer.Project, consumer.SessionID, consumer.RunID} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%v tells %s", err, secret)
			}
		}
	}
	if len(messages) != 1 {
		t.Errorf("messages differ: %v", messages)
	}
	entries, err := w.audit.Tail(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Code != string(sdk.CodeIdentityMismatch) || e.Outcome != outcomeRefused {
			t.Errorf("audited %+v", e)
		}
	}
}

func TestExecUnsupportedMakesNoCall(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	_, err := w.exec(t.Context(), w.create(t).ID)
	wantCode(t, err, sdk.CodeExecUnsupported)
}

func TestBackendThatLiesIsNotBelieved(t *testing.T) {
	tests := map[string]struct {
		exec execFunc
		code sdk.Code
	}{
		"no outcome":         {answers(sdk.ExecResult{}, nil), sdk.CodeBackendFailed},
		"unknown outcome":    {answers(sdk.ExecResult{Outcome: "fine"}, nil), sdk.CodeBackendFailed},
		"no signal":          {answers(sdk.ExecResult{Outcome: sdk.OutcomeSignaled}, nil), sdk.CodeBackendFailed},
		"no reason":          {answers(sdk.ExecResult{Outcome: sdk.OutcomeStartFailed}, nil), sdk.CodeBackendFailed},
		"died":               {answers(sdk.ExecResult{}, sdk.Errorf(sdk.CodeBackendFailed, "gone")), sdk.CodeBackendFailed},
		"error without code": {answers(sdk.ExecResult{}, errors.New("odd")), sdk.CodeBackendFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sdk.Features{Exec: tt.exec})
			s := w.create(t)
			_, err := w.exec(t.Context(), s.ID)
			wantCode(t, err, tt.code)
			// The lock is free again.
			if _, err := w.exec(t.Context(), s.ID); sdk.CodeOf(err) == sdk.CodeExecInProgress {
				t.Error("the lock is still held")
			}
		})
	}
}

func TestGoneSandboxBecomesFailed(t *testing.T) {
	w := newWorld(t, sdk.Features{Exec: answers(sdk.ExecResult{}, sdk.Errorf(sdk.CodeSandboxGone, "it ended"))})
	s := w.create(t)
	_, err := w.exec(t.Context(), s.ID)
	wantCode(t, err, sdk.CodeSandboxNotReady)
	if s, err = w.Get(t.Context(), s.ID); err != nil || s.State != store.Failed || s.Failure.Code != sdk.CodeSandboxGone {
		t.Errorf("sandbox %s %+v, %v", s.State, s.Failure, err)
	}
}

func TestDeadlineIsTheEarlierOfTimeoutAndExpiry(t *testing.T) {
	var got time.Time
	w := newWorld(t, sdk.Features{Exec: func(_ context.Context, r sdk.ExecRequest, _ sdk.ExecOutput) (sdk.ExecResult, error) {
		got = r.Deadline
		return sdk.ExecResult{Outcome: sdk.OutcomeExited}, nil
	}})
	s := w.create(t)
	for timeout, want := range map[time.Duration]time.Time{
		time.Minute: w.now.Add(time.Minute),
		time.Hour:   s.ExpiresAt,
	} {
		if _, err := w.Exec(t.Context(), ExecRequest{SandboxID: s.ID, Consumer: consumer, Command: []string{"true"}, Timeout: &timeout}, sdk.ExecOutput{}); err != nil {
			t.Fatal(err)
		}
		if !got.Equal(want) {
			t.Errorf("timeout %v: deadline %v, want %v", timeout, got, want)
		}
	}
}

func TestReferencesArriveAsAList(t *testing.T) {
	var env map[string]string
	w := newWorld(t, sdk.Features{Exec: func(_ context.Context, r sdk.ExecRequest, _ sdk.ExecOutput) (sdk.ExecResult, error) {
		env = r.Env
		return sdk.ExecResult{Outcome: sdk.OutcomeExited}, nil
	}})
	s := w.create(t)
	for want, refs := range map[string][]string{`[]`: nil, `["a","b-1"]`: {"a", "b-1"}} {
		if _, err := w.Exec(t.Context(), ExecRequest{SandboxID: s.ID, Consumer: consumer, Command: []string{"true"}, CredentialRouteRefs: refs}, sdk.ExecOutput{}); err != nil {
			t.Fatal(err)
		}
		if env[credentialRoutes] != want || len(env) != 1 {
			t.Errorf("environment %v, want %s", env, want)
		}
	}
}
