package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegwick/sand-boxer/core/store"
)

func (a *app) listCommand() *cobra.Command {
	var f listFilter
	var all, quiet bool
	cmd := &cobra.Command{
		Use:        "list",
		Aliases:    []string{"ls"},
		SuggestFor: []string{"ps"},
		Short:      "List the sandboxes that are not destroyed",
		Example:    "  sandboxer list --state ready --project demo -o json",
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range f.states {
				if !slices.Contains(stateNames(store.States), s) {
					return usageError{cmd, fmt.Errorf("--state %q is none of %s", s, strings.Join(stateNames(store.States), ", "))}
				}
			}
			if len(f.states) == 0 && !all {
				f.states = stateNames(store.States[:len(store.States)-1])
			}
			f.profile = strings.TrimPrefix(f.profile, "profile.")
			return a.withService(cmd.Context(), func(s service) error {
				list, err := s.List(cmd.Context(), f)
				if err != nil {
					return err
				}
				if quiet {
					for _, s := range list.Sandboxes {
						fmt.Fprintln(a.stdout, s.SandboxID)
					}
					return nil
				}
				return a.print(list, printList(list))
			})
		},
	}
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "list those in this state; may be repeated")
	cmd.Flags().StringVar(&f.project, "project", "", "list those of this project")
	cmd.Flags().StringVar(&f.profile, "profile", "", "list those of this profile")
	cmd.Flags().BoolVar(&all, "all", false, "list the destroyed too")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the ids alone")
	return cmd
}

// stateNames are the states as text. The last of store.States is destroyed.
func stateNames(states []store.State) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return names
}
