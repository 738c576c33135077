package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// drainTime is how long the streams of an ssh that has ended stay open for those
// it left behind, as the master of a shared connection.
const drainTime = time.Second

// ssh runs commands with the system's ssh: the user's own configuration, keys
// and agent apply.
type ssh struct {
	target, dir string
}

// command is the argument vector to run here. The command goes through exactly
// one shell on the other side, for which it is quoted.
func (s ssh) command(argv []string) []string {
	scoped := append([]string{"sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", s.dir}, argv...)
	for i, arg := range scoped {
		scoped[i] = quote(arg)
	}
	return []string{"ssh", "--", s.target, strings.Join(scoped, " ")}
}

// quote writes an argument so that a POSIX shell reads it as one word.
func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool { return !plain(r) }) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'"'"'`) + "'"
}

func (s ssh) run(ctx context.Context, argv []string, o RunOptions) (Completed, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if o.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, o.Timeout)
	}
	defer cancel()
	command := s.command(argv)
	cmd := exec.CommandContext(limited, command[0], command[1:]...)
	var stdout, stderr stream
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if o.Input != nil {
		cmd.Stdin = bytes.NewReader(o.Input)
	}
	// ssh closes its connection when it is asked to end.
	ended := false
	cmd.Cancel = func() error {
		ended = true
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	cmd.WaitDelay = drainTime
	err := cmd.Run()
	switch {
	case ctx.Err() != nil && (ended || cmd.ProcessState == nil):
		return Completed{}, fmt.Errorf("the command was given up: %w", context.Cause(ctx))
	case cmd.ProcessState == nil:
		return Completed{}, fmt.Errorf("ssh cannot be run: %w", err)
	}
	done := Completed{
		ExitCode: cmd.ProcessState.ExitCode(), TimedOut: ended,
		Stdout: stdout.kept, Stderr: stderr.kept, StdoutTruncated: stdout.truncated, StderrTruncated: stderr.truncated,
	}
	if ended {
		done.ExitCode = -1
		return done, nil
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Completed{}, fmt.Errorf("ssh was ended by signal %v; how the command ended is not known", status.Signal())
	}
	// What ssh left behind may hold its streams; that is no failure. A command
	// need not read its input either.
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay) {
		return Completed{}, fmt.Errorf("the streams of ssh: %w", err)
	}
	return done, nil
}

// stream keeps the first bytes that are written to it and drops the rest.
type stream struct {
	kept      []byte
	truncated bool
}

func (s *stream) Write(b []byte) (int, error) {
	room := min(len(b), maxOutputBytes-len(s.kept))
	s.kept = append(s.kept, b[:room]...)
	s.truncated = s.truncated || room < len(b)
	return len(b), nil
}
