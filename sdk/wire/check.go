package wire

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

const (
	maxCapabilities = 64
	maxSchemaDepth  = 16
	maxNameBytes    = 64 // of a capability or a signal
)

var (
	capabilityForm = regexp.MustCompile(`^[a-z][a-z0-9.]*\.v[0-9]+$`)
	signalForm     = regexp.MustCompile(`^SIG[A-Z0-9]+(?:[+-][0-9]+)?$`)
	// sshTarget is one token without a port or an option.
	sshTarget = regexp.MustCompile(`^(?:[A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*$`)

	outcomes = []sdk.Outcome{
		sdk.OutcomeExited, sdk.OutcomeSignaled, sdk.OutcomeTimedOut,
		sdk.OutcomeOOMKilled, sdk.OutcomeCanceled, sdk.OutcomeStartFailed,
	}
)

// The checks of what a plugin answers, by the rules of package sdk.

func checkHandshake(r *pluginpb.HandshakeResponse) error {
	if r.GetInfo().GetName() == "" || r.GetInfo().GetVersion() == "" {
		return lied("does not say its name and version")
	}
	if len(r.GetCapabilities()) > maxCapabilities {
		return lied("offers %d capabilities, more than %d", len(r.GetCapabilities()), maxCapabilities)
	}
	for _, c := range r.GetCapabilities() {
		if len(c) > maxNameBytes || !capabilityForm.MatchString(c) {
			return lied("offers a capability with the malformed name %q", clean(c, maxFieldBytes))
		}
	}
	return checkSchema(r.GetInfo().GetSchema(), maxSchemaDepth)
}

func checkSchema(s *pluginpb.Schema, depth int) error {
	if depth == 0 {
		return lied("has a config schema with blocks nested more than %d deep", maxSchemaDepth)
	}
	for _, b := range s.GetBlocks() {
		if err := checkSchema(b.GetSchema(), depth-1); err != nil {
			return err
		}
	}
	return nil
}

func checkHandle(h sdk.Handle) error {
	if len(h.Data) > sdk.MaxHandleBytes {
		return lied("sent a handle of %d bytes, more than %d", len(h.Data), sdk.MaxHandleBytes)
	}
	return nil
}

func checkCreated(c sdk.Created) error {
	if err := checkHandle(c.Handle); err != nil {
		return err
	}
	if c.Execution != sdk.ExecutionOwnerMediated && c.Execution != sdk.ExecutionSSH {
		return lied("answered with the unknown execution mode %q", clean(c.Execution, maxFieldBytes))
	}
	for _, l := range c.Limits {
		if l.Value < 0 {
			return lied("answered with the negative limit %s = %d", l.Name, l.Value)
		}
	}
	r := c.Reachability
	switch {
	case r.PID < 0:
		return lied("answered with the negative pid %d", r.PID)
	case (r.PID != 0 || r.WorkspaceDir != "") && (r.SSH != "" || r.RemoteDir != ""):
		return lied("answered that the sandbox is local and remote at once")
	case r.SSH != "" && !sshTarget.MatchString(r.SSH):
		return lied("answered with the ssh target %q, which is not [user@]host", clean(r.SSH, maxFieldBytes))
	}
	for _, dir := range []string{r.WorkspaceDir, r.RemoteDir} {
		if dir != "" && (!strings.HasPrefix(dir, "/") || clean(dir, maxTextBytes) != dir) {
			return lied("answered with %q where an absolute directory belongs", clean(dir, maxFieldBytes))
		}
	}
	return nil
}

func checkFound(found []sdk.Found) error {
	for _, f := range found {
		if !sdk.ValidSandboxID(f.SandboxID) {
			return lied("listed %q, which is no sandbox id", clean(f.SandboxID, maxFieldBytes))
		}
	}
	return nil
}

// checkResult judges r given how much output came before it.
func checkResult(r sdk.ExecResult, stdout, stderr int64) error {
	if !slices.Contains(outcomes, r.Outcome) {
		return lied("answered with the unknown outcome %q", clean(string(r.Outcome), maxFieldBytes))
	}
	switch {
	case r.ExitCode < 0 || r.ExitCode > 255:
		return lied("answered with the impossible exit code %d", r.ExitCode)
	case r.Outcome == sdk.OutcomeSignaled && (len(r.Signal) > maxNameBytes || !signalForm.MatchString(r.Signal)):
		return lied("answered with %q where the name of a signal belongs", clean(r.Signal, maxFieldBytes))
	case r.Outcome == sdk.OutcomeStartFailed && !startFailure(r.Failure):
		return lied("did not say why the command did not start")
	case r.Duration < 0 || r.SurvivorsKilled < 0:
		return lied("answered with a negative count")
	case r.StdoutBytes < stdout || r.StderrBytes < stderr:
		return lied("counted less output than it sent")
	}
	return nil
}

func startFailure(e *sdk.Error) bool {
	return e != nil && (e.Code == sdk.CodeCommandNotFound || e.Code == sdk.CodeCommandNotExecutable)
}
