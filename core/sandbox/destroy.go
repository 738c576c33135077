package sandbox

import (
	"context"
	"errors"

	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// alive are the states from which a sandbox may be destroyed; destroying is
// one of them, since a destroy may have been cut short.
var alive = []State{store.Provisioning, store.Ready, store.Failed, store.Expired, store.Destroying}

// Destroyed says what a destroy did.
type Destroyed struct {
	Sandbox Sandbox
	// Removed names what was removed; empty when nothing was left.
	Removed []string
}

// Destroy removes everything of a sandbox and returns when nothing is left. It
// may be called again. A create of the sandbox that is still running is ended.
func (o *Owner) Destroy(ctx context.Context, id string) (Destroyed, error) {
	return o.destroy(ctx, id, nil)
}

// destroy is Destroy with the reason to note; nil for none.
func (o *Owner) destroy(ctx context.Context, id string, why *Failure) (Destroyed, error) {
	if err := checkID(id); err != nil {
		return Destroyed{}, err
	}
	err := o.store.Transition(ctx, id, alive, store.Destroying, why)
	if e, ok := errors.AsType[*store.StateError](err); ok && e.State == store.Destroyed {
		s, err := o.store.Get(ctx, id)
		return Destroyed{Sandbox: s}, err
	}
	if err != nil {
		return Destroyed{}, err
	}
	unlock, err := o.lock(ctx, id, lifeLock)
	if err != nil {
		return Destroyed{}, err
	}
	defer unlock()
	return o.remove(ctx, id)
}

// remove has the backend remove the sandbox and marks it destroyed. The caller
// holds the life lock.
func (o *Owner) remove(ctx context.Context, id string) (Destroyed, error) {
	s, err := o.store.Get(ctx, id)
	if err != nil {
		return Destroyed{}, err
	}
	if s.State == store.Destroyed {
		return Destroyed{Sandbox: s}, o.removeLocks(id)
	}
	if err := o.store.Transition(ctx, id, alive, store.Destroying, nil); err != nil {
		return Destroyed{}, err
	}
	ext, err := o.Extensions.Open(ctx, s.Extension)
	if err != nil {
		return Destroyed{}, err
	}
	done, err := ext.Features.Destroy(ctx, refOf(s))
	if err != nil {
		o.note(ctx, s, event{action: actionDestroy, outcome: outcomeFailed, code: sdk.CodeOf(err)})
		return Destroyed{}, backendError(s.Extension, "destroy the sandbox", err)
	}
	if err := o.store.Transition(ctx, id, []State{store.Destroying}, store.Destroyed, nil); err != nil {
		return Destroyed{}, err
	}
	o.note(ctx, s, event{action: actionDestroy, outcome: outcomeOK})
	if s, err = o.store.Get(ctx, id); err != nil {
		return Destroyed{}, err
	}
	return Destroyed{Sandbox: s, Removed: done.Removed}, o.removeLocks(id)
}

func refOf(s Sandbox) sdk.Ref {
	return sdk.Ref{SandboxID: s.ID, HostID: s.HostID, Handle: s.Handle}
}
