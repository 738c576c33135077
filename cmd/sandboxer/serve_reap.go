package main

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tegwick/sand-boxer/core/sandbox"
)

// reaper destroys what has expired, again and again.
type reaper struct {
	owner interface {
		Reap(ctx context.Context, dryRun bool) ([]sandbox.Reaped, error)
	}
	metrics interface {
		Reaped(reaped []sandbox.Reaped, err error)
	}
	interval time.Duration
	log      hclog.Logger
}

// run reaps at once and then each interval after the last reap began, never two
// at a time, until ctx ends. A reap that runs then may go on until stop ends.
func (r *reaper) run(ctx, stop context.Context) {
	tick := time.NewTicker(r.interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.reap(stop)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (r *reaper) reap(ctx context.Context) {
	reaped, err := r.owner.Reap(ctx, false)
	r.metrics.Reaped(reaped, err)
	for _, x := range reaped {
		if x.Err != nil {
			r.log.Error("a sandbox could not be destroyed", "sandbox_id", x.SandboxID, "reason", x.Reason, "error", x.Err)
			continue
		}
		r.log.Info("destroyed a sandbox", "sandbox_id", x.SandboxID, "reason", x.Reason)
	}
	if err != nil {
		r.log.Error("look for what has expired", "error", err)
	}
}
