// Package api is the owner API over HTTP, and the one translation from what the
// owner knows to the objects that HTTP and -o json show.
package api

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

// Prefixes of addresses: always shown, never needed in input.
const (
	profilePrefix   = "profile."
	extensionPrefix = "ext."
)

// ViewSandbox shows a sandbox.
func ViewSandbox(s sandbox.Sandbox) apitype.Sandbox {
	v := apitype.Sandbox{
		SandboxID: s.ID, State: string(s.State),
		Profile: profilePrefix + s.Profile, ProfileDigest: s.ProfileDigest,
		Extension: extensionPrefix + s.Extension, ExtensionVersion: s.ExtensionVersion,
		Consumer:  apitype.Consumer(s.Consumer),
		CreatedAt: apitype.Time{Time: s.CreatedAt}, ExpiresAt: apitype.Time{Time: s.ExpiresAt},
		Network: viewNetwork(s), Limits: map[string]apitype.Limit{},
	}
	if s.Execution != "" {
		v.Execution = &apitype.Execution{Mode: s.Execution}
		r := viewReachability(s.Reachability)
		v.Reachability = &r
	}
	for _, l := range s.Limits {
		v.Limits[l.Name] = apitype.Limit{Value: l.Value, Enforced: l.Enforced, Reason: l.Reason}
	}
	if f := s.Failure; f != nil {
		v.Failure = &apitype.Failure{Code: string(f.Code), Message: f.Message, Hint: f.Hint}
	}
	return v
}

// ViewPage shows a page of sandboxes.
func ViewPage(p sandbox.Page) apitype.SandboxList {
	v := apitype.SandboxList{Sandboxes: make([]apitype.Sandbox, len(p.Records)), Next: p.Next}
	for i, s := range p.Records {
		v.Sandboxes[i] = ViewSandbox(s)
	}
	return v
}

func viewReachability(r sdk.Reachability) apitype.Reachability {
	if r.SSH != "" {
		return apitype.Reachability{SSH: &r.SSH, RemoteDir: &r.RemoteDir}
	}
	return apitype.Reachability{PID: &r.PID, WorkspaceDir: &r.WorkspaceDir}
}

// viewNetwork says only for a sandbox that exists whether its posture is
// enforced.
func viewNetwork(s sandbox.Sandbox) apitype.Network {
	n := apitype.Network{Posture: s.Network.Posture}
	if s.Execution != "" && !s.Network.Enforced {
		n.Enforced, n.Reason = new(bool), s.Network.Reason
	}
	return n
}

// ViewReachability shows how to get to a sandbox. It fails for one that has no
// place yet, or no more.
func ViewReachability(s sandbox.Sandbox) (apitype.ReachabilityReport, error) {
	if s.Execution == "" {
		return apitype.ReachabilityReport{}, sdk.Errorf(sdk.CodeSandboxNotReady, "sandbox %s is %s and has no reachability", s.ID, s.State)
	}
	v := apitype.ReachabilityReport{
		SandboxID: s.ID, State: string(s.State), Execution: apitype.Execution{Mode: s.Execution},
		Reachability: viewReachability(s.Reachability), Tunnels: []apitype.Tunnel{},
	}
	if s.Reachability.SSH != "" {
		v.SSHCommand = "ssh -- " + s.Reachability.SSH
	}
	return v, nil
}

// ViewDestroyed shows what a destroy did.
func ViewDestroyed(d sandbox.Destroyed) apitype.Destroyed {
	return apitype.Destroyed{SandboxID: d.Sandbox.ID, State: string(d.Sandbox.State), Removed: append([]string{}, d.Removed...)}
}

// ViewReaped shows what a reap did.
func ViewReaped(reaped []sandbox.Reaped) apitype.Reaped {
	v := apitype.Reaped{Reaped: make([]apitype.ReapedSandbox, len(reaped))}
	for i, r := range reaped {
		v.Reaped[i] = apitype.ReapedSandbox{SandboxID: r.SandboxID, Reason: r.Reason}
		if r.Err != nil {
			v.Reaped[i].Error = r.Err.Error()
		}
	}
	return v
}

// ViewExec shows how a command ended, with what was kept of its output.
func ViewExec(command string, r sandbox.ExecResult, stdout, stderr []byte) apitype.ExecResult {
	s := r.Sandbox
	v := apitype.ExecResult{
		ExecID: r.ExecID, SandboxID: s.ID, Consumer: apitype.Consumer(s.Consumer),
		Profile: profilePrefix + s.Profile, Extension: extensionPrefix + s.Extension, CommandName: command,
		Outcome: string(r.Outcome), TimedOut: r.Outcome == sdk.OutcomeTimedOut,
		StartedAt: apitype.Time{Time: r.StartedAt}, DurationMS: r.Duration.Milliseconds(),
		StdoutBytes: r.StdoutBytes, StderrBytes: r.StderrBytes,
		StdoutTruncated: r.StdoutBytes > int64(len(stdout)), StderrTruncated: r.StderrBytes > int64(len(stderr)),
		SurvivorsKilled: r.SurvivorsKilled, Workspace: workspaceOf(s), Network: viewNetwork(s),
	}
	v.Encoding, v.Stdout, v.Stderr = encodeStreams(wholeRunes(stdout, v.StdoutTruncated), wholeRunes(stderr, v.StderrTruncated))
	switch r.Outcome {
	case sdk.OutcomeExited:
		v.ExitCode = &r.ExitCode
	case sdk.OutcomeSignaled:
		v.Signal = &r.Signal
	case sdk.OutcomeStartFailed:
		v.Failure = &apitype.Failure{Code: string(r.Failure.Code), Message: r.Failure.Message, Hint: r.Failure.Hint}
	}
	return v
}

func workspaceOf(s sandbox.Sandbox) string {
	if s.Reachability.RemoteDir != "" {
		return s.Reachability.RemoteDir
	}
	return s.Reachability.WorkspaceDir
}

// wholeRunes drops the part of a character that the bound cut in two at the end
// of a truncated stream: the text before it is still text.
func wholeRunes(b []byte, truncated bool) []byte {
	if !truncated {
		return b
	}
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			return b
		}
	}
	return b
}

// encodeStreams writes both streams as text where both are, else both as
// base64.
func encodeStreams(stdout, stderr []byte) (encoding, out, err string) {
	if utf8.Valid(stdout) && utf8.Valid(stderr) {
		return apitype.EncodingUTF8, string(stdout), string(stderr)
	}
	e := base64.StdEncoding
	return apitype.EncodingBase64, e.EncodeToString(stdout), e.EncodeToString(stderr)
}
