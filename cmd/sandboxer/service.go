package main

import (
	"context"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/sdk"
)

// service is what the verbs work with.
type service interface {
	Create(ctx context.Context, req apitype.CreateRequest) (apitype.Sandbox, error)
	Get(ctx context.Context, id string) (apitype.Sandbox, error)
	List(ctx context.Context, f listFilter) (apitype.SandboxList, error)
	Reachability(ctx context.Context, id string) (apitype.ReachabilityReport, error)
	// Exec writes the streams of the command to live as they come, where live
	// is not nil; they are then missing from the result.
	Exec(ctx context.Context, id string, req apitype.ExecRequest, live *sdk.ExecOutput) (apitype.ExecResult, error)
	Renew(ctx context.Context, id string, req apitype.RenewRequest) (apitype.Sandbox, error)
	Destroy(ctx context.Context, id string) (apitype.Destroyed, error)
	Reap(ctx context.Context, dryRun bool) (apitype.Reaped, error)
	// Close releases what the service holds; sandboxes live on.
	Close() error
}

// listFilter selects sandboxes; empty fields select all.
type listFilter struct {
	states           []string
	project, profile string
}

// withService opens the service that the verb is for, and closes it at the end.
func (a *app) withService(ctx context.Context, fn func(service) error) (err error) {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	return fn(s)
}

// open opens the service at --addr, else the state directory of this machine.
func (a *app) open(ctx context.Context) (service, error) {
	if a.addr != "" {
		return openRemote(a.addr)
	}
	return a.openLocal(ctx)
}
