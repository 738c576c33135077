package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSocketIsPrivateAndGoesWithTheService(t *testing.T) {
	s := startServe(t, newHost(t))
	fi, err := os.Lstat(s.socket)
	if err != nil || fi.Mode() != fs0600Socket {
		t.Errorf("socket: %v, %v", fi.Mode(), err)
	}
	if _, stderr := s.h.run(1, "serve", "--socket", s.socket); !strings.Contains(stderr, "another service listens on") || !strings.Contains(stderr, "hint: ") {
		t.Errorf("a second service: %s", stderr)
	}
	s.must("GET", "/healthz", "") // the first one still answers
	s.stop()
	if _, err := os.Lstat(s.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

const fs0600Socket = os.ModeSocket | 0o600

func TestSocketOfADeadServiceIsReplaced(t *testing.T) {
	h := newHost(t)
	startServe(t, h).kill()
	startServe(t, h).must("GET", "/healthz", "")
}

func TestWhatIsNoSocketIsNotReplaced(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.state, "s.sock")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr := h.run(1, "serve", "--socket", path); !strings.Contains(stderr, "is in the way") {
		t.Errorf("stderr: %s", stderr)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file: %q, %v", b, err)
	}
}

// TestAnotherUserIsRefused opens the socket to all, and connects as somebody
// else.
func TestAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	s := startServe(t, newHost(t))
	if err := os.Chmod(s.socket, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("curl", "-sS", "-m", "10", "--unix-socket", s.socket, "http://localhost/healthz")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "ok") {
		t.Errorf("another user got %q, %v", out, err)
	}
	s.must("GET", "/healthz", "")
	if !strings.Contains(s.log.String(), "uid=65534") {
		t.Error("the refusal is not logged")
	}
}

// get asks a TCP address with the token.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestTCP(t *testing.T) {
	s := startServe(t, newHost(t), "--listen", "127.0.0.1:0", "--listen", "localhost:0")
	if len(s.addrs) != 3 || s.addrs[0] != "unix://"+s.socket {
		t.Fatalf("addresses %v", s.addrs)
	}
	for _, addr := range s.addrs[1:] {
		if status, body := get(t, http.DefaultClient, addr+"/v1/sandboxes"); status != 200 {
			t.Errorf("%s: status %d: %s", addr, status, body)
		}
		res, err := http.Get(addr + "/v1/sandboxes")
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != 401 {
			t.Errorf("%s without the token: status %d", addr, res.StatusCode)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestExposedListeners(t *testing.T) {
	h := newHost(t)
	h.env = append(h.env, "SANDBOXER_EXEC_TOKEN="+testToken)
	for _, test := range []struct{ args, want string }{
		{"--listen 0.0.0.0:0", "beyond the loopback interface"},
		{"--listen :0", "beyond the loopback interface"},
		{"--listen [::]:0", "beyond the loopback interface"},
		{"--listen 127.0.0.1", "is not HOST:PORT"},
		{"--listen 127.0.0.1:99999", "--listen 127.0.0.1:99999"},
		{"--tls-cert x", "belong together"},
		{"--tls-cert /no/such --tls-key /no/such", "cannot use the TLS certificate"},
		{"--log-format xml", "neither text nor json"},
		{"--source-root rel", "not an absolute path"},
		{"--source-root /no/such", "is not a directory"},
		{"--reap-interval 0s", "--reap-interval"},
		{"--drain-timeout -1s", "--drain-timeout"},
	} {
		args := append([]string{"serve", "--socket", filepath.Join(h.state, "s.sock")}, strings.Fields(test.args)...)
		if _, stderr := h.run(2, args...); !strings.Contains(stderr, test.want) || !strings.Contains(stderr, "hint: ") {
			t.Errorf("%s: %s", test.args, stderr)
		}
	}
	s := startServe(t, h, "--listen", "0.0.0.0:0", "--insecure-listen")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.addrs[1], "http://"))
	if status, body := get(t, http.DefaultClient, "http://127.0.0.1:"+port+"/v1/sandboxes"); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	if !strings.Contains(s.log.String(), "has no TLS") {
		t.Error("no warning")
	}
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	s := startServe(t, newHost(t), "--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.addrs[1], "https://"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	if status, body := get(t, client, "https://127.0.0.1:"+port+"/v1/sandboxes"); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
	transport.TLSClientConfig.ServerName = "127.0.0.1"
	transport.CloseIdleConnections()
	if status, body := get(t, client, "https://evil.example:"+port+"/v1/sandboxes"); status != 421 {
		t.Errorf("another name: status %d: %s", status, body)
	}
}

func TestHostsOfAService(t *testing.T) {
	l := &listeners{hosts: []string{"boxes.example", ""}, certificate: &x509.Certificate{DNSNames: []string{"a.example", "*.b.example"}}}
	for name, ours := range map[string]bool{
		"boxes.example": true, "Boxes.Example": true, "a.example": true, "x.b.example": true,
		"": false, "b.example": false, "evil.example": false, "x.a.example": false,
	} {
		if l.isOurHost(name) != ours {
			t.Errorf("isOurHost(%q) = %v, want %v", name, !ours, ours)
		}
	}
}

// TestSystemd hands a service its socket and a socket for its state, as systemd
// does.
func TestSystemd(t *testing.T) {
	h := newHost(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(h.state, "handed"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	handed, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer handed.Close()
	states, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(h.state, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	credentials := t.TempDir()
	if err := os.WriteFile(filepath.Join(credentials, "SANDBOXER_EXEC_TOKEN"), []byte(testToken+"\n"), 0o440); err != nil {
		t.Fatal(err)
	}
	// The shell becomes the service, with the same pid.
	cmd := exec.Command("sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=api exec sandboxer serve")
	cmd.Env = append(h.env, "NOTIFY_SOCKET="+filepath.Join(h.state, "notify"), "CREDENTIALS_DIRECTORY="+credentials)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{handed}, new(safeBuffer)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if want := "ready on unix://" + filepath.Join(h.state, "handed") + "\n"; line != want {
		t.Errorf("the service said %q, want %q\n%s", line, want, cmd.Stderr)
	}
	state := func() string {
		b := make([]byte, 100)
		states.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, _ := states.Read(b)
		return string(b[:n])
	}
	if got := state(); got != "READY=1" {
		t.Errorf("the first state is %q", got)
	}
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(h.state, "handed"))
	}}
	if status, body := get(t, &http.Client{Transport: transport}, "http://localhost/readyz"); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
	transport.CloseIdleConnections()
	cmd.Process.Signal(syscall.SIGTERM)
	if got := state(); got != "STOPPING=1" {
		t.Errorf("the last state is %q", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the service ended with %v\n%s", err, cmd.Stderr)
	}
	// The socket is systemd's, which goes on listening.
	if _, err := os.Lstat(filepath.Join(h.state, "handed")); err != nil {
		t.Errorf("the handed socket: %v", err)
	}
	if strings.Contains(fmt.Sprint(cmd.Stderr), "exec is disabled") {
		t.Error("the credential was not read")
	}
}
