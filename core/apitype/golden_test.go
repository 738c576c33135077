package apitype

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	at          = Time{time.Date(2026, 3, 4, 5, 6, 7, 890_123_456, time.FixedZone("", 3600))}
	local       = &Reachability{PID: ptr(4711), WorkspaceDir: ptr("/var/lib/sandboxer/w")}
	remote      = &Reachability{SSH: ptr("agent@sbx-01"), RemoteDir: ptr("/srv/w")}
	deny        = Network{Posture: "deny"}
	notEnforced = Network{Posture: "deny", Enforced: ptr(false), Reason: "no network namespaces"}
	failure     = &Failure{Code: "backend_failed", Message: "the extension died", Hint: "see the log"}
)

func sandbox(state string, change func(*Sandbox)) Sandbox {
	s := Sandbox{
		SandboxID: "sbx-01jz0000000000000000000000", State: state,
		Profile: "profile.agent-dev", ProfileDigest: "sha256:aa", Extension: "ext.bwrap", ExtensionVersion: "0.1.0",
		Consumer: consumer, CreatedAt: at, ExpiresAt: Time{at.Add(time.Hour)}, Network: deny,
	}
	change(&s)
	return s
}

// goldens holds an object of each kind, in its fullest and its emptiest form.
var goldens = map[string]any{
	"sandbox_ready": sandbox(StateReady, func(s *Sandbox) {
		s.Reachability, s.Execution = local, &Execution{ModeOwnerMediated}
		s.Limits = Map[Limit]{
			"pids":         {Value: 64, Reason: "no cgroup"},
			"memory_bytes": {Value: 1 << 30, Enforced: true},
		}
	}),
	"sandbox_remote": sandbox(StateReady, func(s *Sandbox) {
		s.Reachability, s.Execution, s.Network = remote, &Execution{ModeSSH}, notEnforced
	}),
	"sandbox_provisioning": sandbox(StateProvisioning, func(s *Sandbox) {}),
	"sandbox_failed":       sandbox(StateFailed, func(s *Sandbox) { s.Failure = failure }),
	"sandbox_list":         SandboxList{Sandboxes: []Sandbox{sandbox(StateReady, func(*Sandbox) {})}, Next: "sbx-01jz0000000000000000000000"},
	"sandbox_list_empty":   SandboxList{},
	"create_request":       CreateRequest{Profile: "profile.agent-dev", Inputs: map[string]string{"repo": "/src"}, Consumer: consumer, TTLSeconds: ptr(int64(60))},
	"create_request_empty": CreateRequest{},
	"renew_request":        RenewRequest{TTLSeconds: 60},
	"exec_request": ExecRequest{Command: []string{"python3", "-V"}, Consumer: consumer, CredentialRouteRefs: []string{"github"},
		StdinText: ptr("<in>"), TimeoutSeconds: ptr(int64(30)), MaxOutputBytes: ptr(int64(65536))},
	"exec_request_empty": ExecRequest{},
	"exec_result_exited": ExecResult{
		ExecID: "exec-1", SandboxID: "sbx-01jz0000000000000000000000", Consumer: consumer, Profile: "profile.agent-dev", Extension: "ext.bwrap",
		CommandName: "python3", Outcome: OutcomeExited, ExitCode: ptr(0), StartedAt: at, DurationMS: 12,
		Stdout: "Python 3.11\n", StdoutBytes: 12, StderrBytes: 70000, StderrTruncated: true, Encoding: EncodingUTF8,
		SurvivorsKilled: 1, Workspace: "/workspace", Network: deny,
	},
	"exec_result_signaled":     ExecResult{Outcome: OutcomeSignaled, Signal: ptr("SIGKILL"), StartedAt: at, Encoding: EncodingBase64, Network: notEnforced},
	"exec_result_timed_out":    ExecResult{Outcome: OutcomeTimedOut, TimedOut: true, StartedAt: at, Encoding: EncodingUTF8, Network: deny},
	"exec_result_start_failed": ExecResult{Outcome: OutcomeStartFailed, StartedAt: at, Encoding: EncodingUTF8, Network: deny, Failure: failure},
	"reachability_remote": ReachabilityReport{SandboxID: "sbx-01jz0000000000000000000000", State: StateReady, Execution: Execution{ModeSSH},
		Reachability: *remote, SSHCommand: "ssh -- agent@sbx-01",
		Tunnels: []Tunnel{{Name: "web", Service: "app", RemoteHost: "127.0.0.1", RemotePort: 8080, SSHCommand: "ssh -N -L 8080:127.0.0.1:8080 -- agent@sbx-01"}}},
	"reachability_local": ReachabilityReport{SandboxID: "sbx-01jz0000000000000000000000", State: StateReady,
		Execution: Execution{ModeOwnerMediated}, Reachability: *local},
	"destroyed":       Destroyed{SandboxID: "sbx-01jz0000000000000000000000", State: StateDestroyed, Removed: []string{"process 4711", "workspace"}},
	"destroyed_again": Destroyed{SandboxID: "sbx-01jz0000000000000000000000", State: StateDestroyed},
	"reaped":          Reaped{Reaped: []ReapedSandbox{{SandboxID: "sbx-01jz0000000000000000000000", Reason: "expired"}, {SandboxID: "sbx-2", Reason: "no record", Error: "busy"}}},
	"reaped_none":     Reaped{},
	"problem": Problem{Type: "about:blank", Title: "Bad Request", Status: 400, Detail: "/command must be an array of strings", Code: CodeInvalidRequest,
		Hint: "give an argument vector", Pointer: "/command", RequestID: "req-1"},
	"problem_short": Problem{Type: "about:blank", Title: "Forbidden", Status: 403, Detail: "the consumer differs", Code: CodeIdentityMismatch},
	"profile_list": ProfileList{Profiles: []ProfileInfo{
		{
			Profile: "profile.agent-dev", Description: "for agents", ProfileDigest: "sha256:aa", Extension: "ext.bwrap", ExtensionVersion: "~> 0.1",
			Inputs: []InputInfo{
				{Name: "repo", Type: "directory", Description: "the source", Required: true},
				{Name: "note", Type: "string", Default: ptr("")},
			},
			TTLDefaultSeconds: 3600, TTLMaxSeconds: 86400, ExecTimeoutSeconds: 3600, Network: &deny,
		},
		{Profile: "profile.broken", Failure: failure},
	}},
	"profile_list_empty": ProfileList{},
	"extension_list": ExtensionList{Extensions: []ExtensionInfo{
		{Extension: "ext.bwrap", ExtensionVersion: "0.1.0", Digest: "sha256:bb", Capabilities: []string{"exec.v1", "health.v1"}},
		{Extension: "ext.broken", Failure: failure},
	}},
	"extension_list_empty": ExtensionList{},
}

func TestObjectsHaveTheirForm(t *testing.T) {
	for name, object := range goldens {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(object, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("JSON differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryGoldenFileIsUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(goldens) {
		t.Errorf("testdata has %d files for %d objects", len(files), len(goldens))
	}
}

func TestTimeReadsWhatItWrites(t *testing.T) {
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	var got Time
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if want := at.UTC().Truncate(time.Millisecond); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProblemIsAnError(t *testing.T) {
	var err error = &Problem{Detail: "no"}
	if err.Error() != "no" {
		t.Errorf("error is %q", err)
	}
}
