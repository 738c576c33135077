package extension

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestOpenDescribesTheExtension(t *testing.T) {
	work := filepath.Join(t.TempDir(), "work")
	var verified string
	h := newHost(t, func(c *Config) {
		c.WorkDir = work
		c.Verify = func(name, path, digest string) error {
			verified = name + " " + path + " " + digest
			return nil
		}
	}, "good")
	e, err := h.Open(t.Context(), "ext.good")
	if err != nil {
		t.Fatal(err)
	}
	digest, err := Digest(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	if e.Info.Name != "good" || e.Info.Version != "1.0.0" || e.Digest != digest || fmt.Sprint(e.Capabilities) != "[exec.v1 health.v1]" {
		t.Errorf("extension = %+v", e)
	}
	if want := "good " + e.Path + " " + digest; verified != want {
		t.Errorf("verified %q, want %q", verified, want)
	}
	for _, dir := range []string{work, filepath.Join(work, "good")} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o755 != 0o711 {
			t.Errorf("work directory %s: %v %v", dir, info.Mode(), err)
		}
	}
	f := e.Features()
	if f.Exec == nil || f.Health == nil || f.Renew != nil || f.Inspect != nil || f.ValidateConfig != nil {
		t.Errorf("features do %v", f.Capabilities())
	}
	usable, health, err := e.Usable(t.Context())
	if err != nil || !health.Usable || usable.Exec != nil || usable.Health == nil {
		t.Errorf("usable: %v %+v %v", usable.Capabilities(), health, err)
	}
}

func TestForbiddenProgramIsNotRun(t *testing.T) {
	forbid := errors.New("not in the lock file")
	h := newHost(t, func(c *Config) {
		c.Verify = func(string, string, string) error { return forbid }
	}, "good")
	if _, err := h.Open(t.Context(), "good"); !errors.Is(err, forbid) {
		t.Error(err)
	}
}

func TestOneProcessServesAllCallers(t *testing.T) {
	h := newHost(t, nil, "good")
	pids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range pids {
		wg.Go(func() {
			e, err := h.Open(t.Context(), "good")
			if err != nil {
				t.Error(err)
				return
			}
			var out bytes.Buffer
			if _, err := e.Features().Exec(t.Context(), execRequest("pid"), sdk.ExecOutput{Stdout: &out}); err != nil {
				t.Error(err)
			}
			pids[i] = out.String()
		})
	}
	wg.Wait()
	for _, pid := range pids {
		if pid != pids[0] {
			t.Fatalf("processes %v", pids)
		}
	}
}

func TestPluginSeesLittleOfTheHost(t *testing.T) {
	t.Setenv("SANDBOXER_EXEC_TOKEN", "secret-of-the-host")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-user")
	t.Setenv("LANG", "C.UTF-8")
	h := newHost(t, func(c *Config) {
		c.Env = []string{"SANDBOXER_HOST=build1", "SANDBOXER_EXEC_TOKEN=by-mistake", "SANDBOXER_EXEC_TOKEN_FILE=/x"}
	}, "good")
	f := open(t, h, "good")
	allowed := map[string]bool{"PATH": true, "HOME": true, "LANG": true, "TMPDIR": true, "SANDBOXER_HOST": true,
		"SANDBOXER_PLUGIN": true, "PLUGIN_MIN_PORT": true, "PLUGIN_MAX_PORT": true, "PLUGIN_PROTOCOL_VERSIONS": true, "PLUGIN_UNIX_SOCKET_DIR": true}
	env := run(t, f, "env")
	for line := range strings.Lines(env) {
		if name, _, _ := strings.Cut(line, "="); !allowed[name] {
			t.Errorf("the plugin sees %q", line)
		}
	}
	if !strings.Contains(env, "SANDBOXER_HOST=build1\n") || !strings.Contains(env, "LANG=C.UTF-8\n") {
		t.Errorf("the plugin lacks what it was given:\n%s", env)
	}
	want := "stdin /dev/null\ncwd /\nexe " + filepath.Join(h.cfg.Finder.Dirs[0], filePrefix+"good") + "\nleader true\n"
	if got := run(t, f, "where"); got != want {
		t.Errorf("the plugin is at\n%swant\n%s", got, want)
	}
}

func TestPrintsOfAPluginAreLogged(t *testing.T) {
	var log safeBuffer
	h := newHost(t, func(c *Config) {
		c.Log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})
	}, "good", "loggers")
	run(t, open(t, h, "good"), "print")
	for !strings.Contains(log.String(), "to stdout") || !strings.Contains(log.String(), "to stderr") {
		time.Sleep(time.Millisecond) // it travels beside the exec
	}
	run(t, open(t, h, "loggers"), "true")
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, `malformed log record: {"@message": 1}`) || strings.Contains(got, "\x1b") {
		t.Errorf("log:\n%.4000s", got)
	}
}

func TestPluginDiesWithItsHost(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(exe)
	host.Env = append(os.Environ(), "EXTENSION_TEST_HOST="+install(t, "good"))
	stdout, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	killErr := host.Process.Kill()
	_ = host.Wait()
	if err != nil || killErr != nil {
		t.Fatal(line, err, killErr)
	}
	awaitDeath(t, atoi(t, line), 2*time.Second)

	// The next host removes the socket directory that the dead one left.
	h := New(Config{Finder: Finder{Dirs: []string{install(t, "good")}}})
	defer h.Close(t.Context())
	open(t, h, "good")
	left, err := filepath.Glob(filepath.Join(socketBase(""), socketDirPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range left {
		if lock, err := lockDir(dir); err == nil {
			_ = lock.Close()
			t.Errorf("%s is left", dir)
		}
	}
}
