package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/client"
)

// TestRoutes holds each method to the request that it makes.
func TestRoutes(t *testing.T) {
	ctx := context.Background()
	sandbox := `{"sandbox_id":"` + id + `","state":"ready"}`
	ttl := int64(60)
	for _, test := range []struct {
		want, answer string
		call         func(c *client.Client) error
	}{
		{`POST /v1/sandboxes key= {"profile":"p","inputs":{"repo":"/a"},"consumer":{"actor":"a","project":"p","session_id":"s","run_id":"r"},"ttl_seconds":60}`, sandbox, func(c *client.Client) error {
			_, err := c.CreateSandbox(ctx, apitype.CreateRequest{Profile: "p", Inputs: map[string]string{"repo": "/a"},
				Consumer: apitype.Consumer{Actor: "a", Project: "p", SessionID: "s", RunID: "r"}, TTLSeconds: &ttl})
			return err
		}},
		{`POST /v1/sandboxes key=k-1 {"profile":"p","inputs":{},"consumer":{"actor":"","project":"","session_id":"","run_id":""}}`, sandbox, func(c *client.Client) error {
			_, err := c.CreateSandboxOnce(ctx, "k-1", apitype.CreateRequest{Profile: "p"})
			return err
		}},
		{"GET /v1/sandboxes/" + id, sandbox, func(c *client.Client) error { _, err := c.Get(ctx, id); return err }},
		{"GET /v1/sandboxes?cursor=c&limit=2&profile=p&project=a+b&state=ready&state=failed", `{"sandboxes":[],"next":""}`, func(c *client.Client) error {
			_, err := c.List(ctx, client.ListFilter{States: []string{"ready", "failed"}, Project: "a b", Profile: "p", Cursor: "c", Limit: 2})
			return err
		}},
		{"GET /v1/sandboxes/" + id + "/reachability", `{"sandbox_id":"` + id + `"}`, func(c *client.Client) error { _, err := c.Reachability(ctx, id); return err }},
		{"POST /v1/sandboxes/" + id + `/exec key= {"command":["a"],"consumer":{"actor":"","project":"","session_id":"","run_id":""},"credential_route_refs":[],"stdin_text":null}`, exited, func(c *client.Client) error {
			_, err := c.Exec(ctx, id, apitype.ExecRequest{Command: []string{"a"}})
			return err
		}},
		{"POST /v1/sandboxes/" + id + `/renew key= {"ttl_seconds":60}`, sandbox, func(c *client.Client) error {
			_, err := c.Renew(ctx, id, apitype.RenewRequest{TTLSeconds: 60})
			return err
		}},
		{"DELETE /v1/sandboxes/" + id, `{"sandbox_id":"` + id + `"}`, func(c *client.Client) error { _, err := c.Destroy(ctx, id); return err }},
		{"GET /v1/profiles", `{}`, func(c *client.Client) error { _, err := c.Profiles(ctx); return err }},
		{"GET /v1/extensions", `{}`, func(c *client.Client) error { _, err := c.Extensions(ctx); return err }},
		{"GET /healthz", `{}`, func(c *client.Client) error { return c.Health(ctx) }},
		{"GET /readyz", `{}`, func(c *client.Client) error { return c.Ready(ctx) }},
		{"GET /metrics", `{}`, func(c *client.Client) error { _, err := c.Metrics(ctx); return err }},
		{"GET /v1/openapi.yaml", `{}`, func(c *client.Client) error { _, err := c.OpenAPI(ctx); return err }},
	} {
		var got string
		c := fake(t, client.Options{Token: token}, func(w http.ResponseWriter, r *http.Request) {
			got = r.Method + " " + r.URL.RequestURI()
			if body, _ := io.ReadAll(r.Body); len(body) > 0 {
				got += fmt.Sprintf(" key=%s %s", r.Header.Get("Idempotency-Key"), strings.TrimSpace(string(body)))
			}
			if r.Header.Get("Authorization") != "Bearer "+token {
				t.Errorf("%s: no bearer", got)
			}
			answer(w, 200, "application/json", test.answer)
		})
		if err := test.call(c); err != nil {
			t.Errorf("%s: %v", test.want, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("request differs (-want +got):\n%s", diff)
		}
	}
}

// TestRefusedBeforeItIsSent has what JSON or a path would carry changed.
func TestRefusedBeforeItIsSent(t *testing.T) {
	c := fake(t, client.Options{}, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("sent %s", r.URL) })
	bad := "\xff"
	exec := func(req apitype.ExecRequest) error { _, err := c.Exec(t.Context(), id, req); return err }
	_, create := c.CreateSandbox(t.Context(), apitype.CreateRequest{Inputs: map[string]string{"repo": bad}})
	_, up := c.Get(t.Context(), "../x")
	_, none := c.Destroy(t.Context(), "")
	for want, err := range map[string]error{
		"/command/1":  exec(apitype.ExecRequest{Command: []string{"a", bad}}),
		"/stdin_text": exec(apitype.ExecRequest{Command: []string{"a"}, StdinText: &bad}),
		"/inputs":     create,
		"/sandbox_id": errors.Join(up, none),
	} {
		if p, ok := errors.AsType[*apitype.Problem](err); !ok || p.Pointer != want || p.Code != apitype.CodeInvalidRequest {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAllGoesThroughThePages(t *testing.T) {
	pages := map[string]string{
		"":  `{"sandboxes":[{"sandbox_id":"1","state":"ready"},{"sandbox_id":"2","state":"ready"}],"next":"a"}`,
		"a": `{"sandboxes":[],"next":"b"}`,
		"b": `{"sandboxes":[{"sandbox_id":"3","state":"ready"}],"next":""}`,
		"c": `{"sandboxes":[{"sandbox_id":"4","state":"ready"}],"next":"c"}`,
	}
	c := fake(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, "application/json", pages[r.URL.Query().Get("cursor")])
	})
	collect := func(f client.ListFilter) (ids string, last error) {
		for s, err := range c.All(t.Context(), f) {
			ids, last = ids+s.SandboxID, err
		}
		return ids, last
	}
	if got, err := collect(client.ListFilter{}); got != "123" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := collect(client.ListFilter{Cursor: "c"}); got != "" || err == nil {
		t.Errorf("a page that is its own next one: %s, %v", got, err)
	}
}

func TestStreams(t *testing.T) {
	for _, test := range []struct {
		encoding, stdout, stderr string
		want                     [2]string
		fails                    bool
	}{
		{"utf-8", "é", "", [2]string{"é", ""}, false},
		{"base64", "/w==", "YQ==", [2]string{"\xff", "a"}, false},
		{"base64", "/w=", "", [2]string{}, true},
		{"latin-1", "a", "", [2]string{}, true},
	} {
		stdout, stderr, err := client.Streams(apitype.ExecResult{Encoding: test.encoding, Stdout: test.stdout, Stderr: test.stderr})
		if got := [2]string{string(stdout), string(stderr)}; got != test.want || (err != nil) != test.fails {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}
