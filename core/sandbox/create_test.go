package sandbox

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

func TestCreateStoresBeforeItActs(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t, sdk.Features{Backend: b})
	b.create = func(ctx context.Context, req sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
		s, err := w.Get(ctx, req.SandboxID)
		if err != nil || s.State != store.Provisioning {
			t.Errorf("before anything is made the record is %s, %v", s.State, err)
		}
		h := sdk.Handle{Version: 1, Data: []byte("half")}
		if err := p.Checkpoint(h); err != nil {
			t.Error(err)
		}
		if s, _ = w.Get(ctx, req.SandboxID); !cmp.Equal(s.Handle, h) {
			t.Errorf("after a checkpoint the handle is %+v", s.Handle)
		}
		return goodCreated(), nil
	}
	s := w.create(t)
	if s.State != store.Ready || string(s.Handle.Data) != "final" || s.Reachability.PID != 4711 {
		t.Errorf("sandbox %+v", s)
	}
	if got := s.ExpiresAt.Sub(s.CreatedAt); got != time.Hour {
		t.Errorf("time to live %v, want the profile's 1h", got)
	}
}

func TestFailedCreateLeavesOnlyItsRecord(t *testing.T) {
	change := func(f func(*sdk.Created)) func() (sdk.Created, error) {
		return func() (sdk.Created, error) {
			c := goodCreated()
			f(&c)
			return c, nil
		}
	}
	tests := []struct {
		name    string
		answer  func() (sdk.Created, error)
		code    sdk.Code
		message string
	}{
		{"refusal", func() (sdk.Created, error) { return sdk.Created{}, sdk.Errorf(sdk.CodeDiskFull, "no room") }, sdk.CodeDiskFull, "no room"},
		{"error without a code", func() (sdk.Created, error) { return sdk.Created{}, errors.New("odd") }, sdk.CodeBackendFailed, "ext.fake could not make the sandbox: odd"},
		{"no mode", change(func(c *sdk.Created) { c.Execution = "" }), sdk.CodeBackendFailed, `mode ""`},
		{"other posture", change(func(c *sdk.Created) { c.Network.Posture = "allow" }), sdk.CodeBackendFailed, `posture "allow"`},
		{"posture not enforced", change(func(c *sdk.Created) { c.Network.Enforced = false }), sdk.CodeBackendFailed, "not enforced"},
		{"no place", change(func(c *sdk.Created) { c.Reachability = sdk.Reachability{} }), sdk.CodeBackendFailed, "ambiguous"},
		{"two places", change(func(c *sdk.Created) { c.Reachability.SSH, c.Reachability.RemoteDir = "h", "/w" }), sdk.CodeBackendFailed, "ambiguous"},
		{"relative workspace", change(func(c *sdk.Created) { c.Reachability.WorkspaceDir = "w" }), sdk.CodeBackendFailed, "ambiguous"},
		{"negative pid", change(func(c *sdk.Created) { c.Reachability.PID = -1 }), sdk.CodeBackendFailed, "ambiguous"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &fakeBackend{create: func(context.Context, sdk.CreateRequest, sdk.Progress) (sdk.Created, error) { return tt.answer() }}
			w := newWorld(t, sdk.Features{Backend: b})
			_, err := w.Create(t.Context(), CreateRequest{Profile: "fake", Consumer: consumer})
			wantCode(t, err, tt.code)
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("error %v, want one with %q", err, tt.message)
			}
			page, lerr := w.List(t.Context(), Filter{})
			if lerr != nil || len(page.Records) != 1 {
				t.Fatalf("records %v, %v", page.Records, lerr)
			}
			s := page.Records[0]
			if s.State != store.Destroyed || s.Failure == nil || s.Failure.Code != tt.code {
				t.Errorf("the record is %s, failure %+v", s.State, s.Failure)
			}
			if !cmp.Equal(b.destroyed, []string{s.ID}) {
				t.Errorf("destroyed %v, want the sandbox once", b.destroyed)
			}
		})
	}
}

func TestCreateRefusesBeforeARecord(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	hour := 3 * time.Hour
	for name, tt := range map[string]struct {
		req  CreateRequest
		code sdk.Code
	}{
		"consumer": {CreateRequest{Profile: "fake"}, sdk.CodeInvalidRequest},
		"profile":  {CreateRequest{Profile: "none", Consumer: consumer}, sdk.CodeProfileNotFound},
		"input":    {CreateRequest{Profile: "fake", Consumer: consumer, Inputs: map[string]string{"x": "y"}}, sdk.CodeInvalidRequest},
		"ttl":      {CreateRequest{Profile: "fake", Consumer: consumer, TTL: &hour}, sdk.CodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.Create(t.Context(), tt.req)
			wantCode(t, err, tt.code)
		})
	}
	if page, err := w.List(t.Context(), Filter{}); err != nil || len(page.Records) > 0 {
		t.Errorf("records %v, %v", page.Records, err)
	}
}

func TestDestroyEndsARunningCreate(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t, sdk.Features{Backend: b})
	started := make(chan string)
	b.create = func(ctx context.Context, req sdk.CreateRequest, _ sdk.Progress) (sdk.Created, error) {
		started <- req.SandboxID
		<-ctx.Done()
		return sdk.Created{}, ctx.Err()
	}
	result := make(chan error)
	go func() {
		_, err := w.Create(t.Context(), CreateRequest{Profile: "fake", Consumer: consumer})
		result <- err
	}()
	id := <-started
	d, err := w.Destroy(t.Context(), id)
	if err != nil || d.Sandbox.State != store.Destroyed {
		t.Errorf("destroyed %+v, %v", d, err)
	}
	if err := <-result; !strings.Contains(err.Error(), "was destroyed while it was being made") {
		t.Errorf("create: %v", err)
	}
}

// TestCreateThatNobodyWaitsFor has its context end when the backend is done.
func TestCreateThatNobodyWaitsFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := &fakeBackend{create: func(context.Context, sdk.CreateRequest, sdk.Progress) (sdk.Created, error) {
		cancel()
		return goodCreated(), nil
	}}
	w := newWorld(t, sdk.Features{Backend: b})
	_, err := w.Create(ctx, CreateRequest{Profile: "fake", Consumer: consumer})
	wantCode(t, err, sdk.CodeCanceled)
	page, err := w.List(t.Context(), Filter{})
	if err != nil || len(page.Records) != 1 || page.Records[0].State != store.Destroyed {
		t.Errorf("records %+v, %v", page.Records, err)
	}
}

func TestCheckpointOfAnUnwantedSandboxFails(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t, sdk.Features{Backend: b})
	b.create = func(ctx context.Context, req sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
		if err := w.store.Transition(ctx, req.SandboxID, alive, store.Destroying, nil); err != nil {
			t.Error(err)
		}
		return sdk.Created{}, p.Checkpoint(sdk.Handle{})
	}
	_, err := w.Create(t.Context(), CreateRequest{Profile: "fake", Consumer: consumer})
	wantCode(t, err, sdk.CodeCanceled)
}

func TestIdempotentCreate(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t, sdk.Features{Backend: b})
	var mu sync.Mutex
	creates := 0
	b.create = func(context.Context, sdk.CreateRequest, sdk.Progress) (sdk.Created, error) {
		mu.Lock()
		defer mu.Unlock()
		creates++
		return goodCreated(), nil
	}
	req := CreateRequest{Profile: "fake", Consumer: consumer, Once: &Once{Key: "k", BodyHash: "h"}}
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			s, err := w.Create(t.Context(), req)
			if err != nil {
				t.Error(err)
			}
			ids[i] = s.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("ids %v, want one", ids)
			break
		}
	}
	if creates != 1 {
		t.Errorf("%d creates, want 1", creates)
	}
	req.Once = &Once{Key: "k", BodyHash: "other"}
	_, err := w.Create(t.Context(), req)
	wantCode(t, err, sdk.CodeIdempotencyConflict)
}

// TestIdempotentCreateAfterACrash has a record whose maker is dead.
func TestIdempotentCreateAfterACrash(t *testing.T) {
	w := newWorld(t, sdk.Features{})
	once := Once{Key: "k", BodyHash: "h"}
	p, err := w.plan(t.Context(), CreateRequest{Profile: "fake", Consumer: consumer})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.insert(t.Context(), p.record, &once); err != nil {
		t.Fatal(err)
	}
	_, err = w.Create(t.Context(), CreateRequest{Profile: "fake", Consumer: consumer, Once: &once})
	wantCode(t, err, sdk.CodeCanceled)
	if s, err := w.Get(t.Context(), p.record.ID); err != nil || s.State != store.Destroyed {
		t.Errorf("state %s, %v", s.State, err)
	}
}

func TestIdempotentCreateRepeatsItsFailure(t *testing.T) {
	b := &fakeBackend{create: func(context.Context, sdk.CreateRequest, sdk.Progress) (sdk.Created, error) {
		return sdk.Created{}, sdk.Errorf(sdk.CodeDiskFull, "no room").WithHint("make some")
	}}
	w := newWorld(t, sdk.Features{Backend: b})
	req := CreateRequest{Profile: "fake", Consumer: consumer, Once: &Once{Key: "k", BodyHash: "h"}}
	for range 2 {
		_, err := w.Create(t.Context(), req)
		wantCode(t, err, sdk.CodeDiskFull)
	}
	if len(b.destroyed) != 1 {
		t.Errorf("%d sandboxes were made, want 1", len(b.destroyed))
	}
}
