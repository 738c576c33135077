package wire

import (
	"context"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// blocked starts an exec that runs until its context ends or release is closed.
func blocked(t *testing.T) (conn func(context.Context, time.Time) (int, error), f sdk.Features, release chan struct{}, result chan sdk.ExecResult) {
	started := make(chan struct{})
	release, result = make(chan struct{}), make(chan sdk.ExecResult, 1)
	c, _ := dial(t, NewServer(&full{
		inspect: func(context.Context, sdk.Ref) (sdk.Status, error) { return sdk.Status{Alive: true}, nil },
		exec: func(ctx context.Context, _ sdk.ExecRequest, _ sdk.ExecOutput) (sdk.ExecResult, error) {
			close(started)
			select {
			case <-release:
				return exited(0, 0), nil
			case <-ctx.Done():
				return sdk.ExecResult{Outcome: sdk.OutcomeCanceled}, nil
			}
		},
	}))
	f, _, err := Connect(t.Context(), c, HostInfo{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		r, err := f.Exec(t.Context(), sdk.ExecRequest{}, sdk.ExecOutput{})
		if err != nil {
			t.Error(err)
		}
		result <- r
	}()
	<-started
	return func(ctx context.Context, deadline time.Time) (int, error) { return Drain(ctx, c, deadline) }, f, release, result
}

func TestDrainWaitsForRunningCalls(t *testing.T) {
	drain, f, release, result := blocked(t)
	drained := make(chan int)
	go func() {
		n, err := drain(t.Context(), time.Now().Add(time.Minute))
		if err != nil {
			t.Error(err)
		}
		drained <- n
	}()
	// Draining has begun when a new call is refused.
	for {
		if _, err := f.Inspect(t.Context(), testRef); sdk.CodeOf(err) == sdk.CodeBackendFailed {
			break
		}
	}
	select {
	case <-drained:
		t.Fatal("Drain returned while a call was running")
	default:
	}
	close(release)
	if n := <-drained; n != 0 {
		t.Errorf("%d calls canceled", n)
	}
	if r := <-result; r.Outcome != sdk.OutcomeExited {
		t.Errorf("the running call ended with %+v", r)
	}
}

func TestDrainCancelsAtItsDeadline(t *testing.T) {
	drain, _, _, result := blocked(t)
	n, err := drain(t.Context(), time.Now().Add(10*time.Millisecond))
	if err != nil || n != 1 {
		t.Errorf("Drain = %d, %v", n, err)
	}
	if r := <-result; r.Outcome != sdk.OutcomeCanceled {
		t.Errorf("the running call ended with %+v", r)
	}
}

func TestDrainOfAnIdlePluginIsImmediate(t *testing.T) {
	conn, _ := dial(t, NewServer(&bare{}))
	if n, err := Drain(t.Context(), conn, time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("Drain = %d, %v", n, err)
	}
}
