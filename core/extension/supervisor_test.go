package extension

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestCrashEndsTheCallAndTheNextOneWorks(t *testing.T) {
	h := newHost(t, nil, "good")
	f := open(t, h, "good")
	first := run(t, f, "pid")
	running := start(t, f, "hang")
	for _, test := range []struct{ argv, words, hint string }{
		{"crash", "the extension process ended during the call (ext.good: exit status 2)", `"panic: crashed as asked`},
		{"exit", "the extension process ended during the call (ext.good: exit status 0)", ""},
	} {
		_, err := f.Exec(t.Context(), execRequest(test.argv), sdk.ExecOutput{})
		if e := sdk.AsError(err); e == nil || e.Code != sdk.CodeBackendFailed || e.Message != test.words || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%s: got %#v", test.argv, e)
		}
	}
	if err := <-running; sdk.CodeOf(err) != sdk.CodeBackendFailed {
		t.Errorf("the other call that was running: %v", err)
	}
	if again := run(t, f, "pid"); again == first {
		t.Error("the same process answers")
	}
}

func TestKilledPluginIsStartedAgain(t *testing.T) {
	h := newHost(t, nil, "good")
	f := open(t, h, "good")
	pid := atoi(t, run(t, f, "pid"))
	running := start(t, f, "hang")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-running; sdk.CodeOf(err) != sdk.CodeBackendFailed || !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
	run(t, f, "true")
}

func TestInterruptIsLeftToTheHost(t *testing.T) {
	h := newHost(t, nil, "good")
	f := open(t, h, "good")
	pid := run(t, f, "pid")
	if err := syscall.Kill(atoi(t, pid), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if again := run(t, f, "pid"); again != pid {
		t.Errorf("process %s was replaced by %s", pid, again)
	}
}

func TestPauseGrowsAndIsForgotten(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var b backoff
	for i, want := range []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
		1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, 12800 * time.Millisecond,
		25600 * time.Millisecond, 30 * time.Second, 30 * time.Second,
	} {
		b.ended(time.Second, now)
		if got := b.retryAt.Sub(now); got != want {
			t.Errorf("pause %d is %v, want %v", i+1, got, want)
		}
	}
	b.failures = 1 << 40
	b.ended(healthyRun-1, now)
	if got := b.retryAt.Sub(now); got != longestPause {
		t.Errorf("after very many crashes the pause is %v", got)
	}
	b.ended(healthyRun, now)
	if got := b.retryAt.Sub(now); got != firstPause {
		t.Errorf("after a healthy run the pause is %v", got)
	}
}

func TestPauseHeedsItsContext(t *testing.T) {
	h := newHost(t, nil, "good")
	f := open(t, h, "good")
	s := h.supervisor("good")
	_, _ = f.Exec(t.Context(), execRequest("exit"), sdk.ExecOutput{})
	s.turn <- struct{}{}
	s.pause.failures = 9
	<-s.turn
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := f.List(ctx, "host"); sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Error(err)
	}
}

func TestStoppedPluginDoesNotHangClose(t *testing.T) {
	h := newHost(t, nil, "good")
	f := open(t, h, "good")
	pid := atoi(t, run(t, f, "pid"))
	running := start(t, f, "hang")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("Close took %v", took)
	}
	if _, err := os.Stat(fmt.Sprint("/proc/", pid)); err == nil {
		t.Error("the process is there after Close")
	}
	if err := <-running; sdk.CodeOf(err) != sdk.CodeBackendFailed || !strings.Contains(err.Error(), "stopped by the host") {
		t.Errorf("the call that was running: %v", err)
	}
}

func TestCloseLetsCallsFinishThenCancelsThem(t *testing.T) {
	h := newHost(t, nil, "good")
	f := open(t, h, "good")
	running := start(t, f, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took < 150*time.Millisecond || took > 390*time.Millisecond {
		t.Errorf("Close took %v: it drains for half of its 400ms, and the backend heeds its cancellation at once", took)
	}
	if err := <-running; err != nil {
		t.Errorf("the canceled call did not report its end: %v", err)
	}
}

func TestDeafCallDoesNotHangClose(t *testing.T) {
	h := newHost(t, nil, "good")
	running := start(t, open(t, h, "good"), "deaf")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := <-running; sdk.CodeOf(err) != sdk.CodeBackendFailed {
		t.Error(err)
	}
}

func TestChildrenOfAPlugin(t *testing.T) {
	h := newHost(t, nil, "good")
	f := open(t, h, "good")
	child := atoi(t, run(t, f, "child"))
	escaped := atoi(t, run(t, f, "escaped-child"))
	defer syscall.Kill(escaped, syscall.SIGKILL)

	// Both hold the plugin's stderr, which must not hide its end.
	begin := time.Now()
	if _, err := f.Exec(t.Context(), execRequest("exit"), sdk.ExecOutput{}); sdk.CodeOf(err) != sdk.CodeBackendFailed {
		t.Error(err)
	}
	run(t, f, "true")
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the end of the process took %v to show", took)
	}
	awaitDeath(t, child, time.Second)
	if err := syscall.Kill(escaped, 0); err != nil {
		t.Errorf("a child in a session of its own, as a sandbox is, is gone: %v", err)
	}
}

func TestRestartsLeakNothing(t *testing.T) {
	h := newHost(t, nil, "good")
	fds := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	run(t, open(t, h, "good"), "true")
	before := 0
	for i := range 100 {
		s := h.supervisor("good")
		p := s.running()
		p.runner.kill()
		<-p.gone
		if i == 0 {
			before = fds()
		}
		s.turn <- struct{}{}
		s.process, s.pause = nil, backoff{}
		<-s.turn
		if _, err := h.Open(t.Context(), "good"); err != nil {
			t.Fatal(err)
		}
	}
	p := h.supervisor("good").running()
	p.runner.kill()
	<-p.gone
	if after := fds(); after > before {
		t.Errorf("%d file descriptors, %d before 99 restarts", after, before)
	}
	// newHost looks for goroutines and directories.
}
