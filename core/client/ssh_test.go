package client_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/client"
	"github.com/tegwick/sand-boxer/core/client/clienttest"
)

func TestTransportOverSSH(t *testing.T) {
	alias := startSSHD(t)
	dir := filepath.Join(t.TempDir(), "a work 'space")
	gitRepository(t, dir)
	tr, err := client.TransportFromSandbox(apitype.ReachabilityReport{
		SandboxID: "sbx-1", Reachability: apitype.Reachability{SSH: &alias, RemoteDir: &dir},
	}, nil, apitype.Consumer{})
	if err != nil {
		t.Fatal(err)
	}
	if tr.Kind() != client.KindSSH || tr.Workspace() != dir {
		t.Errorf("kind %s, workspace %s", tr.Kind(), tr.Workspace())
	}
	clienttest.Transport(t, tr)

	t.Run("a workspace that is gone runs nothing", func(t *testing.T) {
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		done, err := tr.Run(t.Context(), []string{"echo", "ran"}, client.RunOptions{})
		if err != nil || done.ExitCode == 0 || len(done.Stdout) > 0 {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

// TestPythonTransportOverSSH runs the same over ssh for clients/python.
func TestPythonTransportOverSSH(t *testing.T) {
	cmd := exec.Command("/usr/bin/python3", "-W", "error", "-B", "-m", "unittest", "tests.test_ssh")
	cmd.Dir = "../../clients/python"
	alias := startSSHD(t) // changes PATH
	cmd.Env = append(os.Environ(), "PYTHONPATH=src", "SANDBOXER_TEST_SSH="+alias)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func gitRepository(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q", dir}, {"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// startSSHD serves this user on a port of 127.0.0.1 with a real sshd, and puts an
// ssh into PATH that knows it by the alias that is returned.
func startSSHD(t *testing.T) (alias string) {
	t.Helper()
	sshd := findSSHD(t)
	dir, err := os.MkdirTemp("", "sshd") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", in(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(in("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	alias = "sbx-01arz3ndektsv4rrffq69g5fav"
	files := map[string]string{
		"sshd_config": "HostKey " + in("host") + "\nAuthorizedKeysFile " + in("user.pub") +
			"\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nSetEnv HOME=" + dir + "\n",
		"known_hosts": alias + " " + string(public),
		"ssh_config": "Host " + alias + "\nHostName 127.0.0.1\nHostKeyAlias " + alias +
			"\nPort " + strconv.Itoa(l.Addr().(*net.TCPAddr).Port) + "\nUser " + me.Username +
			"\nIdentityFile " + in("user") + "\nIdentitiesOnly yes\nIdentityAgent none\nBatchMode yes" +
			"\nUserKnownHostsFile " + in("known_hosts") + "\nStrictHostKeyChecking yes\nLogLevel ERROR" +
			// One connection serves all, as many a user has it: it outlives the
			// ssh that made it.
			"\nControlMaster auto\nControlPath " + in("master") + "\nControlPersist yes\n",
		"bin/ssh": "#!/bin/sh\nexec " + systemSSH(t) + " -F " + in("ssh_config") + ` "$@"` + "\n",
	}
	if err := os.Mkdir(in("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(in(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	serveSSH(t, l, sshd, in("sshd_config"))
	t.Setenv("PATH", in("bin")+":"+os.Getenv("PATH"))
	t.Cleanup(func() { exec.Command(in("bin/ssh"), "-O", "exit", alias).Run() })
	return alias
}

func findSSHD(t *testing.T) string {
	for _, path := range []string{"sshd", "/usr/sbin/sshd"} {
		if found, err := exec.LookPath(path); err == nil {
			if found, err = filepath.Abs(found); err == nil {
				return found
			}
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("there is no sshd: install openssh-server")
	}
	t.Skip("there is no sshd: install openssh-server")
	return ""
}

func systemSSH(t *testing.T) string {
	path, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serveSSH gives each connection an sshd of its own, as inetd does, and ends them
// with the test.
func serveSSH(t *testing.T, l net.Listener, sshd, config string) {
	const separation = "/run/sshd" // where sshd locks itself in as root
	if err := os.Mkdir(separation, 0o755); err == nil {
		t.Cleanup(func() { os.Remove(separation) })
	}
	var running sync.WaitGroup
	var log syncLog
	t.Cleanup(func() {
		running.Wait()
		if t.Failed() {
			t.Logf("sshd:\n%s", &log.text)
		}
	})
	t.Cleanup(func() { l.Close() })
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			running.Go(func() {
				defer conn.Close()
				socket, err := conn.(*net.TCPConn).File()
				if err != nil {
					t.Error(err)
					return
				}
				defer socket.Close()
				cmd := exec.Command(sshd, "-i", "-e", "-f", config)
				cmd.Stdin, cmd.Stdout, cmd.Stderr = socket, socket, &log
				cmd.Run() // its exit code says only that the client went
			})
		}
	})
}

type syncLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *syncLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}
