package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
)

var created = sdk.Created{
	Handle:       sdk.Handle{Version: 3, Data: []byte{0, 1, 0xff}},
	Reachability: sdk.Reachability{PID: 4711, WorkspaceDir: "/w"},
	Execution:    sdk.ExecutionOwnerMediated,
	Network:      sdk.Network{Posture: sdk.PostureDeny, Enforced: false, Reason: "no \x00 netns"},
	Limits: []sdk.Limit{
		{Name: "memory_bytes", Value: 1 << 40, Enforced: true},
		{Name: "pids", Value: 64, Reason: "no cgroup"},
	},
}

func TestRecordComesBackWhole(t *testing.T) {
	s := openStore(t, t.TempDir())
	start := time.Now().UTC().Truncate(time.Millisecond)
	want := insert(t, s, newRecord(sandboxID(1)))
	check := func() {
		t.Helper()
		got, err := s.Get(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.StateSince.Before(start) || got.StateSince.After(time.Now()) {
			t.Errorf("state since %v, want from %v to now", got.StateSince, start)
		}
		got.StateSince = time.Time{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record differs (-want +got):\n%s", diff)
		}
	}
	check()

	want.Handle = sdk.Handle{Version: 2, Data: []byte("checkpoint")}
	if err := s.SetHandle(t.Context(), want.ID, want.Handle); err != nil {
		t.Fatal(err)
	}
	check()

	if err := s.SetReady(t.Context(), want.ID, created); err != nil {
		t.Fatal(err)
	}
	want.State, want.Handle, want.Reachability = Ready, created.Handle, created.Reachability
	want.Execution, want.Network, want.Limits = created.Execution, created.Network, created.Limits
	check()

	want.State, want.Failure = Failed, &Failure{Code: sdk.CodeSandboxGone, Message: "it went", Hint: "make another"}
	if err := s.Transition(t.Context(), want.ID, []State{Ready}, Failed, want.Failure); err != nil {
		t.Fatal(err)
	}
	check()

	want.State = Destroying // and the failure stays
	if err := s.Transition(t.Context(), want.ID, []State{Failed, Expired}, Destroying, nil); err != nil {
		t.Fatal(err)
	}
	check()
}

// in puts a sandbox into a state.
func in(t *testing.T, s *Store, id string, state State) {
	t.Helper()
	insert(t, s, newRecord(id))
	var err error
	switch state {
	case Provisioning:
	case Ready:
		err = s.SetReady(t.Context(), id, created)
	default:
		err = s.Transition(t.Context(), id, []State{Provisioning}, state, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestChangesStartFromTheirStateOnly(t *testing.T) {
	changes := []struct {
		name   string
		from   State
		change func(ctx context.Context, s *Store, id string) error
	}{
		{"SetHandle", Provisioning, func(ctx context.Context, s *Store, id string) error {
			return s.SetHandle(ctx, id, sdk.Handle{Version: 9})
		}},
		{"SetReady", Provisioning, func(ctx context.Context, s *Store, id string) error {
			return s.SetReady(ctx, id, created)
		}},
		{"SetExpiry", Ready, func(ctx context.Context, s *Store, id string) error {
			_, err := s.SetExpiry(ctx, id, time.Now().Add(90*time.Minute))
			return err
		}},
		{"Transition", Destroying, func(ctx context.Context, s *Store, id string) error {
			return s.Transition(ctx, id, []State{Destroying}, Destroyed, &Failure{Code: "c"})
		}},
	}
	s := openStore(t, t.TempDir())
	n := 0
	for _, c := range changes {
		for _, state := range States {
			n++
			id := sandboxID(n)
			in(t, s, id, state)
			before, err := s.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			err = c.change(t.Context(), s, id)
			if state == c.from {
				if err != nil {
					t.Errorf("%s from %s: %v", c.name, state, err)
				}
				continue
			}
			if e, ok := errors.AsType[*StateError](err); !ok || e.State != state {
				t.Errorf("%s from %s: error is %v, want a *StateError of that state", c.name, state, err)
			}
			if after, err := s.Get(t.Context(), id); err != nil || !cmp.Equal(before, after) {
				t.Errorf("%s from %s changed the record (%v):\n%s", c.name, state, err, cmp.Diff(before, after))
			}
		}
		err := c.change(t.Context(), s, sandboxID(999))
		if sdk.CodeOf(err) != sdk.CodeSandboxNotFound || !errors.Is(err, ErrNotFound) {
			t.Errorf("%s without a record: error is %v, want sandbox_not_found", c.name, err)
		}
	}
}

func TestGetWithoutRecord(t *testing.T) {
	s := openStore(t, t.TempDir())
	_, err := s.Get(t.Context(), sandboxID(1))
	wantError(t, err, sdk.CodeSandboxNotFound, "no such sandbox: "+sandboxID(1), "sandboxer list")
}

func TestInsertRefuses(t *testing.T) {
	s := openStore(t, t.TempDir())
	first := insert(t, s, newRecord(sandboxID(1)))
	if err := s.Insert(t.Context(), first); !errors.Is(err, ErrExists) {
		t.Errorf("second insert: error is %v, want ErrExists", err)
	}
	for name, spoil := range map[string]func(*Record){
		"a foreign id":           func(r *Record) { r.ID = "../etc" },
		"no host":                func(r *Record) { r.HostID = "" },
		"another state":          func(r *Record) { r.State = Ready },
		"an expiry past the max": func(r *Record) { r.ExpiresAt = r.MaxExpiresAt.Add(time.Second) },
		"a huge handle":          func(r *Record) { r.Handle.Data = make([]byte, sdk.MaxHandleBytes+1) },
	} {
		r := newRecord(sandboxID(2))
		spoil(&r)
		if err := s.Insert(t.Context(), r); err == nil {
			t.Errorf("%s: inserted, want an error", name)
		}
	}
}

func TestHugeHandleIsTheBackendsFault(t *testing.T) {
	s := openStore(t, t.TempDir())
	r := insert(t, s, newRecord(sandboxID(1)))
	huge := sdk.Handle{Data: make([]byte, sdk.MaxHandleBytes+1)}
	wantError(t, s.SetHandle(t.Context(), r.ID, huge), sdk.CodeBackendFailed, "65537 bytes", "")
	wantError(t, s.SetReady(t.Context(), r.ID, sdk.Created{Handle: huge}), sdk.CodeBackendFailed, "65537 bytes", "")
}

func TestExpiryMovesForwardOnly(t *testing.T) {
	s := openStore(t, t.TempDir())
	r := newRecord(sandboxID(1))
	in(t, s, r.ID, Ready)
	r, err := s.Get(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name    string
		to      time.Time
		want    time.Time
		wantErr error
	}{
		{"later", r.ExpiresAt.Add(time.Minute), r.ExpiresAt.Add(time.Minute), nil},
		{"earlier", r.ExpiresAt, r.ExpiresAt.Add(time.Minute), nil},
		{"past the maximum", r.MaxExpiresAt.Add(time.Millisecond), time.Time{}, ErrBeyondMax},
		{"the maximum", r.MaxExpiresAt, r.MaxExpiresAt, nil},
	} {
		got, err := s.SetExpiry(t.Context(), r.ID, step.to)
		if !got.Equal(step.want) || !errors.Is(err, step.wantErr) {
			t.Errorf("%s: got %v, %v; want %v, %v", step.name, got, err, step.want, step.wantErr)
		}
	}

	s.now = func() time.Time { return r.MaxExpiresAt }
	_, err = s.SetExpiry(t.Context(), r.ID, r.MaxExpiresAt)
	if e, ok := errors.AsType[*StateError](err); !ok || e.State != Expired {
		t.Errorf("after its end: error is %v, want a *StateError with %s", err, Expired)
	}
}

func TestPurgeDeletesOldDestroyedRecordsOnly(t *testing.T) {
	s := openStore(t, t.TempDir())
	now := time.Now()
	s.now = func() time.Time { return now.Add(-Retention - time.Minute) }
	for i, state := range States {
		in(t, s, sandboxID(i), state)
	}
	s.now = func() time.Time { return now }
	in(t, s, sandboxID(100), Destroyed)

	n, err := s.Purge(t.Context(), now.Add(-Retention))
	if err != nil || n != 1 {
		t.Fatalf("purged %d records (%v), want 1", n, err)
	}
	page, err := s.List(t.Context(), Filter{States: []State{Destroyed}})
	if err != nil || len(page.Records) != 1 || page.Records[0].ID != sandboxID(100) {
		t.Errorf("the destroyed records left are %+v (%v), want the new one", page.Records, err)
	}
	if page, err := s.List(t.Context(), Filter{}); err != nil || len(page.Records) != len(States) {
		t.Errorf("%d records are left (%v), want %d", len(page.Records), err, len(States))
	}
}

func TestOneOfManyGoroutinesWins(t *testing.T) {
	dir := t.TempDir()
	stores := []*Store{openStore(t, dir), openStore(t, dir)}
	in(t, stores[0], sandboxID(1), Ready)
	var wg sync.WaitGroup
	wins := make(chan struct{}, 32)
	for i := range cap(wins) {
		wg.Go(func() {
			err := stores[i%2].Transition(context.Background(), sandboxID(1), []State{Ready}, Destroying, nil)
			if err == nil {
				wins <- struct{}{}
			} else if _, ok := errors.AsType[*StateError](err); !ok {
				t.Errorf("a loser got %v, want a *StateError", err)
			}
		})
	}
	wg.Wait()
	if len(wins) != 1 {
		t.Errorf("%d goroutines won, want 1", len(wins))
	}
}

func TestCanceledContext(t *testing.T) {
	s := openStore(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Insert(ctx, newRecord(sandboxID(1))); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	insert(t, s, newRecord(sandboxID(1)))
}
