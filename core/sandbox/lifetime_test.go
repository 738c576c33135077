package sandbox

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

func TestDestroyIsIdempotent(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	s := w.create(t)
	d, err := w.Destroy(t.Context(), s.ID)
	if err != nil || d.Sandbox.State != store.Destroyed || len(d.Removed) != 1 {
		t.Errorf("destroyed %+v, %v", d, err)
	}
	d, err = w.Destroy(t.Context(), s.ID)
	if err != nil || d.Sandbox.State != store.Destroyed || len(d.Removed) != 0 {
		t.Errorf("destroyed again %+v, %v", d, err)
	}
	if len(w.backend.destroyed) != 1 {
		t.Errorf("the backend was called %d times", len(w.backend.destroyed))
	}
	_, err = w.Destroy(t.Context(), "sbx-01arz3ndektsv4rrffq69g5fav")
	wantCode(t, err, sdk.CodeSandboxNotFound)
}

func TestDestroyThatFailsCanBeRepeated(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	s := w.create(t)
	w.backend.destroy = func(context.Context, sdk.Ref) (sdk.Destroyed, error) { return sdk.Destroyed{}, errors.New("busy") }
	if _, err := w.Destroy(t.Context(), s.ID); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("error %v", err)
	}
	if s, _ := w.Get(t.Context(), s.ID); s.State != store.Destroying {
		t.Errorf("state %s, want %s", s.State, store.Destroying)
	}
	w.backend.destroy = nil
	if _, err := w.Destroy(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
}

func TestRenew(t *testing.T) {
	var told time.Time
	w := newWorld(t, sdk.Features{Renew: func(_ context.Context, _ sdk.Ref, until time.Time) error {
		told = until
		return nil
	}})
	s := w.create(t) // 1 h to live, 2 h at most
	tests := []struct {
		name string
		ttl  time.Duration
		want time.Duration // after now; 0 is refused
	}{
		{"shorter", 10 * time.Minute, time.Hour},
		{"longer", 90 * time.Minute, 90 * time.Minute},
		{"shorter again", time.Hour, 90 * time.Minute},
		{"the most", 2 * time.Hour, 2 * time.Hour},
		{"beyond the most", 2*time.Hour + time.Second, 0},
		{"nothing", 0, 0},
	}
	for _, tt := range tests {
		told = time.Time{}
		got, err := w.Renew(t.Context(), s.ID, tt.ttl)
		if tt.want == 0 {
			wantCode(t, err, sdk.CodeInvalidRequest)
			continue
		}
		want := w.now.Add(tt.want)
		if err != nil || !got.ExpiresAt.Equal(want) {
			t.Errorf("%s: expiry %v, %v, want %v", tt.name, got.ExpiresAt, err, want)
		}
		if !told.IsZero() && !told.Equal(want) {
			t.Errorf("%s: the backend was told %v", tt.name, told)
		}
	}
	w.now = w.now.Add(3 * time.Hour)
	_, err := w.Renew(t.Context(), s.ID, time.Hour)
	wantCode(t, err, sdk.CodeSandboxExpired)
}

func TestRenewUnsupported(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	_, err := w.Renew(t.Context(), w.create(t).ID, 90*time.Minute)
	wantCode(t, err, sdk.CodeRenewUnsupported)
}

func TestExpiryShowsInGetAndList(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	s := w.create(t)
	states := func(f ...State) (got []State) {
		page, err := w.List(t.Context(), Filter{States: f})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Records {
			got = append(got, s.State)
		}
		return got
	}
	if got := states(store.Ready); !cmp.Equal(got, []State{store.Ready}) {
		t.Errorf("ready before the expiry: %v", got)
	}
	w.now = s.ExpiresAt
	if s, err := w.Get(t.Context(), s.ID); err != nil || s.State != store.Expired {
		t.Errorf("state %s, %v", s.State, err)
	}
	if got := states(store.Expired); !cmp.Equal(got, []State{store.Expired}) {
		t.Errorf("expired after the expiry: %v", got)
	}
	if got := states(store.Ready); got != nil {
		t.Errorf("ready after the expiry: %v", got)
	}
}

func TestInspectFindsTheDead(t *testing.T) {
	status := sdk.Status{Alive: true}
	w := newWorld(t, sdk.Features{Inspect: func(context.Context, sdk.Ref) (sdk.Status, error) { return status, nil }})
	s := w.create(t)
	if s, err := w.Inspect(t.Context(), s.ID); err != nil || s.State != store.Ready {
		t.Errorf("state %s, %v", s.State, err)
	}
	status = sdk.Status{Reason: "the machine restarted"}
	if s, err := w.Inspect(t.Context(), s.ID); err != nil || s.State != store.Failed || s.Failure.Message != "the machine restarted" {
		t.Errorf("state %s, %+v, %v", s.State, s.Failure, err)
	}
}

// TestInspectDuringTheExpiry has the backend end the sandbox at its expiry while
// it is asked.
func TestInspectDuringTheExpiry(t *testing.T) {
	var w *world
	w = newWorld(t, sdk.Features{Inspect: func(context.Context, sdk.Ref) (sdk.Status, error) {
		w.now = w.now.Add(24 * time.Hour)
		return sdk.Status{Reason: "its namespaces have ended"}, nil
	}})
	s := w.create(t)
	for range 2 {
		if s, err := w.Inspect(t.Context(), s.ID); err != nil || s.State != store.Expired || s.Failure != nil {
			t.Errorf("state %s, %+v, %v; want expired", s.State, s.Failure, err)
		}
	}
}

func TestReap(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	ready, failed, cut, expired := w.create(t), w.create(t), w.create(t), w.create(t)
	held := w.create(t)
	ctx := t.Context()
	if err := w.store.Transition(ctx, failed.ID, []State{store.Ready}, store.Failed, nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{cut.ID, held.ID} {
		if err := w.store.Transition(ctx, id, []State{store.Ready}, store.Destroying, nil); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := w.lock(ctx, held.ID, lifeLock) // somebody destroys it right now
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := w.store.SetExpiry(ctx, ready.ID, w.now.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	w.now = expired.ExpiresAt
	const orphan = "sbx-01arz3ndektsv4rrffq69g5fav"
	w.backend.list = func() ([]sdk.Found, error) {
		return []sdk.Found{{SandboxID: orphan}, {SandboxID: ready.ID, Alive: true}}, nil
	}

	want := []string{failed.ID, cut.ID, expired.ID, orphan}
	for _, dryRun := range []bool{true, false} {
		reaped, err := w.Reap(ctx, dryRun)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range reaped {
			if r.Err != nil || r.Reason == "" {
				t.Errorf("reaped %+v", r)
			}
			ids = append(ids, r.SandboxID)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("dry run %v (-want +got):\n%s", dryRun, diff)
		}
		if dryRun && len(w.backend.destroyed) > 0 {
			t.Errorf("a dry run destroyed %v", w.backend.destroyed)
		}
	}
	if diff := cmp.Diff(want, w.backend.destroyed); diff != "" {
		t.Errorf("destroyed (-want +got):\n%s", diff)
	}
	if s, _ := w.Get(ctx, expired.ID); s.State != store.Destroyed || s.Failure.Code != sdk.CodeSandboxExpired {
		t.Errorf("the expired one is %s, %+v", s.State, s.Failure)
	}
}

func TestReapSweepsStrayLocks(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	live := w.create(t)
	unlock, err := w.lock(t.Context(), live.ID, execLock)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	const stray = "sbx-01arz3ndektsv4rrffq69g5fav"
	unlock, err = w.lock(t.Context(), stray, lifeLock)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	exists := func(id, kind string) bool {
		_, err := os.Stat(w.lockPath(id, kind))
		return err == nil
	}
	for _, tt := range []struct {
		later time.Duration
		want  bool
	}{{0, true}, {2 * strayAge, false}} {
		w.now = time.Now().Add(tt.later)
		if _, err := w.Reap(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if exists(stray, lifeLock) != tt.want || !exists(live.ID, execLock) {
			t.Errorf("after %v: stray %v, live %v", tt.later, exists(stray, lifeLock), exists(live.ID, execLock))
		}
	}
}
