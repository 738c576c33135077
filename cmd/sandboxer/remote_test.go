package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/client"
	"github.com/tegwick/sand-boxer/core/client/clienttest"
)

var testConsumer = apitype.Consumer{Actor: "agt", Project: "demo", SessionID: "s-1", RunID: "r-1"}

// serve starts a service for the state directory of h, which may copy what is
// below source, and has the commands of h ask it over its Unix socket, the first
// of the addresses.
func (h *host) serve(source string, args ...string) (addrs []string) {
	h.t.Helper()
	args = append(args, "--socket", filepath.Join(h.state, "service.sock"), "--source-root", source)
	h.env = append(h.env, "SANDBOXER_EXEC_TOKEN="+testToken)
	addrs, stop, err := startService(h.env, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := stop(); err != nil {
			h.t.Error(err)
		}
	})
	h.env = append(h.env, "SANDBOXER_ADDR="+addrs[0])
	return addrs
}

// gitRepository makes a repository with one commit.
func gitRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

func TestTransportOverTheOwner(t *testing.T) {
	h := newHost(t)
	source := gitRepository(t)
	c, err := client.New(h.serve(source)[0], client.Options{Token: testToken})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	report, err := c.Reachability(t.Context(), h.create(source))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := client.TransportFromSandbox(report, c, testConsumer)
	if err != nil {
		t.Fatal(err)
	}
	if tr.Kind() != client.KindOwnerMediated || tr.Workspace() != "/workspace" {
		t.Errorf("kind %s, workspace %s", tr.Kind(), tr.Workspace())
	}
	clienttest.Transport(t, tr)
}

// TestPythonClient runs the tests of clients/python against a real service.
func TestPythonClient(t *testing.T) {
	h := newHost(t)
	source := gitRepository(t)
	cert, key := certificate(t)
	addrs := h.serve(source, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	if len(addrs) != 2 {
		t.Fatalf("the service listens on %v", addrs)
	}
	cmd := exec.Command("/usr/bin/python3", "-W", "error", "-B", "-m", "unittest", "discover", "-t", ".", "-s", "tests")
	cmd.Dir = "../../clients/python"
	cmd.Env = append(h.env, "PYTHONPATH=src", "SANDBOXER_TEST_SOURCE="+source,
		"SANDBOXER_TEST_TLS_ADDR="+addrs[1], "SANDBOXER_TEST_CA_FILE="+cert)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil || strings.Contains(out.String(), "skipped") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// certificate makes one for 127.0.0.1 that vouches for itself.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		Subject: pkix.Name{CommonName: "test"},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", der)
}

func TestInterruptedExecOverAService(t *testing.T) {
	h := newHost(t)
	source := tree(t, 1, 1)
	h.serve(source)
	id := h.create(source)
	cmd, _, stderr := h.command("exec", id, "--", "sh", "-c", "setsid -f sleep 300; sleep 300; :", "in-"+id)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitProcess(t, "in-"+id)
	cmd.Process.Signal(syscall.SIGINT)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(stderr.String(), "interrupted; the service ends the command (canceled)") {
		t.Errorf("exit code %d, stderr %s", cmd.ProcessState.ExitCode(), stderr)
	}
	h.untilIdle(id)
	if out, _ := h.run(0, "exec", id, "--", "sh", "-c", "echo /proc/[0-9]*"); len(strings.Fields(out)) != 2 {
		t.Errorf("processes are left inside: %s", out)
	}
	audit, err := os.ReadFile(filepath.Join(h.state, "audit.jsonl"))
	if err != nil || !strings.Contains(string(audit), `"outcome":"canceled"`) {
		t.Errorf("the end is not audited: %v\n%s", err, audit)
	}
}

// awaitProcess returns when a process of this machine that is no sandboxer has
// the argument, and so runs inside.
func awaitProcess(t *testing.T, argument string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			line, _ := os.ReadFile(f) // it may have ended
			if args := strings.Split(string(line), "\x00"); args[0] == "sh" && slices.Contains(args, argument) {
				return
			}
		}
	}
	t.Fatalf("no process has the argument %s", argument)
}

// untilIdle waits for the end of the command that runs in a sandbox.
func (h *host) untilIdle(id string) {
	h.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		cmd, _, stderr := h.command("exec", id, "--", "true")
		err := cmd.Run()
		if err == nil {
			return
		}
		if !strings.Contains(stderr.String(), "(exec_in_progress)") || time.Now().After(deadline) {
			h.t.Fatalf("%v\n%s", err, stderr)
		}
	}
}

func TestInterruptedRunOverAServiceLeavesNothing(t *testing.T) {
	h := newHost(t)
	source := tree(t, 1, 1)
	h.serve(source)
	mark := "in-" + filepath.Base(h.state)
	cmd, _, stderr := h.command("run", "--profile", "bwrap-local", "--input", "repo="+source, "--", "sh", "-c", "sleep 300; :", mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitProcess(t, mark)
	cmd.Process.Signal(syscall.SIGTERM)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("exit code %d, stderr %s", cmd.ProcessState.ExitCode(), stderr)
	}
	if out, _ := h.run(0, "list", "-q"); out != "" {
		t.Errorf("left: %s", out)
	}
}

// TestRefusalOfALargeRequest has the service refuse before it has read all.
func TestRefusalOfALargeRequest(t *testing.T) {
	h := newHost(t)
	source := tree(t, 1, 1)
	c, err := client.New(h.serve(source)[0], client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text := strings.Repeat("x", 1_000_000)
	for range 20 {
		_, err = c.Exec(t.Context(), "sbx-01arz3ndektsv4rrffq69g5fav", apitype.ExecRequest{Command: []string{"true"}, StdinText: &text})
		if p, ok := errors.AsType[*apitype.Problem](err); !ok || p.Code != apitype.CodeUnauthenticated {
			t.Fatalf("the error is %v", err)
		}
	}
}
