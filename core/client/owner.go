package client

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// Exit codes by which a shell says that it could not start a command.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// codeCommandNotFound is the code of the failure of a command that is missing.
const codeCommandNotFound = "command_not_found"

// owner runs commands by the exec route of the service.
type owner struct {
	client    *Client
	sandboxID string
	consumer  apitype.Consumer
}

func (o owner) run(ctx context.Context, argv []string, opts RunOptions) (Completed, error) {
	output := int64(maxOutputBytes)
	req := apitype.ExecRequest{Command: argv, Consumer: o.consumer, MaxOutputBytes: &output}
	if opts.Timeout > 0 {
		seconds := int64((opts.Timeout + time.Second - 1) / time.Second)
		req.TimeoutSeconds = &seconds
	}
	if opts.Input != nil {
		if !utf8.Valid(opts.Input) {
			return Completed{}, refused("/stdin_text", "the input is not UTF-8 text, which alone the owner service passes on")
		}
		text := string(opts.Input)
		req.StdinText = &text
	}
	r, err := o.client.Exec(ctx, o.sandboxID, req)
	if err != nil {
		return Completed{}, err
	}
	return completedOf(r)
}

func completedOf(r apitype.ExecResult) (Completed, error) {
	stdout, stderr, err := Streams(r)
	if err != nil {
		return Completed{}, err
	}
	done := Completed{
		ExitCode: -1, TimedOut: r.TimedOut, Stdout: stdout, Stderr: stderr,
		StdoutTruncated: r.StdoutTruncated, StderrTruncated: r.StderrTruncated,
	}
	switch r.Outcome {
	case apitype.OutcomeExited:
		done.ExitCode = *r.ExitCode
	case apitype.OutcomeSignaled:
		done.Signal = *r.Signal
	case apitype.OutcomeOOMKilled:
		done.Signal = "SIGKILL"
	case apitype.OutcomeStartFailed:
		done.ExitCode = exitNotExecutable
		if r.Failure.Code == codeCommandNotFound {
			done.ExitCode = exitNotFound
		}
		done.Stderr = fmt.Appendf(done.Stderr, "%s\n", r.Failure.Message)
	case apitype.OutcomeCanceled:
		return Completed{}, fmt.Errorf("the service ended the command %s before it was done", r.ExecID)
	}
	return done, nil
}
