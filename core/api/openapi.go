package api

import (
	_ "embed"
	"net/http"
)

// Spec is the description of the API in the form of OpenAPI 3.
//
//go:embed openapi.yaml
var Spec []byte

func serveSpec(x *exchange) error {
	x.Header().Set("Content-Type", "application/yaml")
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(Spec) // a client that has gone cannot be told
	return nil
}
