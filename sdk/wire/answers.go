package wire

import (
	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// The translations of what a plugin answers. Each pair keeps every field; what
// a person will read is made fit to be shown.

func createdToProto(c sdk.Created) *pluginpb.CreateDone {
	return &pluginpb.CreateDone{
		Handle: handleToProto(c.Handle),
		Reachability: &pluginpb.Reachability{
			Pid:          int64(c.Reachability.PID),
			WorkspaceDir: c.Reachability.WorkspaceDir,
			Ssh:          c.Reachability.SSH,
			RemoteDir:    c.Reachability.RemoteDir,
		},
		Execution: c.Execution,
		Network:   &pluginpb.Network{Posture: text(c.Network.Posture), Enforced: c.Network.Enforced, Reason: text(c.Network.Reason)},
		Limits: convertAll(c.Limits, func(l sdk.Limit) *pluginpb.Limit {
			return &pluginpb.Limit{Name: text(l.Name), Value: l.Value, Enforced: l.Enforced, Reason: text(l.Reason)}
		}),
	}
}

func createdFromProto(c *pluginpb.CreateDone) sdk.Created {
	r, n := c.GetReachability(), c.GetNetwork()
	return sdk.Created{
		Handle: handleFromProto(c.GetHandle()),
		Reachability: sdk.Reachability{
			PID:          int(r.GetPid()),
			WorkspaceDir: r.GetWorkspaceDir(),
			SSH:          r.GetSsh(),
			RemoteDir:    r.GetRemoteDir(),
		},
		Execution: c.GetExecution(),
		Network:   sdk.Network{Posture: text(n.GetPosture()), Enforced: n.GetEnforced(), Reason: text(n.GetReason())},
		Limits: convertAll(c.GetLimits(), func(l *pluginpb.Limit) sdk.Limit {
			return sdk.Limit{Name: text(l.GetName()), Value: l.GetValue(), Enforced: l.GetEnforced(), Reason: text(l.GetReason())}
		}),
	}
}

func resultToProto(r sdk.ExecResult) *pluginpb.ExecExit {
	return &pluginpb.ExecExit{
		Outcome:         string(r.Outcome),
		ExitCode:        int64(r.ExitCode),
		Signal:          r.Signal,
		Failure:         errorToProto(r.Failure),
		StartedAt:       timeToProto(r.StartedAt),
		Duration:        durationToProto(r.Duration),
		StdoutBytes:     r.StdoutBytes,
		StderrBytes:     r.StderrBytes,
		SurvivorsKilled: int64(r.SurvivorsKilled),
	}
}

func resultFromProto(r *pluginpb.ExecExit) sdk.ExecResult {
	return sdk.ExecResult{
		Outcome:         sdk.Outcome(r.GetOutcome()),
		ExitCode:        int(r.GetExitCode()),
		Signal:          r.GetSignal(),
		Failure:         errorFromProto(r.GetFailure()),
		StartedAt:       timeFromProto(r.GetStartedAt()),
		Duration:        r.GetDuration().AsDuration(),
		StdoutBytes:     r.GetStdoutBytes(),
		StderrBytes:     r.GetStderrBytes(),
		SurvivorsKilled: int(r.GetSurvivorsKilled()),
	}
}

func foundToProto(f sdk.Found) *pluginpb.Found {
	return &pluginpb.Found{SandboxId: f.SandboxID, Alive: f.Alive}
}

func foundFromProto(f *pluginpb.Found) sdk.Found {
	return sdk.Found{SandboxID: f.GetSandboxId(), Alive: f.GetAlive()}
}

func statusToProto(s sdk.Status) *pluginpb.InspectResponse {
	return &pluginpb.InspectResponse{Alive: s.Alive, Reason: text(s.Reason)}
}

func statusFromProto(s *pluginpb.InspectResponse) sdk.Status {
	return sdk.Status{Alive: s.GetAlive(), Reason: text(s.GetReason())}
}

func healthToProto(h sdk.Health) *pluginpb.CheckHealthResponse {
	return &pluginpb.CheckHealthResponse{
		Usable: h.Usable,
		Problems: convertAll(h.Problems, func(p sdk.Problem) *pluginpb.Problem {
			return &pluginpb.Problem{Message: text(p.Message), Hint: text(p.Hint)}
		}),
		Unavailable: convertAll(h.Unavailable, func(c sdk.Capability) string { return string(c) }),
	}
}

func healthFromProto(h *pluginpb.CheckHealthResponse) sdk.Health {
	return sdk.Health{
		Usable: h.GetUsable(),
		Problems: convertAll(h.GetProblems(), func(p *pluginpb.Problem) sdk.Problem {
			return sdk.Problem{Message: text(p.GetMessage()), Hint: text(p.GetHint())}
		}),
		Unavailable: convertAll(h.GetUnavailable(), func(c string) sdk.Capability { return sdk.Capability(text(c)) }),
	}
}

func diagnosticToProto(d sdk.Diagnostic) *pluginpb.Diagnostic {
	severity := pluginpb.Severity_SEVERITY_ERROR
	if d.Severity == sdk.SeverityWarning {
		severity = pluginpb.Severity_SEVERITY_WARNING
	}
	return &pluginpb.Diagnostic{Severity: severity, Summary: text(d.Summary), Detail: text(d.Detail), Path: texts(d.Path)}
}

func diagnosticFromProto(d *pluginpb.Diagnostic) sdk.Diagnostic {
	severity := sdk.SeverityError
	if d.GetSeverity() == pluginpb.Severity_SEVERITY_WARNING {
		severity = sdk.SeverityWarning
	}
	return sdk.Diagnostic{
		Severity: severity,
		Summary:  text(d.GetSummary()),
		Detail:   text(d.GetDetail()),
		Path:     texts(d.GetPath()),
	}
}
