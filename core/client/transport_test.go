package client_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/client"
)

func TestDescriptors(t *testing.T) {
	const (
		ambiguous  = "ambiguous sandbox reachability: local and SSH fields coexist"
		halfLocal  = "incomplete local sandbox reachability: pid and workspace_dir are required"
		badLocal   = "local sandbox reachability has invalid pid or workspace_dir"
		halfRemote = "incomplete remote sandbox reachability: ssh and remote_dir are required"
		badTarget  = "SSH reachability must be a single non-option host or user@host target"
		badDir     = "remote sandbox workspace must be an absolute path"
	)
	c := connect(t, "unix:///none", client.Options{})
	for descriptor, want := range map[string]string{
		`{"pid":1,"workspace_dir":"/workspace"}`:        "owner-mediated /workspace",
		`{"ssh":"host","remote_dir":"/w"}`:              "ssh /w",
		`{"ssh":"user.a@sbx-01.b_c","remote_dir":"/w"}`: "ssh /w",
		`{}`: "sandbox exposes no supported execution reachability",
		`{"pid":1,"workspace_dir":"/w","ssh":"h"}`:      ambiguous,
		`{"pid":1,"remote_dir":"/w"}`:                   ambiguous,
		`{"pid":1}`:                                     halfLocal,
		`{"workspace_dir":"/w"}`:                        halfLocal,
		`{"pid":0,"workspace_dir":"/w"}`:                halfLocal,
		`{"pid":1,"workspace_dir":""}`:                  halfLocal,
		`{"pid":-1,"workspace_dir":"/w"}`:               badLocal,
		`{"pid":1,"workspace_dir":"w"}`:                 badLocal,
		`{"ssh":"h"}`:                                   halfRemote,
		`{"remote_dir":"/w"}`:                           halfRemote,
		`{"ssh":"","remote_dir":"/w"}`:                  halfRemote,
		`{"ssh":"h","remote_dir":""}`:                   halfRemote,
		`{"ssh":"-oProxyCommand=id","remote_dir":"/w"}`: badTarget,
		`{"ssh":"a@-b","remote_dir":"/w"}`:              badTarget,
		`{"ssh":"h -p 1","remote_dir":"/w"}`:            badTarget,
		`{"ssh":"h:22","remote_dir":"/w"}`:              badTarget,
		`{"ssh":"h\n","remote_dir":"/w"}`:               badTarget,
		`{"ssh":"a@b@c","remote_dir":"/w"}`:             badTarget,
		`{"ssh":"é","remote_dir":"/w"}`:                 badTarget,
		`{"ssh":"h","remote_dir":"w"}`:                  badDir,
		`{"ssh":"h","remote_dir":"~/w"}`:                badDir,
	} {
		report := apitype.ReachabilityReport{SandboxID: id}
		if err := json.Unmarshal([]byte(descriptor), &report.Reachability); err != nil {
			t.Fatal(err)
		}
		got := ""
		if tr, err := client.TransportFromSandbox(report, c, apitype.Consumer{}); err != nil {
			got = err.Error()
		} else {
			got = tr.Kind() + " " + tr.Workspace()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", descriptor, got, want)
		}
	}
	pid, dir := 1, "/w"
	local := apitype.ReachabilityReport{Reachability: apitype.Reachability{PID: &pid, WorkspaceDir: &dir}}
	if _, err := client.TransportFromSandbox(local, nil, apitype.Consumer{}); err == nil {
		t.Error("a local sandbox needs no client")
	}
}

// mediated is a transport over a service that answers with result.
func mediated(t *testing.T, status int, media, result string, request *apitype.ExecRequest) *client.Transport {
	t.Helper()
	c := fake(t, client.Options{Token: token}, func(w http.ResponseWriter, r *http.Request) {
		if err := apitype.DecodeStrict(r.Body, request); err != nil {
			t.Error(err)
		}
		answer(w, status, media, result)
	})
	pid, dir := 1, "/w"
	tr, err := client.TransportFromSandbox(apitype.ReachabilityReport{
		SandboxID: id, Reachability: apitype.Reachability{PID: &pid, WorkspaceDir: &dir},
	}, c, apitype.Consumer{Actor: "a", Project: "p", SessionID: "s", RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestMediatedRequest(t *testing.T) {
	var got apitype.ExecRequest
	tr := mediated(t, 200, "application/json", exited, &got)
	if _, err := tr.Run(t.Context(), []string{"a", "b c"}, client.RunOptions{Input: []byte("in"), Timeout: 1500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	seconds, output, in := int64(2), int64(16<<20), "in"
	want := apitype.ExecRequest{
		Command: []string{"a", "b c"}, Consumer: apitype.Consumer{Actor: "a", Project: "p", SessionID: "s", RunID: "r"},
		CredentialRouteRefs: []string{}, StdinText: &in, TimeoutSeconds: &seconds, MaxOutputBytes: &output,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request differs (-want +got):\n%s", diff)
	}
	if _, err := tr.Run(t.Context(), []string{"a"}, client.RunOptions{Input: []byte("\xff")}); err == nil {
		t.Error("input that is not text was sent")
	}
}

func TestMediatedOutcomes(t *testing.T) {
	const start = `{"exec_id":"e","sandbox_id":"` + id + `","encoding":"utf-8","stdout":"o","stderr":"e\n","stdout_truncated":true,`
	for _, test := range []struct {
		result string
		want   client.Completed
	}{
		{`"outcome":"exited","exit_code":3}`, client.Completed{ExitCode: 3, Stderr: []byte("e\n")}},
		{`"outcome":"signaled","signal":"SIGTERM"}`, client.Completed{ExitCode: -1, Signal: "SIGTERM", Stderr: []byte("e\n")}},
		{`"outcome":"oom_killed"}`, client.Completed{ExitCode: -1, Signal: "SIGKILL", Stderr: []byte("e\n")}},
		{`"outcome":"timed_out","timed_out":true}`, client.Completed{ExitCode: -1, TimedOut: true, Stderr: []byte("e\n")}},
		{`"outcome":"start_failed","failure":{"code":"command_not_found","message":"no x"}}`, client.Completed{ExitCode: 127, Stderr: []byte("e\nno x\n")}},
		{`"outcome":"start_failed","failure":{"code":"command_not_executable","message":"no x"}}`, client.Completed{ExitCode: 126, Stderr: []byte("e\nno x\n")}},
	} {
		var req apitype.ExecRequest
		got, err := mediated(t, 200, "application/json", start+test.result, &req).Run(t.Context(), []string{"x"}, client.RunOptions{})
		test.want.Stdout, test.want.StdoutTruncated = []byte("o"), true
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.result, err, diff)
		}
	}
	for status, body := range map[int]string{
		200: start + `"outcome":"canceled"}`,
		403: `{"code":"identity_mismatch","detail":"the identity is not the one"}`,
	} {
		media := map[int]string{200: "application/json", 403: apitype.ProblemContentType}[status]
		var req apitype.ExecRequest
		tr := mediated(t, status, media, body, &req)
		if done, err := tr.Run(t.Context(), []string{"x"}, client.RunOptions{}); err == nil {
			t.Errorf("%s: %+v", body, done)
		}
		if _, err := tr.WriteTaskFile(t.Context(), "x"); err == nil || !strings.HasPrefix(err.Error(), "cannot create sandbox task file: ") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestSSHThatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	host, dir := "h", "/w"
	tr, err := client.TransportFromSandbox(apitype.ReachabilityReport{Reachability: apitype.Reachability{SSH: &host, RemoteDir: &dir}}, nil, apitype.Consumer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Run(t.Context(), []string{"true"}, client.RunOptions{}); err == nil || !strings.Contains(err.Error(), "ssh cannot be run") {
		t.Errorf("the error is %v", err)
	}
	if _, err := exec.LookPath("ssh"); err == nil {
		t.Error("there is an ssh after all")
	}
}
