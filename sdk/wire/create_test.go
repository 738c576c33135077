package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestCreateReportsAndChecksIn(t *testing.T) {
	req := sdk.CreateRequest{SandboxID: testID, HostID: "host-1", Config: []byte("{}"), ExpiresAt: time.Unix(9, 0).UTC()}
	want := sdk.Created{
		Handle:       sdk.Handle{Version: 2, Data: []byte("final")},
		Execution:    sdk.ExecutionOwnerMediated,
		Reachability: sdk.Reachability{PID: 7, WorkspaceDir: "/srv/w"},
	}
	var events []string
	note := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	f := connect(t, &bare{create: func(_ context.Context, got sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
		if diff := cmp.Diff(req, got); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		p.Report("copying")
		for i := range 2 {
			if err := p.Checkpoint(sdk.Handle{Data: fmt.Append(nil, i)}); err != nil {
				return sdk.Created{}, err
			}
			note("backend past %d", i)
		}
		return want, nil
	}})
	got, err := f.Create(t.Context(), req, progress{
		report: func(m string) { note("report %s", m) },
		checkpoint: func(h sdk.Handle) error {
			note("stored %s", h.Data)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	order := []string{"report copying", "stored 0", "backend past 0", "stored 1", "backend past 1"}
	if diff := cmp.Diff(order, events); diff != "" {
		t.Errorf("a checkpoint returned before it was stored (-want +got):\n%s", diff)
	}
}

func TestCheckpointBlocksUntilTheHostHasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stored := make(chan struct{})
		returned := false
		f := connect(t, &bare{create: func(_ context.Context, _ sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
			err := p.Checkpoint(sdk.Handle{})
			returned = true
			return sdk.Created{Execution: sdk.ExecutionSSH}, err
		}})
		done := make(chan error)
		go func() {
			_, err := f.Create(t.Context(), sdk.CreateRequest{}, progress{checkpoint: func(sdk.Handle) error {
				<-stored
				return nil
			}})
			done <- err
		}()
		synctest.Wait() // until everybody waits for the host to store
		if returned {
			t.Error("Checkpoint returned while the host was storing")
		}
		close(stored)
		if err := <-done; err != nil || !returned {
			t.Error(returned, err)
		}
	})
}

func TestRefusedCheckpointReachesTheBackend(t *testing.T) {
	var seen error
	f := connect(t, &bare{create: func(_ context.Context, _ sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
		seen = p.Checkpoint(sdk.Handle{Data: []byte("x")})
		return sdk.Created{}, seen
	}})
	_, err := f.Create(t.Context(), sdk.CreateRequest{}, progress{checkpoint: func(sdk.Handle) error {
		return sdk.Errorf(sdk.CodeDiskFull, "no room for the handle").WithHint("free some")
	}})
	for who, err := range map[string]error{"backend": seen, "host": err} {
		if e := sdk.AsError(err); e == nil || e.Code != sdk.CodeDiskFull || e.Message != "no room for the handle" || e.Hint != "free some" {
			t.Errorf("the %s got %#v", who, err)
		}
	}
}

func TestOversizedHandleNeverLeavesThePlugin(t *testing.T) {
	f := connect(t, &bare{create: func(_ context.Context, _ sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
		return sdk.Created{}, p.Checkpoint(sdk.Handle{Data: make([]byte, sdk.MaxHandleBytes+1)})
	}})
	_, err := f.Create(t.Context(), sdk.CreateRequest{}, progress{checkpoint: func(sdk.Handle) error {
		t.Error("the host was asked to store it")
		return nil
	}})
	if sdk.CodeOf(err) != sdk.CodeBackendFailed {
		t.Error(err)
	}
}

func TestCanceledCreateWaitsForTheCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cleaned := false
		f := connect(t, &bare{create: func(ctx context.Context, _ sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
			cancel()
			<-ctx.Done()
			time.Sleep(cancelWait / 2) // the cleanup
			cleaned = true
			return sdk.Created{}, p.Checkpoint(sdk.Handle{})
		}})
		_, err := f.Create(ctx, sdk.CreateRequest{}, progress{})
		if sdk.CodeOf(err) != sdk.CodeCanceled || !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		if !cleaned {
			t.Error("Create returned while the plugin was cleaning up")
		}
	})
}

func TestProgressAfterCreateIsHarmless(t *testing.T) {
	leaked := make(chan sdk.Progress, 1)
	f := connect(t, &bare{create: func(_ context.Context, _ sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
		leaked <- p
		return sdk.Created{Execution: sdk.ExecutionSSH}, nil
	}})
	if _, err := f.Create(t.Context(), sdk.CreateRequest{}, progress{}); err != nil {
		t.Fatal(err)
	}
	p := <-leaked
	p.Report("late")
	if err := p.Checkpoint(sdk.Handle{}); err == nil {
		t.Error("a checkpoint after the end was taken")
	}
}
