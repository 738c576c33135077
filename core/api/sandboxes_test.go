package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

func TestListQuery(t *testing.T) {
	for _, test := range []struct {
		query string
		want  sandbox.Filter // zero for a refusal
	}{
		{"", sandbox.Filter{Limit: 100}},
		{"?state=ready", sandbox.Filter{Limit: 100, States: []sandbox.State{"ready"}}},
		{"?state=ready,expired&state=failed", sandbox.Filter{Limit: 100, States: []sandbox.State{"ready", "expired", "failed"}}},
		{"?project=a%2Fb&profile=p", sandbox.Filter{Limit: 100, Project: "a/b", Profile: "p"}},
		{"?profile=profile.p&limit=1&cursor=" + id, sandbox.Filter{Limit: 1, Profile: "p", Cursor: id}},
		{"?limit=1000", sandbox.Filter{Limit: 1000}},
		{"?limit=1001", sandbox.Filter{}},
		{"?limit=0", sandbox.Filter{}},
		{"?limit=-1", sandbox.Filter{}},
		{"?limit=", sandbox.Filter{}},
		{"?limit=x", sandbox.Filter{}},
		{"?limit=1&limit=2", sandbox.Filter{}},
		{"?state=", sandbox.Filter{}},
		{"?state=gone", sandbox.Filter{}},
		{"?state=ready,", sandbox.Filter{}},
		{"?project=a&project=b", sandbox.Filter{}},
		{"?owner=me", sandbox.Filter{}},
		{"?State=ready", sandbox.Filter{}},
		{"?project=%zz", sandbox.Filter{}},
		{"?a;b", sandbox.Filter{}},
	} {
		t.Run(test.query, func(t *testing.T) {
			var got sandbox.Filter
			s := serve(t, &fakeOwner{list: func(_ context.Context, f sandbox.Filter) (sandbox.Page, error) {
				got = f
				return sandbox.Page{Records: []sandbox.Sandbox{aSandbox()}, Next: id}, nil
			}}, nil)
			c := call{method: "GET", path: "/v1/sandboxes" + test.query}
			if test.want.Limit == 0 {
				s.wantProblem(c, 400, "invalid_request")
				return
			}
			if a := s.do(c); a.StatusCode != 200 || !strings.Contains(string(a.body), `"next":"`+id+`"`) {
				t.Errorf("status %d: %s", a.StatusCode, a.body)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOtherRoutesTakeNoQuery(t *testing.T) {
	s := serve(t, &fakeOwner{}, nil)
	for _, c := range []call{
		{method: "GET", path: "/healthz?a=b"}, {method: "GET", path: "/v1/sandboxes/" + id + "?verbose=1"},
		{method: "DELETE", path: "/v1/sandboxes/" + id + "?force"}, {method: "POST", path: execPath + "?tty=1", body: execBody("")},
	} {
		s.wantProblem(c, 400, "invalid_request")
	}
}

func TestSandboxRoutes(t *testing.T) {
	inspect := func(_ context.Context, got string) (sandbox.Sandbox, error) {
		if got != id {
			t.Errorf("id %q", got)
		}
		return aSandbox(), nil
	}
	owner := &fakeOwner{
		inspect: inspect,
		renew: func(ctx context.Context, id string, ttl time.Duration) (sandbox.Sandbox, error) {
			if ttl != time.Minute {
				t.Errorf("ttl %v", ttl)
			}
			return inspect(ctx, id)
		},
		destroy: func(ctx context.Context, id string) (sandbox.Destroyed, error) {
			s, err := inspect(ctx, id)
			s.State = "destroyed"
			return sandbox.Destroyed{Sandbox: s, Removed: []string{"workspace"}}, err
		},
	}
	s := serve(t, owner, nil)
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/v1/sandboxes/" + id, "", `"state":"ready"`},
		{"GET", "/v1/sandboxes/" + id + "/reachability", "", `"workspace_dir":"/workspace"`},
		{"POST", "/v1/sandboxes/" + id + "/renew", `{"ttl_seconds":60}`, `"expires_at"`},
		{"DELETE", "/v1/sandboxes/" + id, "", `"removed":["workspace"]`},
		{"GET", "/v1/profiles", "", `"profile.p"`},
		{"GET", "/v1/extensions", "", `"extensions":[]`},
		{"GET", "/healthz", "", `"ok"`},
	} {
		if a := s.do(call{method: test.method, path: test.path, body: test.body}); a.StatusCode != 200 || !strings.Contains(string(a.body), test.want) {
			t.Errorf("%s %s: status %d: %s", test.method, test.path, a.StatusCode, a.body)
		}
	}
	if a := s.do(call{method: "GET", path: "/v1/openapi.yaml"}); string(a.body) != string(Spec) {
		t.Errorf("the description is %d bytes, want %d", len(a.body), len(Spec))
	}
}

func TestReady(t *testing.T) {
	list := func(context.Context, sandbox.Filter) (sandbox.Page, error) { return sandbox.Page{}, nil }
	s := serve(t, &fakeOwner{list: list}, nil)
	if a := s.do(call{method: "GET", path: "/readyz"}); a.StatusCode != 200 {
		t.Errorf("status %d: %s", a.StatusCode, a.body)
	}
	s = serve(t, &fakeOwner{list: list}, func(c *Config) { c.Catalog = fakeCatalog{} })
	s.wantProblem(call{method: "GET", path: "/readyz"}, 503, "service_not_ready")
	s = serve(t, &fakeOwner{list: func(context.Context, sandbox.Filter) (sandbox.Page, error) { return sandbox.Page{}, errSecret }}, nil)
	s.wantProblem(call{method: "GET", path: "/readyz"}, 500, "internal")
}

func createBody(more string) string {
	return `{"profile":"profile.p","consumer":` + consumerJSON + more + `}`
}

func TestCreate(t *testing.T) {
	var got sandbox.CreateRequest
	s := serve(t, &fakeOwner{create: func(_ context.Context, r sandbox.CreateRequest) (sandbox.Sandbox, error) {
		got = r
		return aSandbox(), nil
	}}, nil)
	a := s.do(call{method: "POST", path: "/v1/sandboxes", body: createBody(`,"inputs":{"repo":"/srv/a"},"ttl_seconds":60`)})
	if a.StatusCode != 201 || a.Header.Get("Location") != "/v1/sandboxes/"+id {
		t.Errorf("status %d, Location %q: %s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	if got.Profile != "profile.p" || got.Inputs["repo"] != "/srv/a" || *got.TTL != time.Minute || got.Consumer.Actor != "agt" || got.Once != nil {
		t.Errorf("the owner got %+v", got)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	var got *sandbox.Once
	s := serve(t, &fakeOwner{create: func(_ context.Context, r sandbox.CreateRequest) (sandbox.Sandbox, error) {
		got = r.Once
		return aSandbox(), nil
	}}, nil)
	post := func(key, body string) call {
		return call{method: "POST", path: "/v1/sandboxes", body: body, header: http.Header{"Idempotency-Key": {key}}}
	}
	hash := func(key, body string) string {
		t.Helper()
		if a := s.do(post(key, body)); a.StatusCode != 201 || got == nil || got.Key != key || len(got.BodyHash) != 64 {
			t.Fatalf("key %q: status %d, the owner got %+v", key, a.StatusCode, got)
		}
		return got.BodyHash
	}
	first := hash("!~", createBody(`,"inputs":{"a":"1","b":"2"}`))
	if again := hash(strings.Repeat("k", 255), `{ "inputs":{"b":"2","\u0061":"1"}, "profile":"p", "consumer":`+consumerJSON+`}`); again != first {
		t.Error("the same request in another form has another hash")
	}
	for _, other := range []string{createBody(""), createBody(`,"inputs":{"a":"2","b":"1"}`), createBody(`,"inputs":{"a":"1","b":"2"},"ttl_seconds":60`)} {
		if hash("k", other) == first {
			t.Errorf("another request has the same hash: %s", other)
		}
	}
	for _, key := range []string{"", "a b", "\u00e9", strings.Repeat("k", 256), "a\tb"} {
		s.wantProblem(post(key, createBody("")), 400, "invalid_request")
	}
	c := post("a", createBody(""))
	c.header["Idempotency-Key"] = []string{"a", "b"}
	s.wantProblem(c, 400, "invalid_request")
}

// TestClientThatLeavesDuringCreate leaves in the middle, with and without a key.
func TestClientThatLeavesDuringCreate(t *testing.T) {
	for _, key := range []string{"", "key-1"} {
		t.Run("key "+key, func(t *testing.T) {
			started, left, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			s := serve(t, &fakeOwner{create: func(ctx context.Context, _ sandbox.CreateRequest) (sandbox.Sandbox, error) {
				close(started)
				if key == "" {
					<-ctx.Done()
				}
				<-left
				ended <- ctx.Err()
				return aSandbox(), ctx.Err()
			}}, nil)
			conn, err := net.Dial("unix", s.socket)
			if err != nil {
				t.Fatal(err)
			}
			text := post("/v1/sandboxes", createBody(""), len(createBody("")))
			if key != "" {
				text = strings.Replace(text, "\r\n", "\r\nIdempotency-Key: "+key+"\r\n", 1)
			}
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			<-started
			conn.Close()
			close(left)
			if err := <-ended; errors.Is(err, context.Canceled) != (key == "") {
				t.Errorf("the create ended with %v", err)
			}
			s.stop()
			if strings.Contains(s.log.String(), `"@level":"error"`) {
				t.Errorf("a client that left is an error in the log: %s", s.log)
			}
		})
	}
}

// TestEndOfTheServiceEndsKeyedCreates ends what no client waits for.
func TestEndOfTheServiceEndsKeyedCreates(t *testing.T) {
	stop, cancel := context.WithCancel(t.Context())
	s := serve(t, &fakeOwner{create: func(ctx context.Context, _ sandbox.CreateRequest) (sandbox.Sandbox, error) {
		cancel()
		<-ctx.Done()
		return sandbox.Sandbox{}, sdk.Errorf(sdk.CodeCanceled, "the create was interrupted")
	}}, func(c *Config) { c.Stop = stop })
	s.wantProblem(call{method: "POST", path: "/v1/sandboxes", body: createBody(""), header: http.Header{"Idempotency-Key": {"k"}}}, 409, "canceled")
}
