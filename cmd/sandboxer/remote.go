package main

import (
	"context"
	"errors"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/client"
	"github.com/tegwick/sand-boxer/sdk"
)

// Codes of what goes wrong only on the way to a service.
const (
	codeServiceUnreachable sdk.Code = "service_unreachable"
	codeReapUnsupported    sdk.Code = "reap_unsupported"
)

// remote asks a running service, which is the owner.
type remote struct{ client *client.Client }

func openRemote(addr string) (*remote, error) {
	token, err := readToken()
	if err != nil {
		return nil, err
	}
	c, err := client.New(addr, client.Options{Token: token})
	if err != nil {
		return nil, sdk.Errorf(sdk.CodeInvalidRequest, "%w", err).WithField("--addr").
			WithHint("'sandboxer serve' prints its addresses; give one to --addr or SANDBOXER_ADDR")
	}
	return &remote{c}, nil
}

func (r *remote) Close() error {
	r.client.Close()
	return nil
}

func (r *remote) Create(ctx context.Context, req apitype.CreateRequest) (apitype.Sandbox, error) {
	s, err := r.client.CreateSandbox(ctx, req)
	return s, remoteError(err)
}

func (r *remote) Get(ctx context.Context, id string) (apitype.Sandbox, error) {
	s, err := r.client.Get(ctx, id)
	return s, remoteError(err)
}

// List goes through all pages: the verb knows of none.
func (r *remote) List(ctx context.Context, f listFilter) (apitype.SandboxList, error) {
	list := apitype.SandboxList{Sandboxes: []apitype.Sandbox{}}
	for s, err := range r.client.All(ctx, client.ListFilter{States: f.states, Project: f.project, Profile: f.profile}) {
		if err != nil {
			return apitype.SandboxList{}, remoteError(err)
		}
		list.Sandboxes = append(list.Sandboxes, s)
	}
	return list, nil
}

func (r *remote) Reachability(ctx context.Context, id string) (apitype.ReachabilityReport, error) {
	report, err := r.client.Reachability(ctx, id)
	return report, remoteError(err)
}

// Exec has the streams when the command has ended, not as they come: HTTP
// answers once.
func (r *remote) Exec(ctx context.Context, id string, req apitype.ExecRequest, live *sdk.ExecOutput) (apitype.ExecResult, error) {
	res, err := r.client.Exec(ctx, id, req)
	if errors.Is(err, context.Canceled) {
		return res, sdk.Errorf(sdk.CodeCanceled, "interrupted; the service ends the command")
	}
	if err != nil || live == nil {
		return res, remoteError(err)
	}
	stdout, stderr, err := client.Streams(res)
	if err != nil {
		return res, err
	}
	res.Stdout, res.Stderr = "", ""
	_, outErr := live.Stdout.Write(stdout)
	_, errErr := live.Stderr.Write(stderr)
	return res, errors.Join(outErr, errErr)
}

func (r *remote) Renew(ctx context.Context, id string, req apitype.RenewRequest) (apitype.Sandbox, error) {
	s, err := r.client.Renew(ctx, id, req)
	return s, remoteError(err)
}

func (r *remote) Destroy(ctx context.Context, id string) (apitype.Destroyed, error) {
	d, err := r.client.Destroy(ctx, id)
	return d, remoteError(err)
}

func (r *remote) Reap(context.Context, bool) (apitype.Reaped, error) {
	return apitype.Reaped{}, sdk.Errorf(codeReapUnsupported, "a service reaps by itself and cannot be told to").
		WithHint("to reap now, leave --addr and SANDBOXER_ADDR out and work on its state directory")
}

// remoteError makes of what a client returns what the owner itself would have
// returned.
func remoteError(err error) error {
	if p, ok := errors.AsType[*apitype.Problem](err); ok {
		e := &sdk.Error{Code: sdk.Code(p.Code), Message: p.Detail, Hint: p.Hint, Field: p.Pointer}
		switch {
		case p.Code == apitype.CodeUnauthenticated:
			e.Hint = "set " + tokenFileEnv + " to the file that holds the token of the service"
		case e.Code == sdk.CodeInternal && p.RequestID != "":
			e.Hint = "the log of the service says why, under " + p.RequestID
		}
		return e
	}
	if errors.Is(err, context.Canceled) {
		return sdk.Errorf(sdk.CodeCanceled, "interrupted: %w", err)
	}
	if _, ok := errors.AsType[*client.ConnectError](err); ok {
		return sdk.Errorf(codeServiceUnreachable, "%w", err).
			WithHint("start one with 'sandboxer serve', or leave --addr and SANDBOXER_ADDR out to work without a service")
	}
	return err
}
