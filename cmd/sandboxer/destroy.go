package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tegwick/sand-boxer/core/apitype"
)

func (a *app) destroyCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "destroy ID",
		SuggestFor: []string{"rm", "remove", "delete", "kill", "stop"},
		Short:      "Destroy a sandbox and return when nothing of it is left",
		Long: `destroy kills every process of a sandbox, removes its workspace, and returns when
nothing is left. Destroying a destroyed sandbox succeeds.`,
		Example: "  sandboxer destroy sbx-01arz3ndektsv4rrffq69g5fav",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withService(cmd.Context(), func(s service) error {
				d, err := s.Destroy(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.print(d, printRemoved(d))
			})
		},
	}
}

func (a *app) renewCommand() *cobra.Command {
	var ttl seconds
	cmd := &cobra.Command{
		Use:     "renew ID --ttl DURATION",
		Short:   "Move the expiry of a sandbox",
		Long:    "renew moves the expiry to the given time from now: never earlier than it is, never\nbeyond the profile's maximum.",
		Example: "  sandboxer renew sbx-01arz3ndektsv4rrffq69g5fav --ttl 2h",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ttl.value == nil {
				return usageError{cmd, errors.New("give the time it is to live from now: --ttl 2h")}
			}
			return a.withService(cmd.Context(), func(s service) error {
				sandbox, err := s.Renew(cmd.Context(), args[0], apitype.RenewRequest{TTLSeconds: *ttl.value})
				if err != nil {
					return err
				}
				return a.print(sandbox, printSandbox(sandbox))
			})
		},
	}
	secondsFlag(cmd, &ttl, "ttl", "how long it lives from now, as 2h (required)")
	return cmd
}

func (a *app) reapCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "reap",
		Short:   "Destroy the sandboxes that have expired, and what no record owns",
		Example: "  sandboxer reap --dry-run",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withService(cmd.Context(), func(s service) error {
				r, err := s.Reap(cmd.Context(), dryRun)
				for _, x := range r.Reaped {
					if x.Error != "" {
						err = errors.Join(err, fmt.Errorf("%s: %s", x.SandboxID, x.Error))
					}
				}
				return errors.Join(a.print(r, printReaped(r, dryRun)), err)
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be destroyed, and destroy nothing")
	return cmd
}

func printReaped(r apitype.Reaped, dryRun bool) func(io.Writer) {
	return func(w io.Writer) {
		verb := "destroyed"
		if dryRun {
			verb = "would destroy"
		}
		for _, x := range r.Reaped {
			if x.Error == "" {
				fmt.Fprintf(w, "%s %s: %s\n", verb, x.SandboxID, x.Reason)
			}
		}
	}
}
