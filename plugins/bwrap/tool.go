package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// tool is the bwrap on this machine and what it knows.
type tool struct {
	path    string
	modTime time.Time
	size    int64
	options map[string]bool
}

// required are the bwrap options without which no sandbox is made.
var required = []string{
	"--args", "--as-pid-1", "--cap-drop", "--chdir", "--info-fd", "--new-session", "--perms", "--remount-ro",
	"--unshare-cgroup", "--unshare-ipc", "--unshare-net", "--unshare-pid", "--unshare-user", "--unshare-uts",
}

// findTool returns the bwrap to use. What it knows is read once for each file.
func (b *backend) findTool(ctx context.Context) (tool, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return tool{}, sdk.Errorf(sdk.CodeHostUnsupported, "bwrap is not on this machine: no such program in PATH").
			WithHint("install bubblewrap: apt-get install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora)")
	}
	fi, err := os.Stat(path)
	if err != nil {
		return tool{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tool.path == path && b.tool.size == fi.Size() && b.tool.modTime.Equal(fi.ModTime()) {
		return b.tool, nil
	}
	if fi.Mode()&os.ModeSetuid != 0 {
		return tool{}, sdk.Errorf(sdk.CodeHostUnsupported, "%s is installed setuid root, which sand-boxer does not use", path).
			WithHint("allow unprivileged user namespaces and run: sudo chmod u-s %s", path)
	}
	options, err := readOptions(ctx, path)
	if err != nil {
		return tool{}, err
	}
	for _, o := range required {
		if !options[o] {
			return tool{}, sdk.Errorf(sdk.CodeHostUnsupported, "%s is too old: it has no option %s", path, o).
				WithHint("install bubblewrap 0.6 or newer")
		}
	}
	b.tool = tool{path: path, modTime: fi.ModTime(), size: fi.Size(), options: options}
	return b.tool, nil
}

// readOptions lists the options that the bwrap at path names in its help.
func readOptions(ctx context.Context, path string) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--help")
	cmd.Env = []string{"LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, sdk.Errorf(sdk.CodeHostUnsupported, "%s does not run: %w: %s", path, err, firstLine(out)).
			WithHint("reinstall bubblewrap")
	}
	options := map[string]bool{}
	for line := range bytes.Lines(out) {
		if f := strings.Fields(string(line)); len(f) > 0 && strings.HasPrefix(f[0], "--") {
			options[f[0]] = true
		}
	}
	return options, nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}

// diagnose turns what bwrap said when it failed into an error that names the
// missing primitive and a remedy for its proven cause.
func diagnose(said string, read func(path string) string) error {
	said = strings.TrimPrefix(firstLine([]byte(said)), "bwrap: ")
	if said == "" {
		said = "it ended without a word"
	}
	e := sdk.Errorf(sdk.CodeHostUnsupported, "bwrap could not make the sandbox: %s", said)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(said, p) {
				return true
			}
		}
		return false
	}
	userns := has("No permissions to creat", "setting up uid map", "Creating new namespace failed", "RTM_NEWADDR", "loopback")
	switch {
	case userns && read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		return e.WithHint("AppArmor forbids unprivileged user namespaces; allow them for bwrap with a profile that has the rule \"userns,\" or run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
	case userns && read("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return e.WithHint("unprivileged user namespaces are off; run: sudo sysctl -w kernel.unprivileged_userns_clone=1")
	case userns && read("/proc/sys/user/max_user_namespaces") == "0":
		return e.WithHint("user namespaces are off; run: sudo sysctl -w user.max_user_namespaces=15000")
	case userns:
		return e.WithHint("user namespaces are forbidden for this user, most likely by the container or the service manager that runs sand-boxer; allow them there")
	case has("mount proc"):
		return e.WithHint("/proc of this container is masked, so no new one may be mounted; run sand-boxer outside it, or with an unmasked /proc (docker: --security-opt systempaths=unconfined)")
	case has("No space left"):
		return sdk.Errorf(sdk.CodeDiskFull, "bwrap could not make the sandbox: %s", said).
			WithHint("free disk space, or raise user.max_user_namespaces if it is exhausted")
	}
	return e
}

// readSetting returns the trimmed content of a kernel setting, "" when it is
// absent.
func readSetting(path string) string {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return strings.TrimSpace(string(b))
}
