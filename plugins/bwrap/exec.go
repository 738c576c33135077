package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/broker"
	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/brokerclient"
	"github.com/tegwick/sand-boxer/sdk"
)

// drainCheck is how often the output is looked at after every process of the
// sandbox but pid 1 is dead. It ends by itself, in all but the rarest case.
const drainCheck = time.Second

// Exec implements sdk.Execer.
func (b *backend) Exec(ctx context.Context, req sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
	if !sdk.ValidSandboxID(req.SandboxID) || len(req.Argv) == 0 {
		return sdk.ExecResult{}, sdk.Errorf(sdk.CodeInvalidRequest, "exec needs a sandbox id and an argument vector")
	}
	client, err := brokerclient.Dial(string(b.paths.sandbox(req.SandboxID)))
	if err != nil {
		return sdk.ExecResult{}, goneError(req.SandboxID, err)
	}
	defer client.Close()
	streams, err := openStreams(req.Stdin, out, req.MaxOutputBytes)
	if err != nil {
		return sdk.ExecResult{}, fmt.Errorf("open the streams of the command: %w", err)
	}
	defer streams.close()

	started := time.Now()
	err = client.Start(broker.Exec{
		Argv: toBytes(req.Argv), Env: toBytes(environ(req.Env)), Dir: sdk.WorkspaceDir,
		Deadline: req.Deadline.UnixMilli(), GraceMS: sdk.KillGrace.Milliseconds(),
	}, streams.child())
	if err != nil {
		return sdk.ExecResult{}, goneError(req.SandboxID, err)
	}
	streams.start()
	stop := context.AfterFunc(ctx, client.Cancel)
	defer stop()
	r, err := client.Result()
	if err != nil {
		return sdk.ExecResult{}, goneError(req.SandboxID, err)
	}
	ended := time.Now()
	stdout, stderr, err := streams.drain(drainCheck)
	if err != nil {
		return sdk.ExecResult{}, fmt.Errorf("read the output of the command: %w", err)
	}
	res := toResult(req.Argv[0], r)
	res.StartedAt, res.Duration = started, ended.Sub(started)
	res.StdoutBytes, res.StderrBytes = stdout, stderr
	return res, nil
}

func goneError(id string, err error) error {
	if errors.Is(err, brokerclient.ErrGone) {
		return sdk.Errorf(sdk.CodeSandboxGone, "sandbox %s has ended: %w", id, err).
			WithHint("sandboxer destroy %s, then create a new one", id)
	}
	return fmt.Errorf("talk to the broker of %s: %w", id, err)
}

// toResult names the end of a command.
func toResult(name string, r broker.Result) sdk.ExecResult {
	res := sdk.ExecResult{SurvivorsKilled: r.Survivors}
	switch {
	case r.StartErrno != 0:
		res.Outcome = sdk.OutcomeStartFailed
		res.Failure = startFailure(name, syscall.Errno(r.StartErrno), r.Found)
	case r.Cause == broker.CauseDeadline:
		res.Outcome = sdk.OutcomeTimedOut
	case r.Cause == broker.CauseCanceled:
		res.Outcome = sdk.OutcomeCanceled
	case r.Signal != 0:
		res.Outcome = sdk.OutcomeSignaled
		res.Signal = signalName(r.Signal)
	default:
		res.Outcome = sdk.OutcomeExited
		res.ExitCode = r.ExitCode
	}
	return res
}

func signalName(n int) string {
	if name := unix.SignalName(syscall.Signal(n)); name != "" {
		return name
	}
	// Real-time signals have no name of their own; see signal(7).
	return fmt.Sprintf("SIGRTMIN+%d", n-34)
}

// startFailure says why a command did not start.
func startFailure(name string, errno syscall.Errno, found bool) *sdk.Error {
	switch {
	case errno == syscall.ENOENT && !found:
		return sdk.Errorf(sdk.CodeCommandNotFound, "%q is not in the sandbox", name).WithHint("%s", notFoundHint(name))
	case errno == syscall.ENOENT:
		return sdk.Errorf(sdk.CodeCommandNotFound, "%q names an interpreter that is not in the sandbox", name).
			WithHint("check the first line of the script, or the loader of the program")
	case errno == syscall.ENOTDIR:
		return sdk.Errorf(sdk.CodeCommandNotFound, "%q is not in the sandbox: a part of the path is not a directory", name)
	case errno == syscall.EACCES:
		return sdk.Errorf(sdk.CodeCommandNotExecutable, "%q is not executable", name).
			WithHint("chmod +x it in the source, or run its interpreter: sh FILE")
	case errno == syscall.ENOEXEC:
		return sdk.Errorf(sdk.CodeCommandNotExecutable, "%q is in no format that can be executed", name).
			WithHint("a script needs a first line such as #!/bin/sh; or run its interpreter: sh FILE")
	case errno == syscall.E2BIG:
		return sdk.Errorf(sdk.CodeCommandNotExecutable, "the arguments of %q are too long for the kernel: one of them is over 128 KiB", name).
			WithHint("pass long text on stdin or in a file")
	}
	return sdk.Errorf(sdk.CodeCommandNotExecutable, "%q did not start: %w", name, errno)
}

// notFoundHint guesses why somebody asked for a program that is not there.
func notFoundHint(name string) string {
	switch {
	case strings.ContainsAny(name, " \t\n|&;<>$`*?"):
		return "a command is an argument vector, not a shell line; for one run: sh -c 'LINE'"
	case slices.Contains([]string{"alias", "cd", "exit", "export", "set", "source", "ulimit", "umask", "unset"}, name):
		return "it is a command of the shell; run: sh -c '" + name + " …'"
	}
	return "install it under /usr on the host, or put it in the workspace and name it with a slash"
}

// environ merges the request's variables over the sandbox's own, sorted.
func environ(extra map[string]string) []string {
	env := environment()
	for k, v := range extra {
		env[k] = v
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

func toBytes(ss []string) [][]byte {
	out := make([][]byte, len(ss))
	for i, s := range ss {
		out[i] = []byte(s)
	}
	return out
}
