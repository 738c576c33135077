// Package apitest holds the requests and replies of the owner API to its
// description. Only tests use it.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// Load parses and checks a description, its examples too.
func Load(t testing.TB, spec []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(spec)
	if err != nil {
		t.Fatalf("load the description: %v", err)
	}
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Fatalf("the description is not valid: %v", err)
	}
	return doc
}

// Transport returns next, with each reply held to the description, and each
// request that succeeded too. What differs is an error of the test.
func Transport(t testing.TB, spec []byte, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	doc := Load(t, spec)
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatalf("find the routes of the description: %v", err)
	}
	return &checker{t, doc, router, next}
}

type checker struct {
	t      testing.TB
	doc    *openapi3.T
	router routers.Router
	next   http.RoundTripper
}

func (c *checker) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	res, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(got))
	if err := c.check(r, sent, res, got); err != nil {
		c.t.Errorf("%s %s: status %d is not as described: %v\nsent %.1000s\ngot %.1000s", r.Method, r.URL.Path, res.StatusCode, err, sent, got)
	}
	return res, nil
}

func (c *checker) check(r *http.Request, sent []byte, res *http.Response, got []byte) error {
	ctx := context.Background()
	plain := r.Clone(ctx)
	plain.URL.Scheme, plain.URL.Host, plain.Host = "", "", ""
	route, params, err := c.router.FindRoute(plain)
	if err != nil {
		return c.checkNoRoute(res, got)
	}
	plain.Body = io.NopCloser(bytes.NewReader(sent))
	in := &openapi3filter.RequestValidationInput{
		Request: plain, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, ExcludeReadOnlyValidations: true},
	}
	if res.StatusCode < http.StatusMultipleChoices {
		if len(sent) > 0 && plain.Header.Get("Content-Type") == "" {
			plain.Header.Set("Content-Type", "application/json")
		}
		if err := openapi3filter.ValidateRequest(ctx, in); err != nil {
			return fmt.Errorf("the request that succeeded: %w", err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: in.Options}
	return openapi3filter.ValidateResponse(ctx, out.SetBodyBytes(got))
}

// checkNoRoute holds what no route answers to the form of a problem.
func (c *checker) checkNoRoute(res *http.Response, got []byte) error {
	if media := res.Header.Get("Content-Type"); media != "application/problem+json" {
		return fmt.Errorf("the content type of a refusal is %q", media)
	}
	if res.Request.Method == http.MethodHead {
		return nil
	}
	var v any
	if err := json.Unmarshal(got, &v); err != nil {
		return err
	}
	return c.doc.Components.Schemas["Problem"].Value.VisitJSON(v)
}
