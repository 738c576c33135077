// Package apitype holds the objects of the owner API: what HTTP carries and
// what -o json prints. It depends on the standard library alone.
package apitype

// Consumer is the identity that a sandbox is bound to: each field 1 to 128
// characters of A-Z a-z 0-9 . _ : @ / -.
type Consumer struct {
	Actor     string `json:"actor"`
	Project   string `json:"project"`
	SessionID string `json:"session_id"`
	RunID     string `json:"run_id"`
}

// CreateRequest asks for a sandbox.
type CreateRequest struct {
	// Profile is a name, with or without "profile.".
	Profile  string      `json:"profile"`
	Inputs   Map[string] `json:"inputs"`
	Consumer Consumer    `json:"consumer"`
	// TTLSeconds is absent for the profile's default.
	TTLSeconds *int64 `json:"ttl_seconds,omitempty"`
}

// RenewRequest moves the expiry of a sandbox.
type RenewRequest struct {
	TTLSeconds int64 `json:"ttl_seconds"`
}

// Sandbox is a sandbox as create, show and GET answer it. Profile and extension
// carry their prefix.
type Sandbox struct {
	SandboxID        string   `json:"sandbox_id"`
	State            string   `json:"state"`
	Profile          string   `json:"profile"`
	ProfileDigest    string   `json:"profile_digest"`
	Extension        string   `json:"extension"`
	ExtensionVersion string   `json:"extension_version"`
	Consumer         Consumer `json:"consumer"`
	CreatedAt        Time     `json:"created_at"`
	ExpiresAt        Time     `json:"expires_at"`
	// Reachability and Execution are absent until the sandbox is ready.
	Reachability *Reachability `json:"reachability,omitempty"`
	Execution    *Execution    `json:"execution,omitempty"`
	Network      Network       `json:"network"`
	Limits       Map[Limit]    `json:"limits"`
	Failure      *Failure      `json:"failure,omitempty"`
}

// SandboxList is a page of sandboxes, oldest first.
type SandboxList struct {
	Sandboxes List[Sandbox] `json:"sandboxes"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next"`
}

// Reachability says where a sandbox is. Only the fields of its kind are there:
// pid and workspace_dir, or ssh and remote_dir.
type Reachability struct {
	PID          *int    `json:"pid,omitempty"`
	WorkspaceDir *string `json:"workspace_dir,omitempty"`
	SSH          *string `json:"ssh,omitempty"`
	RemoteDir    *string `json:"remote_dir,omitempty"`
}

// Execution says how commands get in: "owner-mediated" or "ssh".
type Execution struct {
	Mode string `json:"mode"`
}

// Network is the posture. Enforced and Reason are there only where the posture
// is not enforced.
type Network struct {
	Posture  string `json:"posture"`
	Enforced *bool  `json:"enforced,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Limit is one bound, under a name that carries its unit.
type Limit struct {
	Value    int64  `json:"value"`
	Enforced bool   `json:"enforced"`
	Reason   string `json:"reason,omitempty"`
}

// Failure says why a sandbox failed, or why a command did not start.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// ReachabilityReport is everything needed to get to a sandbox.
type ReachabilityReport struct {
	SandboxID    string       `json:"sandbox_id"`
	State        string       `json:"state"`
	Execution    Execution    `json:"execution"`
	Reachability Reachability `json:"reachability"`
	// SSHCommand is a line to paste, absent where there is no SSH.
	SSHCommand string       `json:"ssh_command,omitempty"`
	Tunnels    List[Tunnel] `json:"tunnels"`
}

// Tunnel is a port that a sandbox publishes.
type Tunnel struct {
	Name       string `json:"name"`
	Service    string `json:"service"`
	RemoteHost string `json:"remote_host"`
	RemotePort int    `json:"remote_port"`
	SSHCommand string `json:"ssh_command"`
}

// Destroyed answers a destroy.
type Destroyed struct {
	SandboxID string `json:"sandbox_id"`
	State     string `json:"state"`
	// Removed names what was removed; empty when nothing was left.
	Removed List[string] `json:"removed"`
}

// Reaped answers a reap.
type Reaped struct {
	Reaped List[ReapedSandbox] `json:"reaped"`
}

// ReapedSandbox is one sandbox that a reap destroyed or, in a dry run, would.
type ReapedSandbox struct {
	SandboxID string `json:"sandbox_id"`
	Reason    string `json:"reason"`
	// Error is why it could not be destroyed.
	Error string `json:"error,omitempty"`
}
