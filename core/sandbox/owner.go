// Package sandbox is the owner: the one party that provisions, executes in,
// renews, expires and destroys sandboxes.
//
// An [Owner] may live in a resident service or in a command that ends at once;
// several may work on one state directory at the same time. What they agree on
// is on the disk: the records of core/store, one lock file for the life of a
// sandbox and one for its exec. Intent is stored before anything is made, and
// every step may be repeated.
package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tegwick/sand-boxer/core/audit"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// Names of the store's types, for those who hold an Owner and no store.
type (
	// Sandbox is what is known of a sandbox.
	Sandbox = store.Record
	// Consumer is the identity that a sandbox is bound to.
	Consumer = store.Consumer
	// Failure says why a sandbox failed.
	Failure = store.Failure
	// State is where a sandbox is in its life.
	State = store.State
	// Filter selects sandboxes in List.
	Filter = store.Filter
	// Page is a part of a list.
	Page = store.Page
)

// Extension is a running extension, as the owner needs it.
type Extension struct {
	Info     sdk.Info
	Features sdk.Features
}

// Extensions launches extensions by name.
type Extensions interface {
	Open(ctx context.Context, name string) (Extension, error)
	// Installed lists the names of all that Open may find.
	Installed() ([]string, error)
}

// Profiles finds profiles by name.
type Profiles interface {
	Find(name string) (*profile.Profile, error)
}

// Config is what an Owner is made of. StateDir, Profiles, Extensions and Log are
// required.
type Config struct {
	// StateDir is an absolute path. Open makes the directory.
	StateDir   string
	Profiles   Profiles
	Extensions Extensions
	Log        hclog.Logger
	// SourceRoots bounds the directories that may be copied: empty allows
	// all but those that are never a source.
	SourceRoots []string
	// OnlySourceRoots keeps to SourceRoots where it is empty too: nothing may
	// then be copied.
	OnlySourceRoots bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Report is told what a create is doing; nil discards it.
	Report func(message string)
}

// Owner owns the sandboxes of a state directory. Its methods may be called
// from several goroutines.
type Owner struct {
	Config
	store *store.Store
	audit *audit.Log
}

// Open opens the state directory, makes it where it is missing, and returns its
// owner. The caller closes it.
func Open(ctx context.Context, c Config) (*Owner, error) {
	if !filepath.IsAbs(c.StateDir) {
		return nil, sdk.Errorf(sdk.CodeInvalidRequest, "the state directory %q is not an absolute path", c.StateDir).
			WithHint("set SANDBOXER_STATE_DIR to a path that starts with /")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Report == nil {
		c.Report = func(string) {}
	}
	// Below it lie the workspaces, which other uids than root's must reach.
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := makeDir(c.StateDir, mode); err != nil {
		return nil, err
	}
	if err := makeDir(filepath.Join(c.StateDir, "locks"), 0o700); err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, c.StateDir)
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(c.StateDir)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Owner{Config: c, store: s, audit: log}, nil
}

// Close releases the state directory. Sandboxes live on.
func (o *Owner) Close() error { return errors.Join(o.audit.Close(), o.store.Close()) }

func makeDir(path string, mode os.FileMode) error {
	err := os.MkdirAll(path, mode)
	if err == nil {
		return nil
	}
	return sdk.Errorf(sdk.CodeHostUnsupported, "cannot make the state directory: %w", err).
		WithHint("set SANDBOXER_STATE_DIR to a directory that you may write to")
}

// Get returns a sandbox, with state expired where its time has passed.
func (o *Owner) Get(ctx context.Context, id string) (Sandbox, error) {
	if err := checkID(id); err != nil {
		return Sandbox{}, err
	}
	s, err := o.store.Get(ctx, id)
	if err != nil {
		return Sandbox{}, err
	}
	return o.withExpiry(s), nil
}

// List returns the sandboxes that f selects, oldest first.
func (o *Owner) List(ctx context.Context, f Filter) (Page, error) {
	wanted := f.States
	// A sandbox whose time has passed unnoticed is stored as ready.
	f.States = storedStates(wanted)
	page, err := o.store.List(ctx, f)
	if err != nil {
		return Page{}, err
	}
	kept := page.Records[:0]
	for _, s := range page.Records {
		if s = o.withExpiry(s); len(wanted) == 0 || slices.Contains(wanted, s.State) {
			kept = append(kept, s)
		}
	}
	page.Records = kept
	return page, nil
}

func storedStates(wanted []State) []State {
	if slices.Contains(wanted, store.Expired) && !slices.Contains(wanted, store.Ready) {
		return append([]State{store.Ready}, wanted...)
	}
	return wanted
}

func (o *Owner) withExpiry(s Sandbox) Sandbox {
	if s.State == store.Ready && !o.Now().Before(s.ExpiresAt) {
		s.State = store.Expired
	}
	return s
}

func checkID(id string) error {
	if sdk.ValidSandboxID(id) {
		return nil
	}
	return sdk.Errorf(sdk.CodeInvalidRequest, "%q is not a sandbox id: it is \"sbx-\" and 26 lower-case letters and digits", id).
		WithHint("'sandboxer list' shows the ids").WithField("/sandbox_id")
}
