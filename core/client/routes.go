package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/tegwick/sand-boxer/core/apitype"
)

const sandboxes = "/v1/sandboxes"

// segment is what may stand in a path as it is. Whether it is the id of a
// sandbox is the service's to say.
var segment = regexp.MustCompile(`\A[A-Za-z0-9_-]{1,128}\z`)

// pathOf is the path of a sandbox, or of what is below it.
func pathOf(id, below string) (string, error) {
	if !segment.MatchString(id) {
		p := refused("/sandbox_id", "%q is not a sandbox id: it is \"sbx-\" and 26 lower-case letters and digits", id)
		p.Hint = "'sandboxer list' shows the ids"
		return "", p
	}
	return sandboxes + "/" + id + below, nil
}

// refused is a refusal that needs no service to be made.
func refused(pointer, format string, args ...any) *apitype.Problem {
	return &apitype.Problem{
		Type: "about:blank", Title: http.StatusText(http.StatusBadRequest), Status: http.StatusBadRequest,
		Code: apitype.CodeInvalidRequest, Detail: fmt.Sprintf(format, args...), Pointer: pointer,
	}
}

// checkText refuses what JSON would carry changed.
func checkText(pointer, text string) error {
	if !utf8.ValidString(text) {
		return refused(pointer, "%s is not valid UTF-8", pointer)
	}
	return nil
}

// CreateSandbox provisions a sandbox and returns it when it is ready.
func (c *Client) CreateSandbox(ctx context.Context, req apitype.CreateRequest) (apitype.Sandbox, error) {
	return c.CreateSandboxOnce(ctx, "", req)
}

// CreateSandboxOnce is CreateSandbox with an idempotency key: when the same
// request comes again with the key, the answer is the same sandbox.
func (c *Client) CreateSandboxOnce(ctx context.Context, key string, req apitype.CreateRequest) (apitype.Sandbox, error) {
	for name, value := range req.Inputs {
		if err := checkText("/inputs", name+value); err != nil {
			return apitype.Sandbox{}, err
		}
	}
	return c.sandbox(ctx, "", call{method: http.MethodPost, path: sandboxes, key: key, body: req, long: true})
}

// Get returns a sandbox.
func (c *Client) Get(ctx context.Context, id string) (apitype.Sandbox, error) {
	path, err := pathOf(id, "")
	if err != nil {
		return apitype.Sandbox{}, err
	}
	return c.sandbox(ctx, id, call{method: http.MethodGet, path: path})
}

// Renew moves the expiry of a sandbox.
func (c *Client) Renew(ctx context.Context, id string, req apitype.RenewRequest) (apitype.Sandbox, error) {
	path, err := pathOf(id, "/renew")
	if err != nil {
		return apitype.Sandbox{}, err
	}
	return c.sandbox(ctx, id, call{method: http.MethodPost, path: path, body: req})
}

// sandbox makes a call that is answered with the sandbox id; "" is any.
func (c *Client) sandbox(ctx context.Context, id string, k call) (apitype.Sandbox, error) {
	var s apitype.Sandbox
	k.answer = &s
	if err := c.do(ctx, k); err != nil {
		return apitype.Sandbox{}, err
	}
	if s.State == "" {
		return apitype.Sandbox{}, c.strange("a sandbox without a state")
	}
	return s, c.checkID(id, s.SandboxID)
}

// checkID holds an answer to the sandbox that was asked for; "" is any.
func (c *Client) checkID(asked, got string) error {
	if got == "" || asked != "" && got != asked {
		return c.strange("the sandbox %q where %q was due", got, asked)
	}
	return nil
}

// ListFilter selects sandboxes; empty fields select all.
type ListFilter struct {
	States           []string
	Project, Profile string
	// Cursor is the Next of the page before.
	Cursor string
	// Limit is the most that a page holds; 0 is what the service chooses.
	Limit int
}

func (f ListFilter) query() url.Values {
	q := url.Values{}
	for _, s := range f.States {
		q.Add("state", s)
	}
	for name, value := range map[string]string{"project": f.Project, "profile": f.Profile, "cursor": f.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// List returns one page of sandboxes, oldest first.
func (c *Client) List(ctx context.Context, f ListFilter) (apitype.SandboxList, error) {
	var l apitype.SandboxList
	err := c.do(ctx, call{method: http.MethodGet, path: sandboxes, query: f.query(), answer: &l})
	if err == nil && l.Sandboxes == nil {
		err = c.strange("no list of sandboxes")
	}
	return l, err
}

// All goes through the sandboxes of all pages, from that of f.Cursor on. It ends
// after the first error.
func (c *Client) All(ctx context.Context, f ListFilter) iter.Seq2[apitype.Sandbox, error] {
	return func(yield func(apitype.Sandbox, error) bool) {
		for {
			page, err := c.List(ctx, f)
			if err == nil && page.Next != "" && page.Next == f.Cursor {
				err = c.strange("a page that is its own next one")
			}
			if err != nil {
				yield(apitype.Sandbox{}, err)
				return
			}
			for _, s := range page.Sandboxes {
				if !yield(s, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			f.Cursor = page.Next
		}
	}
}

// Reachability says how to get to a sandbox.
func (c *Client) Reachability(ctx context.Context, id string) (apitype.ReachabilityReport, error) {
	var r apitype.ReachabilityReport
	path, err := pathOf(id, "/reachability")
	if err == nil {
		err = c.do(ctx, call{method: http.MethodGet, path: path, answer: &r})
	}
	if err != nil {
		return apitype.ReachabilityReport{}, err
	}
	return r, c.checkID(id, r.SandboxID)
}

// Destroy removes everything of a sandbox and returns when nothing is left. It
// may be called again.
func (c *Client) Destroy(ctx context.Context, id string) (apitype.Destroyed, error) {
	var d apitype.Destroyed
	path, err := pathOf(id, "")
	if err == nil {
		err = c.do(ctx, call{method: http.MethodDelete, path: path, answer: &d, long: true})
	}
	if err != nil {
		return apitype.Destroyed{}, err
	}
	return d, c.checkID(id, d.SandboxID)
}

// Profiles lists the profiles that the service knows.
func (c *Client) Profiles(ctx context.Context) (apitype.ProfileList, error) {
	var l apitype.ProfileList
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/profiles", answer: &l})
	return l, err
}

// Extensions lists the extensions that the service knows.
func (c *Client) Extensions(ctx context.Context) (apitype.ExtensionList, error) {
	var l apitype.ExtensionList
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/extensions", answer: &l})
	return l, err
}

// Health returns nil when the service is alive. It needs no token.
func (c *Client) Health(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: "/healthz"})
}

// Ready returns nil when the service takes requests.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: "/readyz"})
}

// Metrics returns the metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	return c.text(ctx, "/metrics")
}

// OpenAPI returns the description of the API, a YAML text.
func (c *Client) OpenAPI(ctx context.Context) ([]byte, error) {
	return c.text(ctx, "/v1/openapi.yaml")
}

func (c *Client) text(ctx context.Context, path string) ([]byte, error) {
	var text []byte
	err := c.do(ctx, call{method: http.MethodGet, path: path, answer: &text})
	return text, err
}
