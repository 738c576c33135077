// Package clienttest holds a harness transport to what it promises, whatever the
// boundary that it crosses.
package clienttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/client"
)

// Transport runs the suite over tr. The workspace must be a git repository with
// one commit and nothing to commit, and belong to the test alone.
func Transport(t *testing.T, tr *client.Transport) {
	s := suite{tr}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"arguments arrive as they are", s.arguments},
		{"the workspace is the directory", s.directory},
		{"exit codes", s.exitCodes},
		{"streams stay apart", s.streams},
		{"output is bounded and the cut is told", s.bounded},
		{"input", s.input},
		{"a timeout keeps the output so far", s.timeout},
		{"cancel ends the command", s.cancel},
		{"executables", s.executables},
		{"git head", s.gitHead},
		{"task file", s.taskFile},
		{"a strange .git takes no task file", s.strangeGit},
		{"files outside are not removed", s.removeOutside},
	} {
		t.Run(test.name, test.run)
	}
}

// HardArguments are what a command line gets wrong.
var HardArguments = []string{
	"", " ", "a b", "it's", `"`, `'"'"'`, "two\nlines", "\ttab", "-rf", "--", "$HOME", "`id`", "$(id)", "*", "~", "\\", `\n`,
	"a;b|c&d", "é 漢字 🙂", "!", "#", "\x01\x7f", "=", "a=b", "[x]", "{a,b}",
}

type suite struct{ *client.Transport }

func (s suite) must(t *testing.T, o client.RunOptions, argv ...string) client.Completed {
	t.Helper()
	done, err := s.Run(t.Context(), argv, o)
	if err != nil {
		t.Fatalf("%q: %v", argv, err)
	}
	return done
}

// out is what a command prints that must succeed.
func (s suite) out(t *testing.T, argv ...string) string {
	t.Helper()
	done := s.must(t, client.RunOptions{}, argv...)
	if done.ExitCode != 0 {
		t.Fatalf("%q: exit code %d: %s", argv, done.ExitCode, done.Stderr)
	}
	return string(done.Stdout)
}

func (s suite) sh(t *testing.T, script string) string {
	t.Helper()
	return s.out(t, "sh", "-c", script)
}

func (s suite) arguments(t *testing.T) {
	got := s.out(t, append([]string{"printf", `%s\0`}, HardArguments...)...)
	if want := strings.Join(HardArguments, "\x00") + "\x00"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for _, argv := range [][]string{nil, {"true", "a\x00b"}} {
		if _, err := s.Run(t.Context(), argv, client.RunOptions{}); err == nil {
			t.Errorf("%q was run", argv)
		}
	}
}

func (s suite) directory(t *testing.T) {
	if got := strings.TrimSuffix(s.out(t, "pwd"), "\n"); got != s.Workspace() {
		t.Errorf("the command ran in %s, not %s", got, s.Workspace())
	}
}

func (s suite) exitCodes(t *testing.T) {
	s.sh(t, "echo text >plain; chmod 644 plain")
	defer s.sh(t, "rm plain")
	for _, test := range []struct {
		argv []string
		want int
		says string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 42"}, 42, ""},
		{[]string{"no-such-program"}, 127, "no-such-program"},
		{[]string{"./plain"}, 126, "plain"},
	} {
		done := s.must(t, client.RunOptions{}, test.argv...)
		if done.ExitCode != test.want || !strings.Contains(string(done.Stderr), test.says) {
			t.Errorf("%q: exit code %d, stderr %q", test.argv, done.ExitCode, done.Stderr)
		}
	}
	killed := s.must(t, client.RunOptions{}, "sh", "-c", "kill -9 $$")
	if s.Kind() == client.KindOwnerMediated && (killed.Signal != "SIGKILL" || killed.ExitCode != -1) || killed.ExitCode == 0 {
		t.Errorf("a killed command: %+v", killed)
	}
}

func (s suite) streams(t *testing.T) {
	done := s.must(t, client.RunOptions{}, "sh", "-c", `printf 'out\377'; printf err >&2`)
	if string(done.Stdout) != "out\xff" || string(done.Stderr) != "err" {
		t.Errorf("stdout %q, stderr %q", done.Stdout, done.Stderr)
	}
}

func (s suite) bounded(t *testing.T) {
	const bound = 16 << 20
	done := s.must(t, client.RunOptions{}, "sh", "-c", "head -c 16777217 /dev/zero; echo end >&2")
	if len(done.Stdout) != bound || !done.StdoutTruncated || done.StderrTruncated || string(done.Stderr) != "end\n" {
		t.Errorf("%d bytes of stdout, truncated %v and %v, stderr %q", len(done.Stdout), done.StdoutTruncated, done.StderrTruncated, done.Stderr)
	}
}

func (s suite) input(t *testing.T) {
	text := strings.Repeat("é\n", 100_000)
	if done := s.must(t, client.RunOptions{Input: []byte(text)}, "cat"); string(done.Stdout) != text {
		t.Errorf("%d bytes came back of %d", len(done.Stdout), len(text))
	}
	if done := s.must(t, client.RunOptions{Input: []byte(text)}, "true"); done.ExitCode != 0 {
		t.Errorf("a command that does not read: %+v", done)
	}
	if done := s.must(t, client.RunOptions{}, "cat"); done.ExitCode != 0 || len(done.Stdout) != 0 {
		t.Errorf("without input: %+v", done)
	}
}

func (s suite) timeout(t *testing.T) {
	begin := time.Now()
	// Long enough for a busy machine to begin with the command.
	done := s.must(t, client.RunOptions{Timeout: 2 * time.Second}, "sh", "-c", "echo before; exec sleep 60")
	if !done.TimedOut || done.ExitCode != -1 || string(done.Stdout) != "before\n" {
		t.Errorf("%+v", done)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func (s suite) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.Run(ctx, []string{"sh", "-c", "touch .git/started; exec sleep 60"}, client.RunOptions{})
		ended <- err
	}()
	// The command itself cannot be asked: one runs at a time.
	time.AfterFunc(300*time.Millisecond, cancel)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := s.Run(t.Context(), []string{"rm", "-f", ".git/started"}, client.RunOptions{})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sandbox is still busy: %v", err)
		}
	}
}

func (s suite) executables(t *testing.T) {
	got, err := s.ResolveExecutable(t.Context(), "git")
	if err != nil || !strings.HasPrefix(got, "/") || path.Base(got) != "git" {
		t.Errorf("git is %q, %v", got, err)
	}
	for name, want := range map[string]string{
		"":                "rein executable must be a command name, not a host path",
		"/bin/sh":         "rein executable must be a command name, not a host path",
		"no-such-program": "'no-such-program' is not installed inside the selected sandbox transport",
		"-v":              "'-v' is not installed inside the selected sandbox transport",
	} {
		if _, err := s.ResolveExecutable(t.Context(), name); err == nil || err.Error() != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func (s suite) gitHead(t *testing.T) {
	got, err := s.GitHead(t.Context())
	if want := strings.TrimSpace(s.out(t, "git", "rev-parse", "HEAD")); err != nil || got != want || len(got) < 40 {
		t.Errorf("HEAD is %q, %v; want %q", got, err, want)
	}
	s.sh(t, "mv .git .away")
	defer s.sh(t, "mv .away .git")
	if _, err := s.GitHead(t.Context()); err == nil {
		t.Error("there is a HEAD without a repository")
	}
}

func (s suite) taskFile(t *testing.T) {
	payload := map[string]string{"prompt": "it's \"a\" secret\n$(id)\u00e9"}
	file, err := s.WriteTaskFile(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	if path.Dir(file) != path.Join(s.Workspace(), ".git") {
		t.Errorf("the task file is %s", file)
	}
	if mode := s.out(t, "stat", "-c", "%a", file); mode != "600\n" {
		t.Errorf("its mode is %s", mode)
	}
	want, _ := json.Marshal(payload)
	if got := s.out(t, "cat", file); !bytes.Equal([]byte(got), want) {
		t.Errorf("it holds %q, want %q", got, want)
	}
	if got := s.sh(t, "git add -A && git status --porcelain"); got != "" {
		t.Errorf("git sees %q", got)
	}
	for range 2 { // again is no error
		if err := s.RemoveFile(t.Context(), file); err != nil {
			t.Error(err)
		}
	}
	if got := s.sh(t, "ls -A .git | grep -c task || true"); got != "0\n" {
		t.Errorf("%s task files are left", got)
	}
}

func (s suite) strangeGit(t *testing.T) {
	s.sh(t, "mv .git .away")
	defer s.sh(t, "rm -rf .git; mv .away .git")
	for _, test := range []struct{ make, want string }{
		{"true", "/.git does not exist"},
		{"ln -s .away .git", "/.git is a symbolic link, not a directory"},
		{"ln -s nowhere .git", "/.git is a symbolic link, not a directory"},
		{"echo gitdir: .away >.git", "/.git is not a directory"},
	} {
		s.sh(t, "rm -rf .git; "+test.make)
		file, err := s.WriteTaskFile(t.Context(), "task")
		if err == nil || !strings.Contains(err.Error(), " task file: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: wrote %q, %v", test.make, file, err)
		}
	}
	if got := s.sh(t, "ls -A .away | grep -c task || true"); got != "0\n" {
		t.Errorf("%s task files came through the link", got)
	}
}

func (s suite) removeOutside(t *testing.T) {
	s.sh(t, `mkdir -- -d && echo x >"-d/it's" && ln -s / out && ln -s -- -d in`)
	defer s.sh(t, `rm -rf -- -d out in`)
	ws := s.Workspace()
	for _, file := range []string{
		"", "relative", "/etc/hostname", ws, ws + "/", ws + "/../x", ws + "/./x", ws + "-other/x", ws + "//x",
		path.Join(ws, "out/etc/hostname"), ws + "/-d",
	} {
		if err := s.RemoveFile(t.Context(), file); err == nil {
			t.Errorf("%q was removed", file)
		}
	}
	for _, file := range []string{"in/it's", "-d/it's", "none/x"} {
		if err := s.RemoveFile(t.Context(), path.Join(ws, file)); err != nil {
			t.Error(err)
		}
	}
	if got := s.out(t, "ls", "-A", "--", "-d"); got != "" {
		t.Errorf("left: %s", got)
	}
}
