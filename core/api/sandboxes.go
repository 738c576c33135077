package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

// Reader looks sandboxes up.
type Reader interface {
	// Inspect asks the backend too whether the sandbox lives.
	Inspect(ctx context.Context, id string) (sandbox.Sandbox, error)
	List(ctx context.Context, f sandbox.Filter) (sandbox.Page, error)
}

// Destroyer destroys sandboxes.
type Destroyer interface {
	Destroy(ctx context.Context, id string) (sandbox.Destroyed, error)
}

func show(o Reader) handler {
	return func(x *exchange) error {
		s, err := o.Inspect(x.request.Context(), x.sandboxID())
		if err != nil {
			return err
		}
		return x.reply(http.StatusOK, ViewSandbox(s))
	}
}

func reach(o Reader) handler {
	return func(x *exchange) error {
		s, err := o.Inspect(x.request.Context(), x.sandboxID())
		if err != nil {
			return err
		}
		report, err := ViewReachability(s)
		if err != nil {
			return err
		}
		return x.reply(http.StatusOK, report)
	}
}

// destroy goes on when its client leaves: what is half destroyed serves nobody.
func (s *server) destroy(x *exchange) error {
	ctx, cancel := s.withoutClient(x.request)
	defer cancel()
	d, err := s.Owner.Destroy(ctx, x.sandboxID())
	if err != nil {
		return err
	}
	return x.reply(http.StatusOK, ViewDestroyed(d))
}

// withoutClient returns a context that ends with the service, not with the
// connection.
func (s *server) withoutClient(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	if s.Stop == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(s.Stop, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func list(o Reader) handler {
	return func(x *exchange) error {
		f, err := filterOf(x.request)
		if err != nil {
			return err
		}
		page, err := o.List(x.request.Context(), f)
		if err != nil {
			return err
		}
		return x.reply(http.StatusOK, ViewPage(page))
	}
}

// Bounds of a page.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

var listQuery = []string{"state", "project", "profile", "limit", "cursor"}

var states = []string{
	apitype.StateProvisioning, apitype.StateReady, apitype.StateFailed,
	apitype.StateExpired, apitype.StateDestroying, apitype.StateDestroyed,
}

// filterOf reads the query of a list.
func filterOf(r *http.Request) (sandbox.Filter, error) {
	query := r.URL.Query()
	f := sandbox.Filter{Limit: defaultLimit}
	for _, given := range query["state"] {
		for state := range strings.SplitSeq(given, ",") {
			if !slices.Contains(states, state) {
				return f, sdk.Errorf(sdk.CodeInvalidRequest, "the query parameter state holds something that is no state").
					WithHint("the states are %s", strings.Join(states, ", "))
			}
			f.States = append(f.States, sandbox.State(state))
		}
	}
	var limit string
	for _, p := range []struct {
		name string
		into *string
	}{{"project", &f.Project}, {"profile", &f.Profile}, {"cursor", &f.Cursor}, {"limit", &limit}} {
		value, err := one(query, p.name)
		if err != nil {
			return f, err
		}
		*p.into = value
	}
	f.Profile = strings.TrimPrefix(f.Profile, profilePrefix)
	if !query.Has("limit") {
		return f, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 || n > maxLimit {
		return f, sdk.Errorf(sdk.CodeInvalidRequest, "the query parameter limit is not a number between 1 and %d", maxLimit)
	}
	f.Limit = n
	return f, nil
}
