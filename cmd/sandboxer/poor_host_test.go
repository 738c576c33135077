package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The tests here run sandboxer on a machine that lacks something. They make it
// lack that in namespaces of their own, so that nothing else notices.

// unshared runs a script as root of new user and mount namespaces, where mounts
// and limits are private; as root in a new mount namespace.
func (h *host) unshared(t *testing.T, script string) (code int, output string) {
	t.Helper()
	args := []string{"-m"}
	if os.Geteuid() != 0 {
		args = []string{"-Urm"}
	}
	cmd := exec.Command("unshare", append(args, "sh", "-c", script)...)
	cmd.Env = h.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestFullDiskDuringCopy has a state directory on a file system that is smaller
// than the source.
func TestFullDiskDuringCopy(t *testing.T) {
	h := newHost(t)
	source := tree(t, 400, 100_000)
	code, out := h.unshared(t, "mount -t tmpfs -o size=32m,mode=0711 none "+h.state+` || exit 99
		sandboxer create --profile bwrap-local --input repo=`+source+`; code=$?
		sandboxer list -q
		find $SANDBOXER_STATE_DIR/ext/bwrap/sandboxes $SANDBOXER_STATE_DIR/locks -mindepth 1; ls $SANDBOXER_STATE_DIR/ext/bwrap/uids 2>/dev/null
		sandboxer run --profile bwrap-local --input repo=`+tree(t, 1, 1)+` -- echo still works
		exit $code`)
	if code != 1 || !strings.Contains(out, "(disk_full)\nhint: ") {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 3 || lines[2] != "still works" {
		t.Errorf("something is left, or does not work afterwards:\n%s", out)
	}
}

// TestUserNamespacesForbidden takes the user namespaces away, as a container or
// a hardened kernel does.
func TestUserNamespacesForbidden(t *testing.T) {
	h := newHost(t)
	source := tree(t, 1, 1)
	script := `echo 0 >/proc/sys/user/max_user_namespaces || exit 99
		exec sandboxer create --profile bwrap-local --input repo=` + source
	cmd := exec.Command("sh", "-c", script)
	// The limit belongs to a user namespace: this one is the script's own. For
	// root it has enough uids for the sandbox's.
	size := 1
	if os.Geteuid() == 0 {
		size = 2_000_000_000
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 syscall.CLONE_NEWUSER,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: size}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: size}},
		GidMappingsEnableSetgroups: os.Geteuid() == 0,
	}
	cmd.Env = h.env
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "(host_unsupported)") ||
		!strings.Contains(string(out), "hint: user namespaces are off; run: sudo sysctl -w user.max_user_namespaces=15000") {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
}

func TestNoBwrap(t *testing.T) {
	h := newHost(t)
	sandboxer, err := exec.LookPath("sandboxer")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sandboxer, "create", "--profile", "bwrap-local", "--input", "repo="+tree(t, 1, 1))
	cmd.Env = append(h.env, "PATH=/nonexistent")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "bwrap is not on this machine") ||
		!strings.Contains(string(out), "hint: install bubblewrap: apt-get install bubblewrap") {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
}

func TestUnreadableSource(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	h := newHost(t)
	source := tree(t, 3, 1)
	closed := filepath.Join(source, "d0", "f1")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	if _, stderr := h.run(1, "create", "--profile", "bwrap-local", "--input", "repo="+source); !strings.Contains(stderr, closed) ||
		!strings.Contains(stderr, "(source_invalid)\nhint: ") {
		t.Errorf("stderr: %s", stderr)
	}
	if err := os.Chmod(source, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(source, 0o755)
	if _, stderr := h.run(1, "create", "--profile", "bwrap-local", "--input", "repo="+source); !strings.Contains(stderr, "(source_invalid)\nhint: ") {
		t.Errorf("stderr: %s", stderr)
	}
}
