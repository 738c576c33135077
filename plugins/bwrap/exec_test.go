package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/broker"
	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/brokerclient"
	"github.com/tegwick/sand-boxer/sdk"
)

// ignoreTimes compares results by what they say, not by when.
var ignoreTimes = cmp.Options{
	cmpopts.IgnoreFields(sdk.ExecResult{}, "StartedAt", "Duration"),
	cmp.Comparer(func(a, b *sdk.Error) bool {
		return (a == nil) == (b == nil) && (a == nil || a.Code == b.Code && a.Message == b.Message)
	}),
}

func failure(code sdk.Code, message string) *sdk.Error {
	return &sdk.Error{Code: code, Message: message}
}

func TestExecEnds(t *testing.T) {
	source := t.TempDir()
	writeFile(t, filepath.Join(source, "plain.txt"), "text\n", 0o644)
	writeFile(t, filepath.Join(source, "noformat"), "\x00\x01 neither ELF nor script\n", 0o755)
	writeFile(t, filepath.Join(source, "badinterp"), "#!/no/such/interpreter\n", 0o755)
	writeFile(t, filepath.Join(source, "tool"), "#!/bin/sh\necho tool \"$@\"\n", 0o755)
	b, _ := newSandbox(t, source)

	type result = sdk.ExecResult
	tests := []struct {
		name   string
		argv   []string
		want   result
		stdout string
	}{
		{"success", []string{"true"}, result{Outcome: sdk.OutcomeExited}, ""},
		{"exit code", sh("exit 7"), result{Outcome: sdk.OutcomeExited, ExitCode: 7}, ""},
		{"exit code 255", sh("exit 255"), result{Outcome: sdk.OutcomeExited, ExitCode: 255}, ""},
		{"exit code that looks like a signal", sh("exit 137"), result{Outcome: sdk.OutcomeExited, ExitCode: 137}, ""},
		{"killed", sh("kill -9 $$"), result{Outcome: sdk.OutcomeSignaled, Signal: "SIGKILL"}, ""},
		{"terminated", sh("kill -TERM $$"), result{Outcome: sdk.OutcomeSignaled, Signal: "SIGTERM"}, ""},
		{"pipe signal at its default", sh("kill -PIPE $$"), result{Outcome: sdk.OutcomeSignaled, Signal: "SIGPIPE"}, ""},
		{"interrupt at its default", sh("kill -INT $$"), result{Outcome: sdk.OutcomeSignaled, Signal: "SIGINT"}, ""},
		{"missing program", []string{"no-such-program"},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotFound, `"no-such-program" is not in the sandbox`)}, ""},
		{"missing path", []string{"./no-such-program"},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotFound, `"./no-such-program" is not in the sandbox`)}, ""},
		{"path through a file", []string{"./plain.txt/x"},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotFound, `"./plain.txt/x" is not in the sandbox: a part of the path is not a directory`)}, ""},
		{"not executable", []string{"./plain.txt"},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotExecutable, `"./plain.txt" is not executable`)}, ""},
		{"directory", []string{"/usr"},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotExecutable, `"/usr" is not executable`)}, ""},
		{"no known format", []string{"./noformat"},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotExecutable, `"./noformat" is in no format that can be executed`)}, ""},
		{"missing interpreter", []string{"./badinterp"},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotFound, `"./badinterp" names an interpreter that is not in the sandbox`)}, ""},
		{"argument over the kernel's bound", []string{"true", strings.Repeat("x", 200<<10)},
			result{Outcome: sdk.OutcomeStartFailed, Failure: failure(sdk.CodeCommandNotExecutable, `the arguments of "true" are too long for the kernel: one of them is over 128 KiB`)}, ""},
		{"script of the workspace", []string{"./tool", "a b", "", "-c", "line\nbreak", `"'$x`},
			result{Outcome: sdk.OutcomeExited, StdoutBytes: 29}, "tool a b  -c line\nbreak \"'$x\n"},
		{"arguments that are not UTF-8", []string{"printf", "%s", "\xff\xfe"}, result{Outcome: sdk.OutcomeExited, StdoutBytes: 2}, "\xff\xfe"},
		{"both streams", sh("echo out; echo error >&2"), result{Outcome: sdk.OutcomeExited, StdoutBytes: 4, StderrBytes: 6}, "out\n"},
		{"background child that holds stdout", sh("sleep 300 & echo hi"),
			result{Outcome: sdk.OutcomeExited, StdoutBytes: 3, SurvivorsKilled: 1}, "hi\n"},
		{"child in a session of its own", sh("setsid -f sleep 300; echo hi"),
			result{Outcome: sdk.OutcomeExited, StdoutBytes: 3, SurvivorsKilled: 1}, "hi\n"},
		{"orphans of a normal end", sh("(sleep 300 & sleep 300 &); (setsid sh -c 'sleep 300 & : >/tmp/ready; wait' &); until [ -e /tmp/ready ]; do sleep 0.01; done; exit 3"),
			result{Outcome: sdk.OutcomeExited, ExitCode: 3, SurvivorsKilled: 4}, ""},
		{"orphan that ended by itself is no survivor", sh("(true &); sleep 0.1"), result{Outcome: sdk.OutcomeExited}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, stdout, _ := run(t, b, sdk.ExecRequest{Argv: tt.argv})
			if diff := cmp.Diff(tt.want, got, ignoreTimes); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if stdout != tt.stdout {
				t.Errorf("stdout %q, want %q", stdout, tt.stdout)
			}
			mustBeAlone(t, b)
		})
	}
}

func TestDeadlineEndsTheWholeTree(t *testing.T) {
	b, _ := newSandbox(t, "")
	tests := []struct {
		name, script, stdout string
	}{
		{"grandchild", "echo start; sh -c 'sleep 300; true'; true", "start\n"},
		{"detached grandchild", "echo start; setsid -f sleep 300; sleep 300", "start\n"},
		{"handler of SIGTERM has its say", `trap 'echo bye; exit 0' TERM; echo start; while :; do sleep 0.05; done`, "start\nbye\n"},
		{"SIGTERM ignored", `trap '' TERM; echo start; while :; do sleep 0.05; done`, "start\n"},
		{"stopped", `echo start; kill -STOP $$`, "start\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, stdout, _ := run(t, b, sdk.ExecRequest{Argv: sh(tt.script), Deadline: time.Now().Add(400 * time.Millisecond)})
			if res.Outcome != sdk.OutcomeTimedOut {
				t.Errorf("outcome %s, want %s", res.Outcome, sdk.OutcomeTimedOut)
			}
			if stdout != tt.stdout {
				t.Errorf("stdout %q, want %q", stdout, tt.stdout)
			}
			mustBeAlone(t, b)
		})
	}
}

func TestCancelEndsTheWholeTree(t *testing.T) {
	b, _ := newSandbox(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	started := writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
	res, err := b.Exec(ctx, sdk.ExecRequest{
		Ref: sdk.Ref{SandboxID: testID}, Argv: sh("setsid -f sleep 300; echo started; sleep 300"),
		Deadline: time.Now().Add(time.Minute), MaxOutputBytes: 100,
	}, sdk.ExecOutput{Stdout: started, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if res.Outcome != sdk.OutcomeCanceled {
		t.Errorf("outcome %s, want %s", res.Outcome, sdk.OutcomeCanceled)
	}
	mustBeAlone(t, b)
}

// TestClientThatVanishes is a plugin that is killed while its command runs.
func TestClientThatVanishes(t *testing.T) {
	b, _ := newSandbox(t, "")
	c, err := brokerclient.Dial(string(b.paths.sandbox(testID)))
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	err = c.Start(broker.Exec{
		Argv: toBytes([]string{"/bin/sh", "-c", "echo started; sleep 300"}), Dir: "/", Deadline: time.Now().Add(time.Minute).UnixMilli(),
	}, [3]int{int(null.Fd()), int(w.Fd()), int(null.Fd())})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	// The end of the output is the end of every process that could write.
	if _, err := io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	mustBeAlone(t, b)
}

func TestExitCodesAreNotStolen(t *testing.T) {
	b, _ := newSandbox(t, "")
	for i := range 200 {
		code := i % 256
		res, _, _ := run(t, b, sdk.ExecRequest{Argv: sh(fmt.Sprintf("(true &) ; exit %d", code))})
		if res.Outcome != sdk.OutcomeExited || res.ExitCode != code {
			t.Fatalf("exec %d: %s %d, want exit code %d", i, res.Outcome, res.ExitCode, code)
		}
	}
}

func TestStdin(t *testing.T) {
	b, _ := newSandbox(t, "")
	full := bytes.Repeat([]byte("0123456789"), sdk.MaxStdinBytes/10)
	tests := []struct {
		name   string
		argv   []string
		stdin  []byte
		stdout string
	}{
		{"none is /dev/null", []string{"cat"}, nil, ""},
		{"empty", []string{"cat"}, []byte{}, ""},
		{"text", []string{"cat"}, []byte("hello\n"), "hello\n"},
		{"the most", []string{"wc", "-c"}, full, "1000000\n"},
		{"never read", []string{"true"}, full, ""},
		{"read in part", []string{"head", "-c", "3"}, full, "012"},
		{"closed by the program", sh("exec <&-; echo done"), full, "done\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, stdout, _ := run(t, b, sdk.ExecRequest{Argv: tt.argv, Stdin: tt.stdin})
			if res.Outcome != sdk.OutcomeExited || res.ExitCode != 0 || stdout != tt.stdout {
				t.Errorf("%s %d, stdout %q, want %q", res.Outcome, res.ExitCode, stdout, tt.stdout)
			}
		})
	}
}

func TestOutputIsBoundedAndCounted(t *testing.T) {
	b, _ := newSandbox(t, "")
	tests := []struct {
		name           string
		script         string
		limit          int64
		stdout, stderr int64
	}{
		{"below", "printf 12345", 10, 5, 0},
		{"at the bound", "printf 1234567890", 10, 10, 0},
		{"one above", "printf 12345678901", 10, 11, 0},
		{"each stream by itself", "printf 123456789012; printf 1234567890123 >&2", 10, 12, 13},
		{"far above", "head -c 100000000 /dev/zero", 256 << 10, 100_000_000, 0},
		{"both far above", "head -c 20000000 /dev/zero >&2 & head -c 30000000 /dev/zero; wait", 4096, 30_000_000, 20_000_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := heapInUse()
			res, stdout, stderr := run(t, b, sdk.ExecRequest{Argv: sh(tt.script), MaxOutputBytes: tt.limit})
			if res.StdoutBytes != tt.stdout || res.StderrBytes != tt.stderr {
				t.Errorf("produced %d and %d, want %d and %d", res.StdoutBytes, res.StderrBytes, tt.stdout, tt.stderr)
			}
			if int64(len(stdout)) != min(tt.stdout, tt.limit) || int64(len(stderr)) != min(tt.stderr, tt.limit) {
				t.Errorf("kept %d and %d, bound %d", len(stdout), len(stderr), tt.limit)
			}
			if grown := int64(heapInUse()) - int64(before); grown > 8<<20 {
				t.Errorf("the heap grew by %d bytes", grown)
			}
		})
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func TestNoShortOutputIsLost(t *testing.T) {
	b, _ := newSandbox(t, "")
	for i := range 1000 {
		want := fmt.Sprintln(i)
		if _, stdout, _ := run(t, b, sdk.ExecRequest{Argv: []string{"echo", fmt.Sprint(i)}}); stdout != want {
			t.Fatalf("exec %d: stdout %q, want %q", i, stdout, want)
		}
	}
}

// TestSlowReaderLosesNothing has a reader that lags behind a command which has
// ended already.
func TestSlowReaderLosesNothing(t *testing.T) {
	b, _ := newSandbox(t, "")
	var got bytes.Buffer
	slow := writerFunc(func(p []byte) (int, error) {
		if got.Len() == 0 {
			time.Sleep(drainCheck + drainCheck/2) // longer than the idle check
		}
		return got.Write(p)
	})
	res, err := b.Exec(t.Context(), sdk.ExecRequest{
		Ref: sdk.Ref{SandboxID: testID}, Argv: []string{"head", "-c", "60000", "/dev/zero"},
		Deadline: time.Now().Add(time.Minute), MaxOutputBytes: 100_000,
	}, sdk.ExecOutput{Stdout: slow, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if got.Len() != 60000 || res.StdoutBytes != 60000 {
		t.Errorf("got %d bytes, counted %d, want 60000", got.Len(), res.StdoutBytes)
	}
}

func TestNotFoundHint(t *testing.T) {
	for name, want := range map[string]string{
		"ls -la | head": "sh -c 'LINE'",
		"cd":            "sh -c 'cd …'",
		"nosuch":        "install it under /usr",
	} {
		if got := startFailure(name, syscall.ENOENT, false).Hint; !strings.Contains(got, want) {
			t.Errorf("%s: hint %q, want %q in it", name, got, want)
		}
	}
}

func TestExecInNoSandbox(t *testing.T) {
	b := newBackend(t.TempDir())
	_, err := b.Exec(t.Context(), sdk.ExecRequest{Ref: sdk.Ref{SandboxID: testID}, Argv: []string{"true"}}, sdk.ExecOutput{})
	if sdk.CodeOf(err) != sdk.CodeSandboxGone {
		t.Errorf("error %v, want code %s", err, sdk.CodeSandboxGone)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func writeFile(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
