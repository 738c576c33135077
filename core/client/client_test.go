package client_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/client"
)

const (
	token = "a-token-of-at-least-32-characters"
	id    = "sbx-01arz3ndektsv4rrffq69g5fav"
)

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"unix:///run/sandboxer.sock": "", "unix:///a b%20c": "", "http://127.0.0.1:7040": "", "https://host": "",
		"http://[::1]:80/":                    "",
		"":                                    "the address is none of unix:///path, http://host:port and https://host:port",
		"ftp://host":                          "the address is none of",
		"host:80":                             `the address "host:80" has no scheme: write unix:///path`,
		"/run/x.sock":                         `the address "/run/x.sock" has no scheme: write unix:///run/x.sock`,
		"unix://run/x.sock":                   "does not name a socket by its absolute path",
		"unix:///":                            "does not name a socket by its absolute path",
		"unix://":                             "does not name a socket by its absolute path",
		"http://":                             "the address is not a URL",
		"http://:80":                          "the address is not a URL",
		"http://h:x":                          "the address is not a URL",
		"http://h:99999":                      "the port 99999 of the address is not one of 1 to 65535",
		"http://h:1/v1":                       "the address has more than a host and a port",
		"http://h:1?a=b":                      "the address has more than a host and a port",
		"https://u:" + token + "@h":           "the address holds a user or a password",
		"unix:///" + strings.Repeat("x", 107): "longer than the 107 bytes",
	} {
		_, err := client.New(addr, client.Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%q: the error repeats the password", addr)
		}
	}
	for _, bad := range []string{token + "\n", "a b", "é"} {
		if _, err := client.New("http://h", client.Options{Token: bad}); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("the token %q: %v", bad, err)
		}
	}
}

// fake is a service that answers every request alike.
func fake(t *testing.T, o client.Options, h http.HandlerFunc) *client.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return connect(t, srv.URL, o)
}

func connect(t *testing.T, addr string, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func answer(w http.ResponseWriter, status int, media, body string) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	io.WriteString(w, body)
}

const exited = `{"exec_id":"exec-1","sandbox_id":"` + id + `","outcome":"exited","exit_code":0,"encoding":"utf-8"}`

func TestProblemIsTheError(t *testing.T) {
	want := apitype.Problem{Type: "about:blank", Title: "Conflict", Status: 409, Detail: "a command is running", Code: "exec_in_progress", Hint: "wait", Pointer: "/x", RequestID: "r-1"}
	c := fake(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		body, _ := json.Marshal(want)
		answer(w, 409, apitype.ProblemContentType, string(body))
	})
	_, err := c.Exec(t.Context(), id, apitype.ExecRequest{Command: []string{"true"}})
	p, ok := errors.AsType[*apitype.Problem](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	if diff := cmp.Diff(want, *p); diff != "" {
		t.Errorf("problem differs (-want +got):\n%s", diff)
	}
}

// TestWhatIsNoAnswer has a service that is none, or is broken.
func TestWhatIsNoAnswer(t *testing.T) {
	const json, problem = "application/json", apitype.ProblemContentType
	for _, test := range []struct {
		status            int
		media, body, want string
	}{
		{200, "text/html", "<html>", `the media type "text/html" where JSON was due`},
		{200, json, exited[:20], "JSON that cannot be read"},
		{200, json, exited + "{}", "JSON that cannot be read"},
		{200, json, "", "JSON that cannot be read"},
		{200, json, `[]`, "JSON that cannot be read"},
		{200, json, `{}`, `the outcome ""`},
		{200, json, `null`, `the outcome ""`},
		{200, json, strings.Replace(exited, `"exit_code":0`, `"exit_code":null`, 1), "without exit_code"},
		{200, json, strings.Replace(exited, `exited`, `signaled`, 1), "without signal"},
		{200, json, strings.Replace(exited, `exited`, `start_failed`, 1), "without failure"},
		{200, json, strings.Replace(exited, `exited`, `done`, 1), `the outcome "done"`},
		{200, json, strings.Replace(exited, `exec-1`, ``, 1), "without exec_id"},
		{200, json, strings.Replace(exited, id, `sbx-2`, 1), `the sandbox "sbx-2" where`},
		{200, problem, `{"code":"x","detail":"y"}`, "200 OK, and a problem without code or detail"},
		{500, "text/plain", token, "500 Internal Server Error, and no problem"},
		{404, json, exited, "404 Not Found, and no problem"},
		{400, problem, `{}`, "400 Bad Request, and a problem without code or detail"},
		{400, problem, `<`, "400 Bad Request, and a problem that cannot be read"},
		{302, "text/html", "", "302 Found, and no problem"},
		{200, json, `{"stdout":"` + strings.Repeat("x", 15<<20), "is longer than 5242880 bytes"},
	} {
		c := fake(t, client.Options{Token: token}, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, test.status, test.media, test.body)
		})
		r, err := c.Exec(t.Context(), id, apitype.ExecRequest{Command: []string{"true"}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d %s %.60s: %v, want %q", test.status, test.media, test.body, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("the error holds the token: %v", err)
		}
		if _, isProblem := errors.AsType[*apitype.Problem](err); isProblem {
			t.Errorf("%v is a problem", err)
		}
		if r.Outcome != "" && r.SandboxID == id {
			t.Errorf("there is a result too: %+v", r)
		}
	}
}

// TestCutConnection has a service that takes the command and dies: it must not
// get it twice.
func TestCutConnection(t *testing.T) {
	for _, sent := range []string{"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + exited} {
		var requests atomic.Int32
		c := fake(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				answer(w, 200, "application/json", exited) // the connection is used again
				return
			}
			io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(conn, sent)
			conn.Close()
		})
		run := func() error {
			_, err := c.Exec(t.Context(), id, apitype.ExecRequest{Command: []string{"true"}})
			return err
		}
		if err := run(); err != nil {
			t.Fatal(err)
		}
		err := run()
		if err == nil || !strings.Contains(err.Error(), "broke before the answer was complete") || !strings.Contains(err.Error(), "whether the command ran is not known") {
			t.Errorf("the error is %v", err)
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%d requests were made", n)
		}
	}
}

func TestCancelClosesTheConnection(t *testing.T) {
	arrived, left := make(chan bool), make(chan bool)
	c := fake(t, client.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // from here on the server watches the connection
		close(arrived)
		<-r.Context().Done()
		close(left)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := c.Exec(ctx, id, apitype.ExecRequest{Command: []string{"true"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	<-left
}

func TestTimeout(t *testing.T) {
	c := fake(t, client.Options{Timeout: 10 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := c.Get(t.Context(), id); err == nil || !strings.Contains(err.Error(), "there was no answer within 10ms") {
		t.Errorf("the error is %v", err)
	}
}

func TestRedirectDoesNotGetTheToken(t *testing.T) {
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer thief.Close()
	c := fake(t, client.Options{Token: token}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Get(t.Context(), id); err == nil {
		t.Error("a redirect is an answer")
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	c := fake(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "application/json", `{}`) })
	if err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	c := connect(t, "unix://"+socket, client.Options{})
	err := c.Health(t.Context())
	if e, ok := errors.AsType[*client.ConnectError](err); !ok || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v", e)
	}
	if want := "no service can be reached at unix://" + socket + ": connect: no such file or directory"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "localhost" {
			t.Errorf("the host is %q", r.Host)
		}
		answer(w, 200, "application/json", `{}`)
	})}
	go srv.Serve(l)
	defer srv.Close()
	if err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "application/json", `{}`) }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // one client hangs up
	srv.StartTLS()
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(ca, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := connect(t, srv.URL, client.Options{CAFile: ca}).Health(t.Context()); err != nil {
		t.Error(err)
	}
	if err := connect(t, srv.URL, client.Options{}).Health(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a stranger's certificate: %v", err)
	}
	if _, err := client.New(srv.URL, client.Options{CAFile: os.DevNull}); err == nil {
		t.Error("an empty file is an authority")
	}
}
