package sandbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

// fakeBackend is a backend made of funcs; a nil func does what a good backend
// does.
type fakeBackend struct {
	create  func(context.Context, sdk.CreateRequest, sdk.Progress) (sdk.Created, error)
	destroy func(context.Context, sdk.Ref) (sdk.Destroyed, error)
	list    func() ([]sdk.Found, error)

	destroyed []string
}

func (*fakeBackend) Info() sdk.Info { return sdk.Info{Name: "fake", Version: "1.0.0"} }

func (f *fakeBackend) Create(ctx context.Context, req sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
	if f.create != nil {
		return f.create(ctx, req, p)
	}
	return goodCreated(), nil
}

func goodCreated() sdk.Created {
	return sdk.Created{
		Handle:       sdk.Handle{Version: 1, Data: []byte("final")},
		Reachability: sdk.Reachability{PID: 4711, WorkspaceDir: "/workspace"},
		Execution:    sdk.ExecutionOwnerMediated,
		Network:      sdk.Network{Posture: sdk.PostureDeny, Enforced: true},
	}
}

func (f *fakeBackend) Destroy(ctx context.Context, ref sdk.Ref) (sdk.Destroyed, error) {
	f.destroyed = append(f.destroyed, ref.SandboxID)
	if f.destroy != nil {
		return f.destroy(ctx, ref)
	}
	return sdk.Destroyed{Removed: []string{"all"}}, nil
}

func (f *fakeBackend) List(context.Context, string) ([]sdk.Found, error) {
	if f.list != nil {
		return f.list()
	}
	return nil, nil
}

type fakeExtensions struct{ features sdk.Features }

func (f fakeExtensions) Open(context.Context, string) (Extension, error) {
	return Extension{Info: f.features.Info(), Features: f.features}, nil
}

func (fakeExtensions) Installed() ([]string, error) { return []string{"fake"}, nil }

const fakeProfile = `profile "fake" {
  extension         = "fake"
  extension_version = "~> 1.0"
  ttl {
    default = "1h"
    max     = "2h"
  }
  exec {
    timeout_max = "1h"
  }
}
`

type fakeProfiles struct{}

func (fakeProfiles) Find(name string) (*profile.Profile, error) {
	if name != "fake" {
		return nil, sdk.Errorf(sdk.CodeProfileNotFound, "there is no profile %s", name)
	}
	return profile.Parse("/profiles/fake.hcl", []byte(fakeProfile))
}

// world is an owner with a fake backend and a clock that tests set.
type world struct {
	*Owner
	backend *fakeBackend
	now     time.Time
}

// newWorld makes an owner. Features is told what the backend can do beside.
func newWorld(t *testing.T, features sdk.Features) *world {
	t.Helper()
	w := &world{now: time.Now().UTC().Truncate(time.Millisecond)}
	w.backend, _ = features.Backend.(*fakeBackend)
	if w.backend == nil {
		w.backend = &fakeBackend{}
		features.Backend = w.backend
	}
	o, err := Open(t.Context(), Config{
		StateDir: t.TempDir(), Profiles: fakeProfiles{}, Extensions: fakeExtensions{features},
		Log: hclog.NewNullLogger(), Now: func() time.Time { return w.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Owner = o
	return w
}

func (w *world) create(t *testing.T) Sandbox {
	t.Helper()
	s, err := w.Create(t.Context(), CreateRequest{Profile: "fake", Consumer: consumer})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantCode checks that err has the code, and a message.
func wantCode(t *testing.T, err error, code sdk.Code) {
	t.Helper()
	if sdk.CodeOf(err) != code || errors.Is(err, nil) != (code == "") {
		t.Errorf("error %v has code %q, want %q", err, sdk.CodeOf(err), code)
	}
}
