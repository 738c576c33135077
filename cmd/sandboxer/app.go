package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// app is one run of the program. Results go to stdout, all else to stderr.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	json outputFormat
	// addr is the service to use; "" is the state directory of this machine.
	addr string
	// signal is what interrupted the run; 0 when nothing did.
	signal syscall.Signal
	// exitCode is what a verb that succeeds exits with.
	exitCode int
	// execLike is whether the verb runs a command, and so has exec's exit codes.
	execLike bool
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr}
}

// run runs one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	ctx, stop := a.interruptible(ctx)
	defer stop()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return a.exitCode
	}
	a.printError(cmd, err)
	return a.exitCodeOf(err)
}

// interruptible ends ctx at the first signal that asks the program to end. The
// second one ends it at once.
func (a *app) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			a.signal, _ = s.(syscall.Signal)
			signal.Stop(signals)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sandboxer",
		Short: "Isolated sandboxes for agent harnesses",
		Long: `sandboxer provisions isolated sandboxes from profiles, executes argument vectors
in them, and destroys them.

State is kept in SANDBOXER_STATE_DIR, else in /var/lib/sandboxer for root, else in
$XDG_STATE_HOME/sandboxer. With --addr or SANDBOXER_ADDR a running service is asked
instead, with the token of SANDBOXER_EXEC_TOKEN_FILE or SANDBOXER_EXEC_TOKEN.`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("sandboxer {{.Version}}\n")
	root.PersistentFlags().VarP(&a.json, "output", "o", "what to print: table or json")
	root.PersistentFlags().StringVar(&a.addr, "addr", os.Getenv("SANDBOXER_ADDR"), "the service to ask, as unix:///path or https://host:port ($SANDBOXER_ADDR)")
	root.PersistentFlags().Lookup("addr").DefValue = ""
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{cmd, err} })
	root.AddCommand(
		a.createCommand(), a.execCommand(), a.runCommand(),
		a.listCommand(), a.showCommand(), a.reachabilityCommand(),
		a.renewCommand(), a.destroyCommand(), a.reapCommand(),
		a.serveCommand(), a.versionCommand(),
	)
	for _, c := range root.Commands() {
		c.Args = asUsage(c.Args)
	}
	root.InitDefaultCompletionCmd()
	return root
}

func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	msg := fmt.Sprintf("there is no verb %q", args[0])
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		msg += fmt.Sprintf("; did you mean %q?", s[0])
	}
	return usageError{cmd, errors.New(msg)}
}

// usageError is a command line that is wrong.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// asUsage makes the errors of an argument check usage errors.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return usageError{cmd, err}
		}
		return nil
	}
}
