package sandbox

import (
	"context"

	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// Inspect is Get, and asks the backend whether a ready sandbox still lives: one
// that does not is marked failed.
func (o *Owner) Inspect(ctx context.Context, id string) (Sandbox, error) {
	s, err := o.Get(ctx, id)
	if err != nil || s.State != store.Ready {
		return s, err
	}
	ext, err := o.Extensions.Open(ctx, s.Extension)
	if err != nil || ext.Features.Inspect == nil {
		return s, err
	}
	status, err := ext.Features.Inspect(ctx, refOf(s))
	if err != nil || status.Alive {
		return s, err
	}
	// It may have ended because its time passed meanwhile.
	if s = o.withExpiry(s); s.State != store.Ready {
		return s, nil
	}
	failure := &Failure{Code: sdk.CodeSandboxGone, Message: status.Reason, Hint: "sandboxer destroy " + id + ", then create a new one"}
	if err := o.store.Transition(ctx, id, []State{store.Ready}, store.Failed, failure); err != nil {
		return Sandbox{}, err
	}
	return o.Get(ctx, id)
}
