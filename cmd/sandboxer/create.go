package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// createFlags are the flags of the verbs that make a sandbox.
type createFlags struct {
	profile  string
	inputs   []string
	consumer apitype.Consumer
	ttl      seconds
}

func (f *createFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.profile, "profile", "", "the profile to make it from, as profile.bwrap-local (required)")
	cmd.Flags().StringArrayVar(&f.inputs, "input", nil, "a value for an input of the profile, as repo=./path; may be repeated")
	identityFlags(cmd, &f.consumer)
	secondsFlag(cmd, &f.ttl, "ttl", "how long it lives, as 30m; default and maximum are the profile's")
}

func (f *createFlags) request(cmd *cobra.Command) (apitype.CreateRequest, error) {
	if f.profile == "" {
		return apitype.CreateRequest{}, usageError{cmd, errors.New("give a profile: --profile NAME")}
	}
	inputs := map[string]string{}
	for _, kv := range f.inputs {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return apitype.CreateRequest{}, usageError{cmd, fmt.Errorf("--input %q is not name=value", kv)}
		}
		if _, twice := inputs[k]; twice {
			return apitype.CreateRequest{}, usageError{cmd, fmt.Errorf("--input %s is given twice", k)}
		}
		if v == "." || v == ".." || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") {
			abs, err := filepath.Abs(v)
			if err != nil {
				return apitype.CreateRequest{}, err
			}
			v = abs
		}
		inputs[k] = v
	}
	return apitype.CreateRequest{Profile: f.profile, Inputs: inputs, Consumer: f.consumer, TTLSeconds: f.ttl.value}, nil
}

func (a *app) createCommand() *cobra.Command {
	var f createFlags
	var quiet bool
	cmd := &cobra.Command{
		SuggestFor: []string{"start", "up", "new"},
		Use:        "create --profile PROFILE [--input NAME=VALUE]...",
		Short:      "Provision a sandbox and print it when it is ready",
		Example: `  sandboxer create --profile bwrap-local --input repo=./my-repo \
      --actor agt --project demo --session-id s-1 --run-id r-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := f.request(cmd)
			if err != nil {
				return err
			}
			return a.withService(cmd.Context(), func(s service) error {
				sandbox, err := s.Create(cmd.Context(), req)
				if err != nil {
					return err
				}
				if quiet {
					fmt.Fprintln(a.stdout, sandbox.SandboxID)
					return nil
				}
				return a.print(sandbox, printSandbox(sandbox))
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the sandbox id alone")
	return cmd
}

func printRemoved(d apitype.Destroyed) func(io.Writer) {
	return func(w io.Writer) {
		if len(d.Removed) == 0 {
			fmt.Fprintf(w, "%s was destroyed already\n", d.SandboxID)
			return
		}
		fmt.Fprintf(w, "%s destroyed: %s\n", d.SandboxID, strings.Join(d.Removed, ", "))
	}
}
