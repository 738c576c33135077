package api

import (
	"net/http"

	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

// status answers a probe that finds nothing wrong.
type status struct {
	Status string `json:"status"`
}

// alive answers as long as the process does.
func alive(x *exchange) error { return x.reply(http.StatusOK, status{"ok"}) }

// ready answers whether a create can be tried: the state can be read and there
// is an extension.
func ready(o Reader, c Catalog) handler {
	return func(x *exchange) error {
		if _, err := o.List(x.request.Context(), sandbox.Filter{Limit: 1}); err != nil {
			return err
		}
		names, err := c.Installed()
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return sdk.Errorf(codeServiceNotReady, "no extension is installed").
				WithHint("install one, or name its directory in SANDBOXER_EXTENSION_PATH")
		}
		return x.reply(http.StatusOK, status{"ok"})
	}
}
