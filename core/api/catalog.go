package api

import (
	"context"
	"net/http"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// Catalog tells what sandboxes can be made of.
type Catalog interface {
	Profiles(ctx context.Context) (apitype.ProfileList, error)
	// HasProfile tells whether there is a profile of this name, without prefix.
	HasProfile(name string) bool
	// Extensions starts those that are not running.
	Extensions(ctx context.Context) (apitype.ExtensionList, error)
	// Installed lists the names of the extensions and starts none.
	Installed() ([]string, error)
}

func profiles(c Catalog) handler {
	return func(x *exchange) error {
		found, err := c.Profiles(x.request.Context())
		if err != nil {
			return err
		}
		return x.reply(http.StatusOK, found)
	}
}

func extensions(c Catalog) handler {
	return func(x *exchange) error {
		found, err := c.Extensions(x.request.Context())
		if err != nil {
			return err
		}
		return x.reply(http.StatusOK, found)
	}
}
