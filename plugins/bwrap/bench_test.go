package main

import (
	"context"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// The figures of docs/performance.md: each beside a bare baseline of the same
// run.

// BenchmarkForkExec is the floor: a process of the host, without isolation.
func BenchmarkForkExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareBwrap is what a command costs that makes its namespaces anew.
func BenchmarkBareBwrap(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
			"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
			"--tmpfs", "/tmp", "--new-session", "/bin/true")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}

// BenchmarkExec is a command through the broker.
func BenchmarkExec(b *testing.B) {
	be, _ := newSandbox(b, "")
	out := sdk.ExecOutput{Stdout: io.Discard, Stderr: io.Discard}
	req := sdk.ExecRequest{Ref: sdk.Ref{SandboxID: testID}, Argv: []string{"/bin/true"}, MaxOutputBytes: 1 << 10}
	for b.Loop() {
		req.Deadline = time.Now().Add(time.Minute)
		if _, err := be.Exec(b.Context(), req, out); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDrain is the speed at which output beyond the bound is dropped.
func BenchmarkDrain(b *testing.B) {
	const size = 100 << 20
	be, _ := newSandbox(b, "")
	out := sdk.ExecOutput{Stdout: io.Discard, Stderr: io.Discard}
	b.SetBytes(size)
	for b.Loop() {
		_, err := be.Exec(b.Context(), sdk.ExecRequest{
			Ref: sdk.Ref{SandboxID: testID}, Argv: []string{"dd", "if=/dev/zero", "bs=1M", "count=100", "status=none"},
			MaxOutputBytes: sdk.DefaultOutputBytes, Deadline: time.Now().Add(time.Minute),
		}, out)
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCreate is a small repository to ready; the destroy is not counted.
func BenchmarkCreate(b *testing.B) {
	source := b.TempDir()
	for i := range 20 {
		writeFile(b, filepath.Join(source, strconv.Itoa(i)), "text\n", 0o644)
	}
	be := newBackend(newWorkDir(b))
	if _, err := be.installBroker(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		created, err := be.Create(b.Context(), createRequest(source), noProgress{b})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := be.Destroy(context.Background(), sdk.Ref{SandboxID: testID, Handle: created.Handle}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkIdle reports the proportional memory of an idle sandbox: of its two
// processes, over many sandboxes.
func BenchmarkIdle(b *testing.B) {
	if b.N > 1 {
		return // a measurement, not a repetition
	}
	const n = 50
	be := newBackend(newWorkDir(b))
	pss := 0
	for i := range n {
		req := createRequest("")
		req.SandboxID = testID[:len(testID)-2] + string("0123456789abcdefghjkmnpqrstvwxyz"[i/32]) + string("0123456789abcdefghjkmnpqrstvwxyz"[i%32])
		created, err := be.Create(b.Context(), req, noProgress{b})
		if err != nil {
			b.Fatal(err)
		}
		defer be.Destroy(context.Background(), sdk.Ref{SandboxID: req.SandboxID, Handle: created.Handle})
		if i == n-1 {
			note := noteOf(created.Handle)
			pss = proportional(b, note.Init.PID) + proportional(b, note.Monitor.PID)
		}
	}
	b.ReportMetric(float64(pss), "KiB/sandbox")
}

// proportional is the Pss of a process in KiB; see proc_pid_smaps(5).
func proportional(b *testing.B, pid int) (kib int) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		b.Skipf("only root reads the memory of a broker: %v", err)
	}
	for line := range splitLines(string(text)) {
		if len(line) == 3 && line[0] == "Pss:" {
			kib, err = strconv.Atoi(line[1])
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	return kib
}

// splitLines yields the fields of each line.
func splitLines(text string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			if !yield(strings.Fields(line)) {
				return
			}
		}
	}
}
