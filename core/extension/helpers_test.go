package extension

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegwick/sand-boxer/sdk"
)

// plugin is the program of testdata/plugin, built once.
var plugin string

func TestMain(m *testing.M) {
	if dir := os.Getenv("EXTENSION_TEST_HOST"); dir != "" {
		hostMain(dir)
	}
	os.Exit(testMain(m))
}

// testMain builds the test plugin, unless SANDBOXER_TEST_PLUGIN names one.
func testMain(m *testing.M) int {
	if plugin = os.Getenv("SANDBOXER_TEST_PLUGIN"); plugin != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "extension-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	plugin = filepath.Join(dir, "plugin")
	build := exec.Command("go", "build", "-o", plugin, "./testdata/plugin")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the test plugin: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// hostMain is a host that opens ext.good, prints the pid of its process, and
// waits to be killed.
func hostMain(dir string) {
	e, err := New(Config{Finder: Finder{Dirs: []string{dir}}}).Open(context.Background(), "good")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var out bytes.Buffer
	if _, err := e.Features().Exec(context.Background(), execRequest("pid"), sdk.ExecOutput{Stdout: &out}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(out.String())
	select {}
}

// install makes a directory with the test plugin under each name.
func install(t testing.TB, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "extensions")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Link(plugin, filepath.Join(dir, filePrefix+name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newHost returns a host that finds the test plugin under each name. When the
// test ends it is closed, and nothing may be left of what it ran.
func newHost(t testing.TB, change func(*Config), names ...string) *Host {
	t.Helper()
	sockets, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Finder: Finder{Dirs: []string{install(t, names...)}}, SocketDir: sockets}
	if change != nil {
		change(&cfg)
	}
	h := New(cfg)
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(sockets); len(left) != 0 {
			t.Errorf("left in the socket directory: %v", left)
		}
		_ = os.RemoveAll(sockets)
		if _, ok := t.(*testing.T); ok { // a benchmark's runner waits in a goroutine
			goleak.VerifyNone(t)
		}
	})
	return h
}

func open(t testing.TB, h *Host, name string) sdk.Features {
	t.Helper()
	e, err := h.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return e.Features()
}

func execRequest(argv ...string) sdk.ExecRequest {
	return sdk.ExecRequest{Argv: argv, MaxOutputBytes: 64 << 10}
}

// run makes an exec that must succeed and returns its stdout.
func run(t testing.TB, f sdk.Features, argv ...string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := f.Exec(t.Context(), execRequest(argv...), sdk.ExecOutput{Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// signalWriter closes started at its first write.
type signalWriter struct {
	once    sync.Once
	started chan struct{}
}

func (w *signalWriter) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.started) })
	return len(p), nil
}

// start begins an exec and returns once the plugin has begun it; the channel
// takes its end.
func start(t testing.TB, f sdk.Features, argv ...string) <-chan error {
	t.Helper()
	w := &signalWriter{started: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := f.Exec(t.Context(), execRequest(argv...), sdk.ExecOutput{Stdout: w})
		done <- err
	}()
	select {
	case <-w.started:
	case err := <-done:
		t.Fatalf("the exec ended at once: %v", err)
	}
	return done
}

// awaitDeath fails unless the process is gone, or a zombie, in time.
func awaitDeath(t testing.TB, pid int, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d is alive after %v", pid, within)
		}
	}
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
