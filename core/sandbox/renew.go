package sandbox

import (
	"context"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// Renew moves the expiry of a ready sandbox to ttl from now: never earlier than
// it is, never beyond the profile's maximum.
func (o *Owner) Renew(ctx context.Context, id string, ttl time.Duration) (Sandbox, error) {
	s, err := o.Get(ctx, id)
	if err == nil {
		err = checkReady(s)
	}
	if err != nil {
		return Sandbox{}, err
	}
	if ttl < time.Second {
		return Sandbox{}, sdk.Errorf(sdk.CodeInvalidRequest, "a time to live of %v is less than one second", ttl).WithField("/ttl_seconds")
	}
	until := o.Now().Add(ttl).UTC().Truncate(time.Millisecond)
	if until.After(s.MaxExpiresAt) {
		return Sandbox{}, sdk.Errorf(sdk.CodeInvalidRequest, "a time to live of %v would pass %s, the latest that the profile allows this sandbox", ttl, s.MaxExpiresAt.Format(time.RFC3339)).
			WithField("/ttl_seconds").WithHint("ask for less, or create a new sandbox")
	}
	if !until.After(s.ExpiresAt) {
		return s, nil
	}
	ext, err := o.Extensions.Open(ctx, s.Extension)
	if err != nil {
		return Sandbox{}, err
	}
	if ext.Features.Renew == nil {
		return Sandbox{}, sdk.Errorf(sdk.CodeRenewUnsupported, "ext.%s does not offer renew", s.Extension).
			WithHint("create the sandbox with a longer --ttl")
	}
	// The backend first: a sandbox that outlives its record is reaped, one that
	// ends before it would break a promise.
	if err := ext.Features.Renew(ctx, refOf(s), until); err != nil {
		return Sandbox{}, o.execFailed(context.WithoutCancel(ctx), s, err)
	}
	if _, err := o.store.SetExpiry(ctx, id, until); err != nil {
		return Sandbox{}, err
	}
	o.note(ctx, s, event{action: actionRenew, outcome: outcomeOK})
	return o.Get(ctx, id)
}
