package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/api/apitest"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

// TestRefusals maps what an owner refuses an exec with.
func TestRefusals(t *testing.T) {
	for code, status := range map[sdk.Code]int{
		sdk.CodeInvalidRequest: 400, sdk.CodeIdentityMismatch: 403, sdk.CodeSandboxNotFound: 404,
		sdk.CodeSandboxNotReady: 409, sdk.CodeExecInProgress: 409, sdk.CodeSandboxExpired: 410,
		sdk.CodeStdinTooLarge: 413, sdk.CodeExecUnsupported: 422, sdk.CodeBackendFailed: 502,
	} {
		t.Run(string(code), func(t *testing.T) {
			s := serve(t, &fakeOwner{exec: func(context.Context, sandbox.ExecRequest, sdk.ExecOutput) (sandbox.ExecResult, error) {
				return sandbox.ExecResult{}, fmt.Errorf("outer: %w", sdk.Errorf(code, "it is so").WithHint("do this").WithField("/command/1"))
			}}, nil)
			p := s.wantProblem(call{method: "POST", path: execPath, body: execBody("")}, status, string(code))
			if p.Detail != "outer: it is so" || p.Hint != "do this" || p.Pointer != "/command/1" || p.Title != http.StatusText(status) {
				t.Errorf("problem %+v", p)
			}
		})
	}
}

func TestInnardsAreLoggedAndNotShown(t *testing.T) {
	for name, exec := range map[string]func() (sandbox.ExecResult, error){
		"an error":        func() (sandbox.ExecResult, error) { return sandbox.ExecResult{}, errSecret },
		"an unknown code": func() (sandbox.ExecResult, error) { return sandbox.ExecResult{}, sdk.Errorf("odd", "%w", errSecret) },
		"a panic":         func() (sandbox.ExecResult, error) { panic(errSecret) },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &fakeOwner{exec: func(context.Context, sandbox.ExecRequest, sdk.ExecOutput) (sandbox.ExecResult, error) { return exec() }}, nil)
			c := call{method: "POST", path: execPath, body: execBody(""), header: http.Header{"X-Request-Id": {"find-me"}}}
			a := s.do(c)
			if p := a.problem(t); a.StatusCode != 500 || p.Code != "internal" || strings.Contains(string(a.body), errSecret.Error()) {
				t.Errorf("status %d: %s", a.StatusCode, a.body)
			}
			s.stop()
			if log := s.log.String(); !strings.Contains(log, errSecret.Error()) || !strings.Contains(log, `"request_id":"find-me"`) {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// TestEveryCodeHasAStatus reads the codes where they are declared, so that a new
// one is not forgotten here.
func TestEveryCodeHasAStatus(t *testing.T) {
	src, err := os.ReadFile("../../sdk/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`Code = "([a-z_]+)"|Code\w+ += "([a-z_]+)"`).FindAllSubmatch(src, -1)
	if len(found) < 20 {
		t.Fatalf("%d codes in sdk/errors.go", len(found))
	}
	for _, m := range found {
		code := sdk.Code(m[1]) + sdk.Code(m[2])
		if statuses[code] == 0 {
			t.Errorf("the code %s has no status", code)
		}
	}
	var described []string
	for _, v := range apitest.Load(t, Spec).Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		described = append(described, v.(string))
	}
	var known []string
	for _, code := range slices.Sorted(maps.Keys(statuses)) {
		known = append(known, string(code))
	}
	if diff := cmp.Diff(known, described); diff != "" {
		t.Errorf("the codes of openapi.yaml (-table +description):\n%s", diff)
	}
}

// TestRoutesAreDescribed compares the table of routes with openapi.yaml.
func TestRoutesAreDescribed(t *testing.T) {
	var described, served []string
	for path, item := range apitest.Load(t, Spec).Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+strings.ReplaceAll(path, "{sandbox_id}", ":id"))
		}
	}
	s := &server{Config: Config{Owner: &fakeOwner{}, Catalog: fakeCatalog{}, Metrics: NewMetrics()}}
	for _, r := range s.routes() {
		served = append(served, r.method+" "+r.path)
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
}

func TestNoRoute(t *testing.T) {
	s := serve(t, &fakeOwner{}, nil)
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/sandboxes/", "/v1//sandboxes", "/V1/sandboxes", "/v1/sandboxes/a%2Fb", "/v1/sandboxes/x/y", "/healthz/"} {
		s.wantProblem(call{method: "GET", path: path}, 404, "route_not_found")
	}
	for _, method := range []string{"PUT", "PATCH", "OPTIONS", "DELETE", "HEAD", "BREW"} {
		a := s.do(call{method: method, path: "/v1/sandboxes"})
		if a.StatusCode != 405 || !strings.Contains(a.Header.Get("Allow"), "POST") {
			t.Errorf("%s: status %d, Allow %q", method, a.StatusCode, a.Header.Get("Allow"))
		}
	}
	s.wantProblem(call{method: "TRACE", path: "/healthz"}, 405, "method_not_allowed")
}
