package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/tegwick/sand-boxer/core/api"
	"github.com/tegwick/sand-boxer/core/sandbox"
)

// inProcess runs a service in the test itself, and returns its socket. change may
// alter its server. At its end no goroutine may be left.
func inProcess(t *testing.T, change func(s *http.Server)) string {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	state := newStateDir(t)
	t.Setenv("SANDBOXER_STATE_DIR", state)
	t.Setenv("SANDBOXER_EXTENSION_PATH", extensionDir(t))
	log := hclog.New(&hclog.LoggerOptions{Output: io.Discard})
	l, err := openState(t.Context(), sandbox.Config{Log: log, OnlySourceRoots: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := serveFlags{socket: filepath.Join(state, "s.sock"), reapInterval: time.Hour, drainTimeout: time.Minute}
	on, err := f.open(state, log)
	if err != nil {
		t.Fatal(err)
	}
	r := newResident(t.Context(), f, l, on, api.Config{
		Owner: l.owner, Catalog: newCatalog(l, log), Metrics: api.NewMetrics(), Log: log, Token: testToken,
	})
	if change != nil {
		change(r.http)
	}
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error)
	go func() { done <- r.run(ctx, func() error { close(ready); return nil }) }()
	<-ready
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the service ended with %v", err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return f.socket
}

// say writes text to the socket and returns the answer, "" when the service
// closed the connection without one.
func say(t *testing.T, socket, text string) (status int, closed bool) {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(conn, text) // a service that has had enough does not read it all
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		if os.IsTimeout(err) {
			t.Errorf("%.40q: neither answer nor end", text)
		}
		return 0, true
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res.StatusCode, res.Close
}

func TestBrokenHTTP(t *testing.T) {
	socket := inProcess(t, func(s *http.Server) { s.ReadHeaderTimeout = 200 * time.Millisecond })
	for _, test := range []struct {
		name, text string
		status     int // 0: the connection is closed without an answer
	}{
		{"nothing", "", 0},
		{"a line without end", "GET / HTTP/1.1", 0},
		{"a header without end", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", 0},
		{"headers without end", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: y\r\n", 20_000), 431},
		{"a header that is too long", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("y", 100_000), 431},
		{"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
		{"two hosts", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", 400},
		{"a host in the target", "GET http://evil/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 421},
		{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n", 400},
		{"two lengths", "POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400},
		{"length and chunks", "POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n", 400},
		{"a broken chunk", "POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		{"the server itself", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
		{"HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", 200},
		{"an upgrade to HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 405},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, closed := say(t, socket, test.text)
			if status != test.status {
				t.Errorf("status %d (closed %v), want %d", status, closed, test.status)
			}
		})
	}
	if status, _ := say(t, socket, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != 200 {
		t.Errorf("after all that: status %d", status)
	}
}

// TestManySlowClients has more of them than the listener takes at once.
func TestManySlowClients(t *testing.T) {
	socket := inProcess(t, func(s *http.Server) { s.ReadHeaderTimeout = 200 * time.Millisecond })
	var conns []net.Conn
	for range maxConnections + 10 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			break // the backlog is full, which is the kernel's way to say wait
		}
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\n")
		conns = append(conns, conn)
	}
	if status, _ := say(t, socket, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != 200 {
		t.Errorf("status %d", status)
	}
	for _, conn := range conns {
		conn.Close()
	}
}
