package sandbox

import (
	"context"

	"github.com/tegwick/sand-boxer/core/audit"
	"github.com/tegwick/sand-boxer/sdk"
)

// What is audited.
const (
	actionCreate  = "create"
	actionExec    = "exec"
	actionRenew   = "renew"
	actionDestroy = "destroy"
)

// Outcomes beside those of a command.
const (
	outcomeOK      = "ok"
	outcomeFailed  = "failed"
	outcomeRefused = "refused"
)

// event is what happened to a sandbox.
type event struct {
	action  string
	outcome string
	code    sdk.Code
	execID  string
	// command is argv[0] alone: arguments may hold anything.
	command string
}

// note audits an event, whether or not who asked for it still waits. A record
// that cannot be written is an alarm for the operator; it does not undo what has
// happened.
func (o *Owner) note(ctx context.Context, s Sandbox, e event) {
	details := map[string]string{}
	if e.command != "" {
		details["command_name"] = e.command
	}
	err := o.audit.Append(context.WithoutCancel(ctx), audit.Event{
		Time: o.Now(), Action: e.action, SandboxID: s.ID,
		Consumer: audit.Consumer(s.Consumer),
		Outcome:  e.outcome, Code: string(e.code), ExecID: e.execID, Details: details,
	})
	if err != nil {
		o.Log.Error("write the audit record", "action", e.action, "sandbox_id", s.ID, "error", err)
	}
}
