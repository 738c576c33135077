package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "show ID",
		SuggestFor: []string{"get", "inspect", "describe"},
		Short:      "Show a sandbox",
		Example:    "  sandboxer show sbx-01arz3ndektsv4rrffq69g5fav -o json",
		Args:       oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withService(cmd.Context(), func(s service) error {
				sandbox, err := s.Get(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.print(sandbox, printSandbox(sandbox))
			})
		},
	}
}

func (a *app) reachabilityCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "reachability ID",
		Short:   "Show how to get to a sandbox",
		Example: "  sandboxer reachability sbx-01arz3ndektsv4rrffq69g5fav",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withService(cmd.Context(), func(s service) error {
				r, err := s.Reachability(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.print(r, func(w io.Writer) {
					columns(w, func(w io.Writer) {
						fmt.Fprintf(w, "sandbox\t%s\n", r.SandboxID)
						fmt.Fprintf(w, "state\t%s\n", r.State)
						fmt.Fprintf(w, "execution\t%s\n", r.Execution.Mode)
						fmt.Fprintf(w, "reachability\t%s\n", describeReachability(r.Reachability))
						if r.SSHCommand != "" {
							fmt.Fprintf(w, "ssh\t%s\n", r.SSHCommand)
						}
						for _, t := range r.Tunnels {
							fmt.Fprintf(w, "tunnel\t%s: %s\n", t.Name, t.SSHCommand)
						}
					})
				})
			})
		},
	}
}

// oneID checks that a verb has one argument, the id.
func oneID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the id of one sandbox, not %d arguments; 'sandboxer list' shows the ids", len(args))
	}
	return nil
}
