package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// TestInside says what a command sees, one script a line.
func TestInside(t *testing.T) {
	const secret = "not-for-the-sandbox"
	t.Setenv("SANDBOXER_EXEC_TOKEN", secret)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	writeFile(t, outside, secret, 0o644)
	source := t.TempDir()
	writeFile(t, filepath.Join(source, "script.sh"), "#!/bin/sh\necho ran\n", 0o750)
	writeFile(t, filepath.Join(source, "private"), "mine\n", 0o600)
	if err := os.Symlink(outside, filepath.Join(source, "link-out")); err != nil {
		t.Fatal(err)
	}
	b, created := newSandbox(t, source)

	tests := []struct {
		name, script, want string
	}{
		{"user", "id", "uid=1000(sandbox) gid=1000(sandbox) groups=1000(sandbox)\n"},
		{"working directory", "pwd", "/workspace\n"},
		{"environment", "env | sort", "HOME=/home/sandbox\nLANG=C.UTF-8\nLOGNAME=sandbox\n" +
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/workspace\nSHELL=/bin/sh\nTMPDIR=/tmp\nUSER=sandbox\n"},
		{"no capability", "grep Cap /proc/self/status | grep -v 0000000000000000; true", ""},
		{"no new privileges", "grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n"},
		{"no descriptor but three", "ls /proc/self/fd | head -n -1 | tr '\\n' ' '", "0 1 2 "},
		{"only its own processes", "ls /proc | grep -c '^[0-9]*$'", "4\n"}, // broker, sh, ls, grep
		{"pid 1 cannot be read", "cat /proc/1/environ /proc/1/mem /proc/1/auxv 2>/dev/null; ls /proc/1/fd 2>/dev/null; true", ""},
		{"no further user namespace", "unshare -U true 2>/dev/null || echo refused", "refused\n"},
		{"no controlling terminal", "(: </dev/tty) 2>/dev/null || echo none", "none\n"},
		{"source path", fmt.Sprintf("test -e %s || echo absent", source), "absent\n"},
		{"link out of the tree", "readlink link-out; cat link-out 2>/dev/null || echo dangling", outside + "\ndangling\n"},
		{"executable bit", "./script.sh; stat -c %a script.sh", "ran\n750\n"},
		{"private file", "cat private; stat -c '%a %U' private", "mine\n600 sandbox\n"},
		{"workspace is writable", "echo x >new && cat new", "x\n"},
		{"home is writable", "cd && pwd && echo x >f && cat f", "/home/sandbox\nx\n"},
		{"temporary files", "stat -c %a /tmp /dev/shm; f=$(mktemp) && echo x >/dev/shm/f && echo $TMPDIR; ls -d /var/tmp/", "1777\n1777\n/tmp\n/var/tmp/\n"},
		{"private /run", "ls -A /run", "sandboxer\n"},
		{"the rest is read-only", "for d in / /etc /usr /usr/bin /dev /var /home; do (: >$d/x) 2>/dev/null && echo $d; done; true", ""},
		{"no other home", "ls /home; ls -d /root 2>/dev/null; true", "sandbox\n"},
		{"no host secrets", "ls /etc/shadow /etc/ssl/private /etc/ssh /etc/sudoers 2>/dev/null; true", ""},
		{"users", "cut -d: -f1 /etc/passwd | tr '\\n' ' '", "root sandbox nobody "},
		{"loopback alone", "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; tail -n +2 /proc/net/route", "lo\n"},
		{"names fail at once", "getent hosts name.example || echo $?", "2\n"},
		{"localhost has a name", "getent hosts localhost | tr -s ' '", "::1 localhost sandbox\n"},
		{"no set-user-id", "grep -E ' (/usr|/workspace|/tmp) ' /proc/self/mountinfo | grep -vc nosuid; true", "0\n"},
		{"host name", "cat /proc/sys/kernel/hostname", "sandbox\n"},
		{"no core dumps", "ulimit -c", "0\n"},
		{"umask", "umask", "0022\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := output(t, b, tt.script); got != tt.want {
				t.Errorf("%s\ngot  %q\nwant %q", tt.script, got, tt.want)
			}
		})
	}
	t.Run("nothing of the host's in any argument vector", func(t *testing.T) {
		got := output(t, b, "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")
		if strings.Contains(got, secret) || strings.Contains(got, b.paths.work) {
			t.Errorf("a sandbox sees %q", got)
		}
	})
	t.Run("never root outside", func(t *testing.T) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", created.Reachability.PID))
		if err != nil {
			t.Fatal(err)
		}
		uid := regexp.MustCompile(`Uid:\t(\d+)\t(\d+)\t(\d+)\t(\d+)`).FindStringSubmatch(string(status))
		if uid == nil || uid[1] == "0" || uid[2] == "0" || uid[3] == "0" || uid[4] == "0" {
			t.Errorf("the sandbox's uids on the host: %v", uid)
		}
	})
}

// TestSourceInASystemTreeIsHidden has a source that every sandbox would see.
func TestSourceInASystemTreeIsHidden(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may make a directory below /usr; TestArgs has the options")
	}
	source, err := os.MkdirTemp("/usr/local", "sandboxer-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(source)
	if err := os.Chmod(source, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(source, "f"), "copied\n", 0o644)
	b, _ := newSandbox(t, source)
	if got := output(t, b, "cat f; ls "+source+" "+source+"/f 2>/dev/null; true"); got != "copied\n" {
		t.Errorf("inside one sees %q", got)
	}
}

func TestPidOneIsDeaf(t *testing.T) {
	b, _ := newSandbox(t, "")
	res, _, stderr := run(t, b, sdk.ExecRequest{Argv: sh("for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; sleep 0.3; echo alive")})
	if res.ExitCode != 0 || res.Outcome != sdk.OutcomeExited {
		t.Fatalf("%s %d %s", res.Outcome, res.ExitCode, stderr)
	}
	if got := output(t, b, "echo next"); got != "next\n" {
		t.Errorf("the exec after it printed %q", got)
	}
}

// TestHostLoopbackIsOutOfReach has a real listener on the host.
func TestHostLoopbackIsOutOfReach(t *testing.T) {
	b, _ := newSandbox(t, "")
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no /usr/bin/python3: run scripts/install-deps.sh test")
		}
		t.Skip("no /usr/bin/python3 to connect with")
	}
	addr := listen(t)
	script := fmt.Sprintf("import socket,sys\ntry:\n socket.create_connection((%q,%d),5)\n print('reached')\nexcept OSError as e:\n print(e.strerror)\n", addr.IP, addr.Port)
	res, stdout, stderr := run(t, b, sdk.ExecRequest{Argv: []string{"python3", "-c", script}})
	if res.ExitCode != 0 || stdout != "Connection refused\n" {
		t.Errorf("%d %q %s", res.ExitCode, stdout, stderr)
	}
}

func TestGitWorksInside(t *testing.T) {
	source := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-C", source}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	writeFile(t, filepath.Join(source, "f"), "x\n", 0o644)
	git("add", "f")
	git("commit", "-q", "-m", "first")
	worktree := filepath.Join(t.TempDir(), "wt")
	git("worktree", "add", "-q", "-b", "side", worktree)

	for name, dir := range map[string]string{"repository": source, "worktree": worktree} {
		t.Run(name, func(t *testing.T) {
			b, _ := newSandbox(t, dir)
			got := output(t, b, "git status --porcelain && git log --format=%s && echo y >g && git add g && "+
				"git -c user.name=t -c user.email=t@example.com commit -q -m second && git rev-list --count HEAD")
			if got != "first\n2\n" {
				t.Errorf("git printed %q", got)
			}
		})
	}
}

// TestSandboxesAreStrangers has two sandboxes on one host.
func TestSandboxesAreStrangers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("as an ordinary user every sandbox has that user's uid on the host; their namespaces keep them apart")
	}
	_, first := newSandbox(t, "")
	_, second := newSandbox(t, "")
	uid := func(pid int) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`Uid:\t\d+`).FindString(string(b))
	}
	if a, b := uid(first.Reachability.PID), uid(second.Reachability.PID); a == b {
		t.Errorf("both run as %s", a)
	}
}

func TestInheritedDescriptorsStayOut(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	clearCloseOnExec(t, w)
	b, _ := newSandbox(t, "")
	if got := output(t, b, "ls /proc/self/fd | head -n -1 | tr '\\n' ' '"); got != "0 1 2 " {
		t.Errorf("descriptors inside: %s", got)
	}
	// Nothing of the sandbox may hold the caller's pipe open.
	w.Close()
	r.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := r.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("read of the inherited pipe: %v, want EOF", err)
	}
}
