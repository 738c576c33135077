package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/api"
	"github.com/tegwick/sand-boxer/core/api/apitest"
	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/audit"
)

// running is a running sandboxer serve. Its client holds each reply to the
// description of the API.
type running struct {
	h      *host
	t      testing.TB
	cmd    *exec.Cmd
	addrs  []string
	socket string
	log    *safeBuffer
	http   *http.Client
	raw    *http.Transport
	ended  bool
}

// safeBuffer is a buffer that is read while it is written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// tail is enough of the end to see why.
func (s *safeBuffer) tail() string {
	text := s.String()
	return text[max(0, len(text)-2000):]
}

// startServe starts a service that has the token and may copy from the temporary
// directory, and returns when it is ready. The end of the test ends it.
func startServe(t testing.TB, h *host, args ...string) *running {
	t.Helper()
	return startServeWith(t, h, []string{"SANDBOXER_EXEC_TOKEN=" + testToken}, append(args, "--source-root", os.TempDir())...)
}

// startServeWith is startServe with this environment and these arguments alone.
func startServeWith(t testing.TB, h *host, env []string, args ...string) *running {
	t.Helper()
	s := &running{h: h, t: t, socket: filepath.Join(h.state, "s.sock"), log: new(safeBuffer)}
	s.cmd = exec.Command("sandboxer", append([]string{"serve", "--socket", s.socket}, args...)...)
	s.cmd.Env, s.cmd.Stderr = append(h.env, env...), s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop() })
	line, err := bufio.NewReader(out).ReadString('\n')
	ready, ok := strings.CutPrefix(strings.TrimSpace(line), "ready on ")
	if err != nil || !ok {
		t.Fatalf("the service said %q (%v)\n%s", line, err, s.log)
	}
	s.addrs = strings.Fields(ready)
	s.raw = &http.Transport{MaxIdleConnsPerHost: 100, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}}
	s.http = &http.Client{Transport: apitest.Transport(t, api.Spec, s.raw)}
	return s
}

// stop ends the service as an operator does.
func (s *running) stop() {
	s.t.Helper()
	if s.ended {
		return
	}
	s.ended = true
	s.raw.CloseIdleConnections()
	s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the service ended with %v\n%s", err, s.log.tail())
	}
}

// kill ends the service as a crash does.
func (s *running) kill() {
	s.ended = true
	s.raw.CloseIdleConnections()
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// reply is a status and a body.
type reply struct {
	status int
	body   []byte
}

func (r reply) problem(t testing.TB) apitype.Problem { return decodeAs[apitype.Problem](t, r) }

func decodeAs[T any](t testing.TB, r reply) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("status %d, body %.300q: %v", r.status, r.body, err)
	}
	return v
}

// do makes a request with the token; header holds names and values in turn.
func (s *running) do(method, path, body string, header ...string) (reply, error) {
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := s.http.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, b}, err
}

// must is do, which must be answered.
func (s *running) must(method, path, body string, header ...string) reply {
	s.t.Helper()
	r, err := s.do(method, path, body, header...)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", method, path, err, s.log.tail())
	}
	return r
}

const consumerJSON = `{"actor":"agt","project":"demo","session_id":"s-1","run_id":"r-1"}`

func createBody(source, more string) string {
	return `{"profile":"bwrap-local","inputs":{"repo":"` + source + `"},"consumer":` + consumerJSON + more + `}`
}

// create makes a sandbox. The end of the test destroys it, by whatever service
// or none is there then.
func (s *running) create(source, more string) string {
	s.t.Helper()
	r := s.must("POST", "/v1/sandboxes", createBody(source, more))
	if r.status != http.StatusCreated {
		s.t.Fatalf("create: status %d: %s", r.status, r.body)
	}
	id := decodeAs[apitype.Sandbox](s.t, r).SandboxID
	s.t.Cleanup(func() { s.h.run(0, "destroy", id) })
	return id
}

// command is an exec request.
func command(argv ...string) string { return commandWith("", argv...) }

func commandWith(more string, argv ...string) string {
	b, err := json.Marshal(argv)
	if err != nil {
		panic(err)
	}
	return `{"command":` + string(b) + `,"consumer":` + consumerJSON + more + `}`
}

// exec runs a command that must be run.
func (s *running) exec(id, body string) apitype.ExecResult {
	s.t.Helper()
	r := s.must("POST", "/v1/sandboxes/"+id+"/exec", body)
	if r.status != http.StatusOK {
		s.t.Fatalf("exec: status %d: %s", r.status, r.body)
	}
	return decodeAs[apitype.ExecResult](s.t, r)
}

// holdingScript says that it runs, and goes on until it is ended.
const holdingScript = "setsid -f sleep 300; touch started; sleep 300"

// begin runs a script that makes the file "started", and returns when it has. The
// reply comes over the channel, which is closed then.
func (s *running) begin(ctx context.Context, id, script string) <-chan reply {
	s.t.Helper()
	done := make(chan reply, 1)
	body := command("sh", "-c", script)
	r, err := http.NewRequestWithContext(ctx, "POST", "http://localhost/v1/sandboxes/"+id+"/exec", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	go func() {
		defer close(done)
		res, err := s.http.Do(r)
		if err != nil {
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		done <- reply{res.StatusCode, b}
	}()
	started := filepath.Join(s.h.state, "ext/bwrap/sandboxes", id, "*/workspace/started")
	eventually(s.t, "the command to start", func() bool {
		found, _ := filepath.Glob(started)
		return len(found) == 1
	})
	return done
}

// eventually waits for what no event tells of.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// audited returns the outcomes of an action on a sandbox, in order.
func (h *host) audited(t testing.TB, action, id string) (outcomes []string) {
	t.Helper()
	log, err := audit.Open(h.state)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	entries, err := log.Tail(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Action == action && e.SandboxID == id {
			outcomes = append(outcomes, e.Outcome)
		}
	}
	return outcomes
}

func procPath(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// childrenOf lists the processes that a process started and that live.
func childrenOf(t testing.TB, pid int) (children []int) {
	t.Helper()
	lists, err := filepath.Glob(procPath(pid, "task/*/children"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		b, _ := os.ReadFile(list) // a thread may end
		for _, f := range strings.Fields(string(b)) {
			child, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
	}
	return children
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
