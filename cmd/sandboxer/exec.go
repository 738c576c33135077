package main

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/sdk"
)

// execFlags are the flags of the verbs that run a command.
type execFlags struct {
	timeout   seconds
	maxOutput int64
	stdin     bool
	routeRefs []string
}

func (f *execFlags) add(cmd *cobra.Command) {
	secondsFlag(cmd, &f.timeout, "timeout", "end the command after this time, as 30s (default 15m)")
	cmd.Flags().Int64Var(&f.maxOutput, "max-output-bytes", sdk.DefaultOutputBytes, "keep at most this much of each stream")
	cmd.Flags().BoolVar(&f.stdin, "stdin", false, "pass standard input on, at most 1,000,000 bytes of UTF-8 text; without it the command reads /dev/null")
	cmd.Flags().StringArrayVar(&f.routeRefs, "credential-route-ref", nil, "a catalog identifier of a credential route, never a value; may be repeated")
}

func (a *app) execCommand() *cobra.Command {
	var f execFlags
	var consumer apitype.Consumer
	cmd := &cobra.Command{
		Use:   "exec ID [flags] -- COMMAND [ARG]...",
		Short: "Run one argument vector in a sandbox",
		Long: `exec runs one argument vector in a sandbox, passes its output through and exits
as it did: with its exit code, or 128+N when signal N ended it; 124 on timeout,
126 when the command is not executable, 127 when it is not found, and 125 when
sandboxer itself refused or failed.`,
		Example: `  sandboxer exec sbx-01arz3ndektsv4rrffq69g5fav --actor agt --project demo \
      --session-id s-1 --run-id r-1 -- python3 -V`,
		Args: idAndCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := f.request(a, consumer, args[1:])
			if err != nil {
				return err
			}
			return a.withService(cmd.Context(), func(s service) error {
				return a.exec(cmd, s, args[0], req)
			})
		},
	}
	identityFlags(cmd, &consumer)
	f.add(cmd)
	a.asExec(cmd)
	return cmd
}

// asExec gives cmd the exit codes of exec, for a wrong command line too.
func (a *app) asExec(cmd *cobra.Command) {
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		a.execLike = true
		return args(cmd, given)
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.execLike = true
		return usageError{cmd, err}
	})
}

func idAndCommand(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0:
		return errors.New("give the id of a sandbox, then -- and the command")
	case dash == 0:
		return errors.New("give the id of a sandbox before --")
	case dash < 0:
		return errors.New("put -- between the id and the command")
	case dash > 1:
		return fmt.Errorf("%q stands between the id and --: the command comes after --", args[1])
	case len(args) == 1:
		return errors.New("give a command after --")
	}
	return nil
}

func (f *execFlags) request(a *app, consumer apitype.Consumer, command []string) (apitype.ExecRequest, error) {
	req := apitype.ExecRequest{
		Command: command, Consumer: consumer, CredentialRouteRefs: f.routeRefs,
		TimeoutSeconds: f.timeout.value, MaxOutputBytes: &f.maxOutput,
	}
	if !f.stdin {
		return req, nil
	}
	// One byte more than allowed tells that there is more.
	b, err := io.ReadAll(io.LimitReader(a.stdin, sdk.MaxStdinBytes+1))
	if err != nil {
		return req, fmt.Errorf("read standard input: %w", err)
	}
	if len(b) > sdk.MaxStdinBytes {
		return req, sdk.Errorf(sdk.CodeStdinTooLarge, "standard input is longer than %d bytes", sdk.MaxStdinBytes).
			WithHint("put large input into the source directory before create")
	}
	if !utf8.Valid(b) {
		return req, sdk.Errorf(sdk.CodeInvalidRequest, "standard input is not UTF-8 text").
			WithHint("encode it, as with base64, and decode it inside")
	}
	text := string(b)
	req.StdinText = &text
	return req, nil
}

// exec runs a command, shows what it did and sets the exit code.
func (a *app) exec(cmd *cobra.Command, s service, id string, req apitype.ExecRequest) error {
	var live *sdk.ExecOutput
	if !a.json {
		live = &sdk.ExecOutput{Stdout: a.stdout, Stderr: a.stderr}
	}
	res, err := s.Exec(cmd.Context(), id, req, live)
	if err != nil {
		return err
	}
	a.exitCode = a.exitCodeOfResult(res)
	if a.json {
		return a.print(res, nil)
	}
	a.explain(cmd, res, *req.MaxOutputBytes)
	return nil
}

// explain says on stderr what the command's own output cannot.
func (a *app) explain(cmd *cobra.Command, res apitype.ExecResult, limit int64) {
	say := func(format string, args ...any) {
		fmt.Fprintf(a.stderr, cmd.CommandPath()+": "+format+"\n", args...)
	}
	for _, stream := range []struct {
		name  string
		bytes int64
	}{{"stdout", res.StdoutBytes}, {"stderr", res.StderrBytes}} {
		if stream.bytes > limit {
			say("%s is cut at %d of %d bytes; --max-output-bytes sets the bound", stream.name, limit, stream.bytes)
		}
	}
	switch sdk.Outcome(res.Outcome) {
	case sdk.OutcomeTimedOut:
		say("the command was ended: its time was over after %.1fs", float64(res.DurationMS)/1000)
	case sdk.OutcomeOOMKilled:
		say("the command was ended: it ran out of memory")
	case sdk.OutcomeStartFailed:
		say("%s (%s)", res.Failure.Message, res.Failure.Code)
		if res.Failure.Hint != "" {
			fmt.Fprintf(a.stderr, "hint: %s\n", res.Failure.Hint)
		}
	}
}

func (a *app) exitCodeOfResult(res apitype.ExecResult) int {
	switch sdk.Outcome(res.Outcome) {
	case sdk.OutcomeExited:
		return *res.ExitCode
	case sdk.OutcomeSignaled:
		return exitSignalBase + signalNumber(*res.Signal)
	case sdk.OutcomeTimedOut:
		return exitTimedOut
	case sdk.OutcomeOOMKilled:
		return exitSignalBase + int(unix.SIGKILL)
	case sdk.OutcomeCanceled:
		if a.signal != 0 {
			return exitSignalBase + int(a.signal)
		}
	case sdk.OutcomeStartFailed:
		if res.Failure.Code == string(sdk.CodeCommandNotFound) {
			return exitNotFound
		}
		return exitNotExecutable
	}
	return exitRefused
}

func signalNumber(name string) int {
	if n := unix.SignalNum(name); n != 0 {
		return int(n)
	}
	var rt int
	if _, err := fmt.Sscanf(name, "SIGRTMIN+%d", &rt); err == nil {
		return 34 + rt
	}
	return 0
}
