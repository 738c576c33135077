package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
)

func openLog(tb testing.TB, dir string) *Log {
	tb.Helper()
	l, err := Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

func appendTo(tb testing.TB, l *Log, e Event) {
	tb.Helper()
	if err := l.Append(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
}

var event = Event{
	Time:      time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC),
	Action:    "sandbox.exec",
	SandboxID: "sbx-01",
	Consumer:  Consumer{Actor: "agt", Project: "glas-harness", SessionID: "session-123", RunID: "run-456"},
	Outcome:   "exited",
	ExecID:    "exec-1",
	Details:   map[string]string{"command_name": "<python3>", "exit_code": "0"},
}

// The form of a line is a promise: records of years are verified with it.
func TestLinesHaveTheirForm(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	appendTo(t, l, event)
	appendTo(t, l, Event{Time: event.Time, Action: "reap", Code: "internal"})
	got, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("file differs (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v (%v), want 0600", info.Mode(), err)
	}
}

func TestTailReturnsTheLast(t *testing.T) {
	l := openLog(t, t.TempDir())
	if got, err := l.Tail(t.Context(), 3); err != nil || len(got) != 0 {
		t.Fatalf("of an empty log: %v, %v", got, err)
	}
	const total = 40 // more than fit into the first window
	for range total {
		appendTo(t, l, event)
	}
	for _, n := range []int{0, 1, 3, total, total + 1} {
		got, err := l.Tail(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		want := min(n, total)
		if len(got) != want {
			t.Fatalf("Tail(%d) gave %d entries, want %d", n, len(got), want)
		}
		for i, e := range got {
			if e.Seq != uint64(total-want+i+1) || !cmp.Equal(e.Event, event) {
				t.Errorf("Tail(%d)[%d] is %+v", n, i, e)
			}
		}
	}
}

func TestTextsAreBounded(t *testing.T) {
	l := openLog(t, t.TempDir())
	long := strings.Repeat("ä", 1000)
	bad := "a\xff\xfeb"
	appendTo(t, l, Event{
		Action: long, SandboxID: long, ExecID: long, Outcome: long, Code: long,
		Consumer: Consumer{Actor: long, Project: long, SessionID: long, RunID: bad},
		Details:  map[string]string{long: long, "bad": bad, "fits": strings.Repeat("x", maxValue)},
	})
	entries, err := l.Tail(t.Context(), 1)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	e := entries[0].Event
	for text, bound := range map[*string]int{
		&e.Action: maxWord, &e.Outcome: maxWord, &e.Code: maxWord, &e.SandboxID: maxID, &e.ExecID: maxID,
		&e.Consumer.Actor: maxID, &e.Consumer.Project: maxID, &e.Consumer.SessionID: maxID,
	} {
		if len(*text) > bound || len(*text) < bound-3 || !strings.HasSuffix(*text, "…") || !utf8.ValidString(*text) {
			t.Errorf("%q has %d bytes, want about %d, valid, with … at the end", *text, len(*text), bound)
		}
	}
	for name, value := range e.Details {
		if len(name) > maxName || len(value) > maxValue {
			t.Errorf("detail %q has %d bytes", name, len(value))
		}
	}
	if e.Consumer.RunID != "a?b" || e.Details["bad"] != "a?b" || len(e.Details["fits"]) != maxValue {
		t.Errorf("got %+v", e)
	}
	if r, err := l.Verify(t.Context()); err != nil || r.Bad != nil {
		t.Errorf("verify: %+v, %v", r, err)
	}
}

func TestAppendRefusesMistakes(t *testing.T) {
	l := openLog(t, t.TempDir())
	many := map[string]string{}
	for c := 'a'; len(many) <= maxDetails; c++ {
		many[string(c)] = ""
	}
	for name, e := range map[string]Event{
		"no action":        {},
		"the log's action": {Action: ActionTorn},
		"too many details": {Action: "a", Details: many},
	} {
		if err := l.Append(t.Context(), e); err == nil {
			t.Errorf("%s: appended, want an error", name)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(path string) error
		hint    string
	}{
		{"a missing directory", func(path string) error { return os.Remove(filepath.Dir(path)) }, "exists"},
		{"a symlink", func(path string) error { return os.Symlink("/dev/null", path) }, "a file of yours"},
		{"a directory", func(path string) error { return os.Mkdir(path, 0o700) }, "a file of yours"},
		{"a fifo", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "move it away"},
		{"a file that others can read", func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o640))
		}, "chmod 600 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.prepare(filepath.Join(dir, FileName)); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir)
			e, ok := errors.AsType[*sdk.Error](err)
			if !ok || e.Code != sdk.CodeHostUnsupported || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("error is %#v, want host_unsupported with a hint of %q", err, test.hint)
			}
		})
	}
}

func TestAppendWaitsForAnotherProcessUntilItsContextEnds(t *testing.T) {
	dir := t.TempDir()
	l, other := openLog(t, dir), openLog(t, dir)
	if err := other.locked(t.Context(), syscall.LOCK_EX, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := l.Append(ctx, event); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v, want context.DeadlineExceeded", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, event)
}

func TestAppendFollowsTheNameOfTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	l, other := openLog(t, dir), openLog(t, dir)
	appendTo(t, l, event)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	appendTo(t, l, event)
	appendTo(t, other, event)
	entries, err := other.Tail(t.Context(), 9)
	if err != nil || len(entries) != 2 || entries[0].Seq != 1 {
		t.Errorf("the new file has %+v (%v), want a chain of 2", entries, err)
	}
}

func TestGoroutinesTakeTurns(t *testing.T) {
	dir := t.TempDir()
	logs := []*Log{openLog(t, dir), openLog(t, dir)}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				if err := logs[i%2].Append(context.Background(), event); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if r, err := logs[0].Verify(t.Context()); err != nil || r.Bad != nil || r.Entries != 160 {
		t.Errorf("report is %+v, %v; want 160 entries", r, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	l := openLog(b, b.TempDir())
	for b.Loop() {
		appendTo(b, l, event)
	}
}

// BenchmarkSync is the floor: a write and a sync of as many bytes.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := make([]byte, 450)
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}
