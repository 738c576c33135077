package api

import (
	"context"
	"net/http"
	"time"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/sandbox"
)

// Renewer moves the expiry of sandboxes.
type Renewer interface {
	Renew(ctx context.Context, id string, ttl time.Duration) (sandbox.Sandbox, error)
}

func renew(o Renewer) handler {
	return func(x *exchange) error {
		var req apitype.RenewRequest
		if err := x.decode(&req, maxBody); err != nil {
			return err
		}
		s, err := o.Renew(x.request.Context(), x.sandboxID(), seconds(req.TTLSeconds))
		if err != nil {
			return err
		}
		return x.reply(http.StatusOK, ViewSandbox(s))
	}
}
