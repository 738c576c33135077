package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

// Exit codes. Those of a command that was run are its own.
const (
	exitFailed        = 1
	exitUsage         = 2
	exitTimedOut      = 124
	exitRefused       = 125
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignalBase    = 128
)

// printError says what went wrong, and what to do about it.
func (a *app) printError(cmd *cobra.Command, err error) {
	verb := cmd.CommandPath()
	if u, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(a.stderr, "%s: %v\nhint: see '%s --help'\n", verb, u, u.cmd.CommandPath())
		return
	}
	if d, ok := errors.AsType[*profile.Diagnostics](err); ok {
		fmt.Fprintf(a.stderr, "%s: the profile is not valid (%s)\n", verb, sdk.CodeOf(err))
		d.Render(a.stderr, false)
		return
	}
	e := sdk.AsError(err)
	fmt.Fprintf(a.stderr, "%s: %s (%s)\n", verb, e.Message, e.Code)
	if e.Hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", e.Hint)
	}
}

func (a *app) exitCodeOf(err error) int {
	switch {
	case a.signal != 0 && (errors.Is(err, context.Canceled) || sdk.CodeOf(err) == sdk.CodeCanceled):
		return exitSignalBase + int(a.signal)
	case a.execLike:
		return exitRefused
	case isUsage(err):
		return exitUsage
	}
	return exitFailed
}

func isUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok || sdk.CodeOf(err) == sdk.CodeInvalidRequest
}
