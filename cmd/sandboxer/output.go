package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// outputFormat is the value of -o: whether it is json.
type outputFormat bool

func (o *outputFormat) String() string {
	if *o {
		return "json"
	}
	return "table"
}

func (o *outputFormat) Set(s string) error {
	if s != "json" && s != "table" {
		return fmt.Errorf("%q is neither table nor json", s)
	}
	*o = s == "json"
	return nil
}

func (o *outputFormat) Type() string { return "format" }

// print writes v as JSON, or has table write it for a person.
func (a *app) print(v any, table func(w io.Writer)) error {
	if !a.json {
		table(a.stdout)
		return nil
	}
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// columns aligns the tab-separated lines that fn writes.
func columns(w io.Writer, fn func(w io.Writer)) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fn(t)
	t.Flush()
}

func printSandbox(s apitype.Sandbox) func(io.Writer) {
	return func(w io.Writer) {
		columns(w, func(w io.Writer) {
			fmt.Fprintf(w, "sandbox\t%s\n", s.SandboxID)
			fmt.Fprintf(w, "state\t%s\n", s.State)
			fmt.Fprintf(w, "profile\t%s\n", s.Profile)
			fmt.Fprintf(w, "extension\t%s %s\n", s.Extension, s.ExtensionVersion)
			fmt.Fprintf(w, "consumer\tactor %s, project %s, session %s, run %s\n", s.Consumer.Actor, s.Consumer.Project, s.Consumer.SessionID, s.Consumer.RunID)
			fmt.Fprintf(w, "created\t%s\n", s.CreatedAt.UTC().Format(time.RFC3339))
			fmt.Fprintf(w, "expires\t%s\n", s.ExpiresAt.UTC().Format(time.RFC3339))
			if s.Execution != nil {
				fmt.Fprintf(w, "execution\t%s\n", s.Execution.Mode)
			}
			if s.Reachability != nil {
				fmt.Fprintf(w, "reachability\t%s\n", describeReachability(*s.Reachability))
			}
			fmt.Fprintf(w, "network\t%s\n", describeNetwork(s.Network))
			for _, name := range sortedKeys(s.Limits) {
				fmt.Fprintf(w, "limit\t%s\n", describeLimit(name, s.Limits[name]))
			}
			if f := s.Failure; f != nil {
				fmt.Fprintf(w, "failure\t%s (%s)\n", f.Message, f.Code)
			}
		})
	}
}

func describeReachability(r apitype.Reachability) string {
	if r.SSH != nil && r.RemoteDir != nil {
		return fmt.Sprintf("ssh %s, directory %s", *r.SSH, *r.RemoteDir)
	}
	if r.PID != nil && r.WorkspaceDir != nil {
		return fmt.Sprintf("pid %d, workspace %s", *r.PID, *r.WorkspaceDir)
	}
	return "none"
}

func describeNetwork(n apitype.Network) string {
	if n.Enforced != nil && !*n.Enforced {
		return fmt.Sprintf("%s, NOT enforced: %s", n.Posture, n.Reason)
	}
	return n.Posture
}

func describeLimit(name string, l apitype.Limit) string {
	if !l.Enforced {
		return fmt.Sprintf("%s %d, NOT enforced: %s", name, l.Value, l.Reason)
	}
	return fmt.Sprintf("%s %d", name, l.Value)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func printList(l apitype.SandboxList) func(io.Writer) {
	return func(w io.Writer) {
		columns(w, func(w io.Writer) {
			fmt.Fprintln(w, "SANDBOX\tSTATE\tPROFILE\tPROJECT\tRUN\tEXPIRES")
			for _, s := range l.Sandboxes {
				fmt.Fprintln(w, strings.Join([]string{
					s.SandboxID, s.State, s.Profile, s.Consumer.Project, s.Consumer.RunID, s.ExpiresAt.UTC().Format(time.RFC3339),
				}, "\t"))
			}
		})
	}
}
