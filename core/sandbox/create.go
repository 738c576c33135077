package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// watchInterval is how often a running create looks whether somebody else
// destroys its sandbox.
const watchInterval = 500 * time.Millisecond

// CreateRequest asks for a sandbox.
type CreateRequest struct {
	// Profile is a profile's name, with or without "profile.".
	Profile string
	// Inputs are the values of the profile's inputs, as text.
	Inputs   map[string]string
	Consumer Consumer
	// TTL is how long the sandbox lives; nil is the profile's default.
	TTL *time.Duration
	// Once makes the create idempotent; nil does not.
	Once *Once
}

// Once names a create that may be asked for again.
type Once struct {
	// Key is the client's; it counts for one bearer of the API.
	Key string
	// BodyHash tells whether the same is asked for.
	BodyHash string
}

// plan is a create that has been checked and has made nothing yet.
type plan struct {
	record  store.Record
	ext     Extension
	request sdk.CreateRequest
}

// Create provisions a sandbox and returns it when it is ready. When it fails,
// or ctx ends, nothing is left of the sandbox but its record.
func (o *Owner) Create(ctx context.Context, req CreateRequest) (Sandbox, error) {
	if req.Once != nil {
		if s, found, err := o.createdBefore(ctx, *req.Once); found || err != nil {
			return s, err
		}
	}
	p, err := o.plan(ctx, req)
	if err != nil {
		return Sandbox{}, err
	}
	id := p.record.ID
	unlock, err := o.lock(ctx, id, lifeLock)
	if err != nil {
		return Sandbox{}, err
	}
	defer unlock()
	if s, found, err := o.insert(ctx, p.record, req.Once); found || err != nil {
		return s, errors.Join(err, o.removeLocks(id))
	}
	err = o.provision(ctx, p)
	if err == nil {
		err = ctx.Err() // nobody waits for it any more
	}
	if err != nil {
		return Sandbox{}, o.abandon(context.WithoutCancel(ctx), p, err)
	}
	s, err := o.store.Get(context.WithoutCancel(ctx), id)
	if err != nil {
		return Sandbox{}, err
	}
	o.note(ctx, s, event{action: actionCreate, outcome: outcomeOK})
	return s, nil
}

// plan checks everything that can be checked before the sandbox has a record.
func (o *Owner) plan(ctx context.Context, req CreateRequest) (plan, error) {
	if err := checkConsumer(req.Consumer); err != nil {
		return plan{}, err
	}
	prof, err := o.Profiles.Find(req.Profile)
	if err != nil {
		return plan{}, err
	}
	resolved, err := prof.Resolve(req.Inputs)
	if err != nil {
		return plan{}, err
	}
	workspace := resolved.Workspace
	if workspace.Path != "" {
		if workspace.Path, err = o.resolveSource(workspace.Path); err != nil {
			return plan{}, err
		}
	}
	ttl, err := chooseTTL(req.TTL, prof)
	if err != nil {
		return plan{}, err
	}
	ext, err := o.Extensions.Open(ctx, prof.Extension)
	if err != nil {
		return plan{}, err
	}
	if err := prof.CheckVersion(ext.Info.Version); err != nil {
		return plan{}, err
	}
	config, err := o.config(ctx, resolved, ext)
	if err != nil {
		return plan{}, err
	}
	host, err := o.store.HostID()
	if err != nil {
		return plan{}, err
	}
	now := o.Now().UTC().Truncate(time.Millisecond)
	network := sdk.NetworkRequest{Posture: prof.Network.Posture, BestEffort: prof.Network.BestEffort}
	record := store.Record{
		ID: "sbx-" + strings.ToLower(ulid.MustNewDefault(now).String()), HostID: host, State: store.Provisioning,
		Profile: prof.Name, ProfileDigest: prof.Digest, Extension: prof.Extension, ExtensionVersion: ext.Info.Version,
		Consumer: req.Consumer, CreatedAt: now, ExpiresAt: now.Add(ttl), MaxExpiresAt: now.Add(prof.TTL.Max),
		ExecTimeoutMax: prof.Exec.TimeoutMax, Network: sdk.Network{Posture: network.Posture},
	}
	return plan{record: record, ext: ext, request: sdk.CreateRequest{
		SandboxID: record.ID, HostID: host, Workspace: workspace, Network: network, ExpiresAt: record.ExpiresAt, Config: config,
	}}, nil
}

func (o *Owner) config(ctx context.Context, resolved *profile.Resolved, ext Extension) ([]byte, error) {
	config, err := resolved.Config(ext.Info.Schema)
	if err != nil || ext.Features.ValidateConfig == nil {
		return config, err
	}
	diags, err := ext.Features.ValidateConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return config, resolved.Diagnose(diags)
}

func chooseTTL(asked *time.Duration, p *profile.Profile) (time.Duration, error) {
	if asked == nil {
		return p.TTL.Default, nil
	}
	if *asked < time.Second || *asked > p.TTL.Max {
		return 0, sdk.Errorf(sdk.CodeInvalidRequest, "a time to live of %v is not between 1s and %v, the maximum of profile.%s", *asked, p.TTL.Max, p.Name).
			WithHint("ask for a time within these bounds, or raise ttl.max in %s", p.File).WithField("/ttl_seconds")
	}
	return *asked, nil
}

// insert stores the intent. Found is true when a create with the same key came
// first; then its sandbox is returned.
func (o *Owner) insert(ctx context.Context, r store.Record, once *Once) (Sandbox, bool, error) {
	if once == nil {
		return Sandbox{}, false, o.store.Insert(ctx, r)
	}
	_, inserted, err := o.store.InsertOnce(ctx, r, once.key(), once.BodyHash)
	if err != nil || inserted {
		return Sandbox{}, false, err
	}
	return o.createdBefore(ctx, *once)
}

func (once Once) key() store.Key { return store.Key{Scope: "create", Name: once.Key} }

// createdBefore returns the sandbox of an earlier create with the same key. It
// waits for one that is still running.
func (o *Owner) createdBefore(ctx context.Context, once Once) (Sandbox, bool, error) {
	r, found, err := o.store.Reserved(ctx, once.key())
	if err != nil || !found {
		return Sandbox{}, false, err
	}
	if r.BodyHash != once.BodyHash {
		return Sandbox{}, false, sdk.Errorf(sdk.CodeIdempotencyConflict, "the idempotency key was used for another request").
			WithHint("use a new key for each new request")
	}
	unlock, err := o.lock(ctx, r.SandboxID, lifeLock)
	if err != nil {
		return Sandbox{}, false, err
	}
	unlock()
	s, err := o.Get(ctx, r.SandboxID)
	if err == nil && s.State == store.Provisioning {
		// Nobody holds its lock: whoever was making it is dead.
		_, err = o.destroy(ctx, s.ID, &Failure{Code: sdk.CodeCanceled, Message: "its create was cut short", Hint: "create a new one, with a new idempotency key"})
		if err == nil {
			s, err = o.Get(ctx, s.ID)
		}
	}
	if err == nil && s.Failure != nil && s.State != store.Ready {
		err = &sdk.Error{Code: s.Failure.Code, Message: s.Failure.Message, Hint: s.Failure.Hint}
	}
	return s, err == nil, err
}

// provision has the backend make the sandbox and marks it ready.
func (o *Owner) provision(ctx context.Context, p plan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go o.watch(ctx, p.record.ID, cancel)
	created, err := p.ext.Features.Create(ctx, p.request, &progress{ctx: ctx, owner: o, id: p.record.ID})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return backendError(p.record.Extension, "make the sandbox", err)
	}
	if err := checkCreated(p, created); err != nil {
		return err
	}
	return unwanted(o.store.SetReady(ctx, p.record.ID, created))
}

// watch ends a create whose sandbox is destroyed meanwhile.
func (o *Owner) watch(ctx context.Context, id string, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s, err := o.store.Get(ctx, id); err == nil && s.State != store.Provisioning && s.State != store.Ready {
			cancel(unwanted(&store.StateError{SandboxID: id, State: s.State}))
			return
		}
	}
}

// unwanted names the reason when somebody destroyed a sandbox in the making.
func unwanted(err error) error {
	if e, ok := errors.AsType[*store.StateError](err); ok {
		return sdk.Errorf(sdk.CodeCanceled, "sandbox %s was destroyed while it was being made", e.SandboxID)
	}
	return err
}

// checkCreated holds a backend to what it was asked for.
func checkCreated(p plan, c sdk.Created) error {
	lied := func(format string, args ...any) error {
		return sdk.Errorf(sdk.CodeBackendFailed, "ext.%s answered a create with %s", p.record.Extension, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Execution != sdk.ExecutionOwnerMediated && c.Execution != sdk.ExecutionSSH:
		return lied("the execution mode %q", c.Execution)
	case c.Network.Posture != p.request.Network.Posture:
		return lied("the network posture %q", c.Network.Posture)
	case !c.Network.Enforced && !p.request.Network.BestEffort:
		return lied("a network posture that is not enforced")
	}
	r := c.Reachability
	local, remote := r.PID != 0 || r.WorkspaceDir != "", r.SSH != "" || r.RemoteDir != ""
	if local == remote || local && (r.PID <= 0 || !strings.HasPrefix(r.WorkspaceDir, "/")) ||
		remote && (r.SSH == "" || !strings.HasPrefix(r.RemoteDir, "/")) {
		return lied("an ambiguous reachability")
	}
	return nil
}

// abandon removes what a failed create left and returns why it failed.
func (o *Owner) abandon(ctx context.Context, p plan, cause error) error {
	if errors.Is(cause, context.Canceled) {
		cause = sdk.Errorf(sdk.CodeCanceled, "the create was interrupted: %w", cause)
	}
	e := sdk.AsError(cause)
	failure := &Failure{Code: e.Code, Message: e.Message, Hint: e.Hint}
	s := p.record
	err := o.store.Transition(ctx, s.ID, []State{store.Provisioning, store.Ready}, store.Failed, failure)
	if unwanted(err) != err {
		err = nil // whoever destroys it has noted so
	}
	o.note(ctx, s, event{action: actionCreate, outcome: outcomeFailed, code: e.Code})
	if err == nil {
		_, err = o.remove(ctx, s.ID)
	}
	if err != nil {
		return fmt.Errorf("%w; and what was made of it remains, until 'sandboxer destroy %s': %w", cause, s.ID, err)
	}
	return cause
}

// progress stores what a running create hands up.
type progress struct {
	ctx   context.Context
	owner *Owner
	id    string
}

func (p *progress) Checkpoint(h sdk.Handle) error {
	return unwanted(p.owner.store.SetHandle(p.ctx, p.id, h))
}

func (p *progress) Report(message string) { p.owner.Report(message) }
