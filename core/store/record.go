package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// State is where a sandbox is in its life.
type State string

// The states of a sandbox.
const (
	// Provisioning: the intent is on the disk; the backend may have made
	// anything or nothing.
	Provisioning State = "provisioning"
	Ready        State = "ready"
	// Failed and Expired sandboxes still have something to remove.
	Failed     State = "failed"
	Expired    State = "expired"
	Destroying State = "destroying"
	// Destroyed: nothing of it is left but the record.
	Destroyed State = "destroyed"
)

// States holds every state, in the order of a life.
var States = []State{Provisioning, Ready, Failed, Expired, Destroying, Destroyed}

// Consumer is the identity that a sandbox is bound to.
type Consumer struct {
	Actor     string
	Project   string
	SessionID string
	RunID     string
}

// Failure says why a sandbox failed.
type Failure struct {
	Code    sdk.Code
	Message string
	Hint    string
}

// Record is what the host knows of a sandbox. Times are UTC and whole
// milliseconds.
type Record struct {
	ID string
	// HostID is [Store.HostID] at the time of the create.
	HostID string
	State  State
	// StateSince is when State was set; the store sets it.
	StateSince time.Time

	// Profile and Extension are names without a prefix.
	Profile          string
	ProfileDigest    string
	Extension        string
	ExtensionVersion string
	Consumer         Consumer

	CreatedAt time.Time
	ExpiresAt time.Time
	// MaxExpiresAt bounds each renewal, and ExecTimeoutMax each exec (whole
	// seconds). They are the profile's at the time of the create: a later
	// edit of the profile does not change a sandbox.
	MaxExpiresAt   time.Time
	ExecTimeoutMax time.Duration

	// Handle is the last that the backend gave.
	Handle sdk.Handle

	// The backend's answer; from Ready on. Before, Network is what was
	// asked for.
	Reachability sdk.Reachability
	Execution    string
	Network      sdk.Network
	Limits       []sdk.Limit

	// Failure is nil unless the sandbox failed. It stays when the sandbox
	// is destroyed.
	Failure *Failure
}

// limitJSON is the stored form of a limit, on its own so that a renamed field
// of the SDK does not change the file.
type limitJSON struct {
	Name     string `json:"name"`
	Value    int64  `json:"value"`
	Enforced bool   `json:"enforced"`
	Reason   string `json:"reason,omitempty"`
}

func encodeLimits(limits []sdk.Limit) (string, error) {
	out := make([]limitJSON, len(limits))
	for i, l := range limits {
		out[i] = limitJSON(l)
	}
	b, err := json.Marshal(out)
	return string(b), err
}

func decodeLimits(text string) ([]sdk.Limit, error) {
	var in []limitJSON
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, fmt.Errorf("decode limits: %w", err)
	}
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]sdk.Limit, len(in))
	for i, l := range in {
		out[i] = sdk.Limit(l)
	}
	return out, nil
}

// columnNames lists the columns in the order of values and scanRecord.
var columnNames = []string{
	"id", "host_id", "state", "state_since",
	"profile", "profile_digest", "extension", "extension_version",
	"actor", "project", "session_id", "run_id",
	"created_at", "expires_at", "max_expires_at", "exec_timeout_max",
	"handle_version", "handle",
	"pid", "workspace_dir", "ssh", "remote_dir", "execution",
	"network_posture", "network_enforced", "network_reason", "limits",
	"failure_code", "failure_message", "failure_hint",
}

var (
	columns      = strings.Join(columnNames, ", ")
	placeholders = strings.TrimSuffix(strings.Repeat("?, ", len(columnNames)), ", ")
)

func (r *Record) values() ([]any, error) {
	limits, err := encodeLimits(r.Limits)
	if err != nil {
		return nil, err
	}
	var failure Failure
	if r.Failure != nil {
		failure = *r.Failure
	}
	return []any{
		r.ID, r.HostID, r.State, r.StateSince.UnixMilli(),
		r.Profile, r.ProfileDigest, r.Extension, r.ExtensionVersion,
		r.Consumer.Actor, r.Consumer.Project, r.Consumer.SessionID, r.Consumer.RunID,
		r.CreatedAt.UnixMilli(), r.ExpiresAt.UnixMilli(), r.MaxExpiresAt.UnixMilli(), int64(r.ExecTimeoutMax / time.Second),
		r.Handle.Version, r.Handle.Data,
		r.Reachability.PID, r.Reachability.WorkspaceDir, r.Reachability.SSH, r.Reachability.RemoteDir, r.Execution,
		r.Network.Posture, r.Network.Enforced, r.Network.Reason, limits,
		failure.Code, failure.Message, failure.Hint,
	}, nil
}

// scanRecord reads a row of columns with the Scan method of a row.
func scanRecord(scan func(dest ...any) error) (Record, error) {
	var (
		r                                           Record
		failure                                     Failure
		stateSince, created, expires, max, execSecs int64
		limits                                      string
	)
	err := scan(
		&r.ID, &r.HostID, &r.State, &stateSince,
		&r.Profile, &r.ProfileDigest, &r.Extension, &r.ExtensionVersion,
		&r.Consumer.Actor, &r.Consumer.Project, &r.Consumer.SessionID, &r.Consumer.RunID,
		&created, &expires, &max, &execSecs,
		&r.Handle.Version, &r.Handle.Data,
		&r.Reachability.PID, &r.Reachability.WorkspaceDir, &r.Reachability.SSH, &r.Reachability.RemoteDir, &r.Execution,
		&r.Network.Posture, &r.Network.Enforced, &r.Network.Reason, &limits,
		&failure.Code, &failure.Message, &failure.Hint,
	)
	if err != nil {
		return Record{}, err
	}
	r.StateSince, r.CreatedAt = fromMilli(stateSince), fromMilli(created)
	r.ExpiresAt, r.MaxExpiresAt = fromMilli(expires), fromMilli(max)
	r.ExecTimeoutMax = time.Duration(execSecs) * time.Second
	if failure.Code != "" {
		r.Failure = &failure
	}
	r.Limits, err = decodeLimits(limits)
	return r, err
}

func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
