package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) runCommand() *cobra.Command {
	var c createFlags
	var e execFlags
	cmd := &cobra.Command{
		Use:   "run --profile PROFILE [--input NAME=VALUE]... [flags] -- COMMAND [ARG]...",
		Short: "Create a sandbox, run one argument vector in it, and destroy it",
		Long: `run is create, exec and destroy in one. The sandbox is destroyed whatever
happens, on an interrupt too. The exit code is that of exec.`,
		Example: `  sandboxer run --profile bwrap-local --input repo=. --actor agt --project demo \
      --session-id s-1 --run-id r-1 -- make test`,
		Args: commandAlone,
		RunE: func(cmd *cobra.Command, args []string) error {
			create, err := c.request(cmd)
			if err != nil {
				return err
			}
			exec, err := e.request(a, c.consumer, args)
			if err != nil {
				return err
			}
			return a.withService(cmd.Context(), func(s service) (err error) {
				sandbox, err := s.Create(cmd.Context(), create)
				if err != nil {
					return err
				}
				defer func() {
					if _, derr := s.Destroy(context.WithoutCancel(cmd.Context()), sandbox.SandboxID); derr != nil {
						err = errors.Join(err, fmt.Errorf("destroy %s: %w", sandbox.SandboxID, derr))
					}
				}()
				return a.exec(cmd, s, sandbox.SandboxID, exec)
			})
		},
	}
	c.add(cmd)
	e.add(cmd)
	a.asExec(cmd)
	return cmd
}

func commandAlone(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash < 0 || len(args) == 0:
		return errors.New("give the command after --")
	case dash > 0:
		return fmt.Errorf("%q stands before --: the command comes after --", args[0])
	}
	return nil
}
