package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/tegwick/sand-boxer/core/api/apitest"
	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "0123456789abcdef0123456789abcdef"
	id    = "sbx-01arz3ndektsv4rrffq69g5fav"
)

// fakeOwner answers with what its funcs say; a nil one is not to be called.
type fakeOwner struct {
	create  func(ctx context.Context, req sandbox.CreateRequest) (sandbox.Sandbox, error)
	inspect func(ctx context.Context, id string) (sandbox.Sandbox, error)
	list    func(ctx context.Context, f sandbox.Filter) (sandbox.Page, error)
	exec    func(ctx context.Context, req sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error)
	renew   func(ctx context.Context, id string, ttl time.Duration) (sandbox.Sandbox, error)
	destroy func(ctx context.Context, id string) (sandbox.Destroyed, error)
}

func (o *fakeOwner) Create(ctx context.Context, req sandbox.CreateRequest) (sandbox.Sandbox, error) {
	return o.create(ctx, req)
}

func (o *fakeOwner) Inspect(ctx context.Context, id string) (sandbox.Sandbox, error) {
	return o.inspect(ctx, id)
}

func (o *fakeOwner) List(ctx context.Context, f sandbox.Filter) (sandbox.Page, error) {
	return o.list(ctx, f)
}

func (o *fakeOwner) Exec(ctx context.Context, req sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error) {
	return o.exec(ctx, req, out)
}

func (o *fakeOwner) Renew(ctx context.Context, id string, ttl time.Duration) (sandbox.Sandbox, error) {
	return o.renew(ctx, id, ttl)
}

func (o *fakeOwner) Destroy(ctx context.Context, id string) (sandbox.Destroyed, error) {
	return o.destroy(ctx, id)
}

// fakeCatalog has the profile "p" and these extensions.
type fakeCatalog struct{ installed []string }

func (fakeCatalog) Profiles(context.Context) (apitype.ProfileList, error) {
	return apitype.ProfileList{Profiles: apitype.List[apitype.ProfileInfo]{{Profile: "profile.p"}}}, nil
}

func (fakeCatalog) HasProfile(name string) bool { return name == "p" }

func (fakeCatalog) Extensions(context.Context) (apitype.ExtensionList, error) {
	return apitype.ExtensionList{}, nil
}

func (c fakeCatalog) Installed() ([]string, error) { return c.installed, nil }

// aSandbox is a ready one.
func aSandbox() sandbox.Sandbox {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return sandbox.Sandbox{
		ID: id, State: "ready", Profile: "p", ProfileDigest: "sha256:" + strings.Repeat("a", 64), Extension: "e", ExtensionVersion: "1.0.0",
		Consumer: sandbox.Consumer{Actor: "agt", Project: "demo", SessionID: "s-1", RunID: "r-1"}, CreatedAt: at, ExpiresAt: at.Add(time.Hour),
		Execution: sdk.ExecutionOwnerMediated, Network: sdk.Network{Posture: "deny", Enforced: true},
		Reachability: sdk.Reachability{PID: 1, WorkspaceDir: "/workspace"},
	}
}

// exited is the result of a command that wrote out and exited 0.
func exited(out sdk.ExecOutput, text string) (sandbox.ExecResult, error) {
	n, err := io.WriteString(out.Stdout, text)
	return sandbox.ExecResult{
		ExecID: "exec-01arz3ndektsv4rrffq69g5fav", Sandbox: aSandbox(),
		ExecResult: sdk.ExecResult{Outcome: sdk.OutcomeExited, StartedAt: time.Unix(0, 0), StdoutBytes: int64(n)},
	}, err
}

// service is an API behind a Unix socket and a TCP port.
type service struct {
	t        testing.TB
	tcp      string // host:port
	socket   string
	log      *bytes.Buffer
	metrics  *Metrics
	unixHTTP *http.Client
	tcpHTTP  *http.Client
	// stop ends the API. Then its log is complete.
	stop func()
}

// serve starts an API that the test ends. change may alter its configuration.
func serve(t testing.TB, owner Owner, change func(c *Config)) *service {
	t.Helper()
	s := &service{t: t, log: new(bytes.Buffer), metrics: NewMetrics(), socket: filepath.Join(t.TempDir(), "s")}
	c := Config{
		Owner: owner, Catalog: fakeCatalog{[]string{"e"}}, Metrics: s.metrics, Token: token,
		Log: hclog.New(&hclog.LoggerOptions{Output: s.log, JSONFormat: true, Level: hclog.Debug}),
	}
	if change != nil {
		change(&c)
	}
	handler := New(c)
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	onUnix := httptest.NewUnstartedServer(handler)
	onUnix.Listener.Close()
	onUnix.Listener = l
	onUnix.Config.DisableGeneralOptionsHandler = true
	onUnix.Start()
	onTCP := httptest.NewUnstartedServer(handler)
	onTCP.Config.DisableGeneralOptionsHandler = true
	onTCP.Start()
	s.tcp = onTCP.Listener.Addr().String()
	dial := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}}
	direct := new(http.Transport)
	s.unixHTTP = &http.Client{Transport: apitest.Transport(t, Spec, dial)}
	s.tcpHTTP = &http.Client{Transport: apitest.Transport(t, Spec, direct)}
	s.stop = func() {
		dial.CloseIdleConnections()
		direct.CloseIdleConnections()
		onUnix.Close()
		onTCP.Close()
	}
	t.Cleanup(s.stop)
	return s
}

// call is a request to make.
type call struct {
	method, path, body string
	header             http.Header
	host               string
	// tcp sends it over TCP, noToken without the bearer.
	tcp, noToken bool
}

// answer is a reply with its body.
type answer struct {
	*http.Response
	body []byte
}

// problem is the body as a problem.
func (a answer) problem(t testing.TB) apitype.Problem {
	t.Helper()
	var p apitype.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("status %d, body %q is no problem: %v", a.StatusCode, a.body, err)
	}
	return p
}

func (s *service) do(c call) answer {
	s.t.Helper()
	base, client := "http://localhost", s.unixHTTP
	if c.tcp {
		base, client = "http://"+s.tcp, s.tcpHTTP
	}
	r, err := http.NewRequestWithContext(s.t.Context(), c.method, base+c.path, strings.NewReader(c.body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = c.header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if !c.noToken {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if c.host != "" {
		r.Host = c.host
	}
	res, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res, body}
}

// wantProblem checks the refusal of a call.
func (s *service) wantProblem(c call, status int, code string) apitype.Problem {
	s.t.Helper()
	a := s.do(c)
	p := a.problem(s.t)
	if a.StatusCode != status || p.Code != code || p.Status != status {
		s.t.Errorf("status %d, %s; want %d with code %s", a.StatusCode, a.body, status, code)
	}
	if p.RequestID == "" || p.RequestID != a.Header.Get("X-Request-Id") {
		s.t.Errorf("request id %q in the problem, %q in the header", p.RequestID, a.Header.Get("X-Request-Id"))
	}
	return p
}

var errSecret = errors.New("the secret innards")

const consumerJSON = `{"actor":"agt","project":"demo","session_id":"s-1","run_id":"r-1"}`

// execBody is an exec request of true with more fields.
func execBody(more string) string {
	return `{"command":["true"],"consumer":` + consumerJSON + more + `}`
}

const execPath = "/v1/sandboxes/" + id + "/exec"
