package main

import (
	"context"
	"time"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/brokerclient"
	"github.com/tegwick/sand-boxer/sdk"
)

// Renew implements sdk.Renewer.
func (b *backend) Renew(ctx context.Context, ref sdk.Ref, expiresAt time.Time) error {
	c, err := brokerclient.Dial(string(b.paths.sandbox(ref.SandboxID)))
	if err != nil {
		return goneError(ref.SandboxID, err)
	}
	defer c.Close()
	if err := c.Renew(ctx, expiresAt); err != nil {
		return goneError(ref.SandboxID, err)
	}
	return nil
}

// Inspect implements sdk.Inspector.
func (b *backend) Inspect(_ context.Context, ref sdk.Ref) (sdk.Status, error) {
	lives, err := b.paths.sandbox(ref.SandboxID).lives()
	if err != nil || lives {
		return sdk.Status{Alive: lives}, err
	}
	return sdk.Status{Reason: "its namespaces have ended: it expired, was killed, or the machine restarted"}, nil
}
