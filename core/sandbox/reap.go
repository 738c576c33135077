package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// Reaped is one sandbox that a reap destroyed, or would destroy.
type Reaped struct {
	SandboxID string
	// Reason says why it goes.
	Reason string
	// Err is why it could not be destroyed; nil otherwise.
	Err error
}

// Reap destroys the sandboxes that have expired or failed, those whose create
// or destroy was cut short, and what no record owns. With dryRun it only says
// which. It goes on after an error; the errors are in what it returns.
func (o *Owner) Reap(ctx context.Context, dryRun bool) ([]Reaped, error) {
	// Read before the extensions are asked: what is created meanwhile then
	// has a record by the time it is looked up below.
	page, err := o.store.List(ctx, Filter{States: alive})
	if err != nil {
		return nil, err
	}
	var reaped []Reaped
	for _, s := range page.Records {
		reason, why := o.reapReason(s)
		if reason == "" {
			continue
		}
		r := Reaped{SandboxID: s.ID, Reason: reason}
		if !dryRun {
			_, r.Err = o.destroy(ctx, s.ID, why)
		}
		reaped = append(reaped, r)
	}
	orphans, err := o.reapOrphans(ctx, dryRun)
	if !dryRun {
		_, perr := o.store.Purge(ctx, o.Now().Add(-store.Retention))
		err = errors.Join(err, perr, o.sweepLocks(ctx))
	}
	return append(reaped, orphans...), err
}

// reapReason says why a recorded sandbox goes, "" when it stays.
func (o *Owner) reapReason(s Sandbox) (reason string, why *Failure) {
	switch s = o.withExpiry(s); s.State {
	case store.Expired:
		message := "it expired at " + s.ExpiresAt.Format(time.RFC3339)
		return message, &Failure{Code: sdk.CodeSandboxExpired, Message: message}
	case store.Failed:
		return "it is failed", nil
	case store.Provisioning, store.Destroying:
		unlock, free, err := o.tryLock(s.ID, lifeLock)
		if err != nil || !free {
			return "", nil // somebody is at work on it
		}
		unlock()
		if s.State == store.Provisioning {
			message := "its create was cut short"
			return message, &Failure{Code: sdk.CodeCanceled, Message: message}
		}
		return "its destroy was cut short", nil
	}
	return "", nil
}

// reapOrphans destroys what the extensions find and no live record owns.
func (o *Owner) reapOrphans(ctx context.Context, dryRun bool) ([]Reaped, error) {
	names, err := o.Extensions.Installed()
	if err != nil {
		return nil, err
	}
	host, err := o.store.HostID()
	if err != nil {
		return nil, err
	}
	var reaped []Reaped
	var errs []error
	for _, name := range names {
		ext, err := o.Extensions.Open(ctx, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found, err := ext.Features.List(ctx, host)
		if err != nil {
			errs = append(errs, fmt.Errorf("list the sandboxes of ext.%s: %w", name, err))
			continue
		}
		for _, f := range found {
			if orphan, err := o.isOrphan(ctx, f.SandboxID); err != nil || !orphan {
				errs = append(errs, err)
				continue
			}
			r := Reaped{SandboxID: f.SandboxID, Reason: "no record owns it"}
			if !dryRun {
				_, r.Err = ext.Features.Destroy(ctx, sdk.Ref{SandboxID: f.SandboxID, HostID: host})
			}
			reaped = append(reaped, r)
		}
	}
	return reaped, errors.Join(errs...)
}

// isOrphan reports whether id has no record, or one that says destroyed.
func (o *Owner) isOrphan(ctx context.Context, id string) (bool, error) {
	s, err := o.store.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return err == nil && s.State == store.Destroyed, err
}
