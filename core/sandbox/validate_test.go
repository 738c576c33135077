package sandbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

var consumer = Consumer{Actor: "agt", Project: "glas-harness", SessionID: "session-123", RunID: "run-456"}

// wantField checks that err is nil where field is "ok", else an *sdk.Error that
// names the field.
func wantField(t *testing.T, err error, field, message string) {
	t.Helper()
	if field == "ok" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		t.Fatalf("error is %v, want an *sdk.Error", err)
	}
	if e.Field != field || !strings.Contains(e.Message, message) {
		t.Errorf("error is %q at %q, want one with %q at %q", e.Message, e.Field, message, field)
	}
	want := sdk.CodeInvalidRequest
	if field == "/stdin_text" && strings.Contains(message, "bytes") {
		want = sdk.CodeStdinTooLarge
	}
	if e.Code != want {
		t.Errorf("code is %s, want %s", e.Code, want)
	}
}

func ptr[T any](v T) *T { return &v }

func TestExecRequestRules(t *testing.T) {
	fill := func(n int) []string { return strings.Split(strings.Repeat("a", n), "") }
	for _, test := range []struct {
		name    string
		change  func(r *ExecRequest)
		pointer string
		message string
	}{
		{"a plain request", func(r *ExecRequest) {}, "ok", ""},
		{"every character of an identity", func(r *ExecRequest) { r.Consumer.Actor = "AZaz09._:@/-" }, "ok", ""},
		{"an identity of 128", func(r *ExecRequest) { r.Consumer.RunID = strings.Repeat("a", 128) }, "ok", ""},
		{"an identity of 129", func(r *ExecRequest) { r.Consumer.RunID = strings.Repeat("a", 129) }, "/consumer/run_id", "is not 1 to 128"},
		{"no project", func(r *ExecRequest) { r.Consumer.Project = "" }, "/consumer/project", "is missing"},
		{"a space", func(r *ExecRequest) { r.Consumer.SessionID = "a b" }, "/consumer/session_id", "is not 1 to 128"},
		{"a line break at the end", func(r *ExecRequest) { r.Consumer.Actor = "a\n" }, "/consumer/actor", "is not 1 to 128"},
		{"a letter of another script", func(r *ExecRequest) { r.Consumer.Actor = "аgt" }, "/consumer/actor", "is not 1 to 128"},

		{"no command", func(r *ExecRequest) { r.Command = nil }, "/command", "the command is empty"},
		{"an empty program", func(r *ExecRequest) { r.Command = []string{"", "a"} }, "/command", "the command is empty"},
		{"an empty argument", func(r *ExecRequest) { r.Command = []string{"a", ""} }, "ok", ""},
		{"4096 arguments", func(r *ExecRequest) { r.Command = fill(4096) }, "ok", ""},
		{"4097 arguments", func(r *ExecRequest) { r.Command = fill(4097) }, "/command", "has 4097 arguments"},
		{"1 MiB", func(r *ExecRequest) { r.Command = []string{"a", strings.Repeat("b", 1<<20-1)} }, "ok", ""},
		{"more than 1 MiB", func(r *ExecRequest) { r.Command = []string{"a", strings.Repeat("b", 1<<20)} }, "/command", "has 1048577 bytes"},
		{"a NUL", func(r *ExecRequest) { r.Command = []string{"a", "b\x00c"} }, "/command/1", "NUL"},
		{"an argument that is no text", func(r *ExecRequest) { r.Command = []string{"a", "\xff"} }, "ok", ""},

		{"1,000,000 bytes of stdin", func(r *ExecRequest) { r.Stdin = []byte(strings.Repeat("ä", 500_000)) }, "ok", ""},
		{"more stdin", func(r *ExecRequest) { r.Stdin = []byte(strings.Repeat("a", 1_000_001)) }, "/stdin_text", "is 1000001 bytes"},
		{"stdin with NUL", func(r *ExecRequest) { r.Stdin = []byte("a\x00b") }, "ok", ""},
		{"stdin that is no text", func(r *ExecRequest) { r.Stdin = []byte("\xff") }, "/stdin_text", "UTF-8"},

		{"a second", func(r *ExecRequest) { r.Timeout = ptr(time.Second) }, "ok", ""},
		{"no time", func(r *ExecRequest) { r.Timeout = ptr(time.Duration(0)) }, "/timeout_seconds", "not between 1s and 1h0m0s"},
		{"a byte", func(r *ExecRequest) { r.MaxOutputBytes = ptr(int64(1)) }, "ok", ""},
		{"16 MiB", func(r *ExecRequest) { r.MaxOutputBytes = ptr(int64(16 << 20)) }, "ok", ""},
		{"no output", func(r *ExecRequest) { r.MaxOutputBytes = ptr(int64(0)) }, "/max_output_bytes", "not between 1 and 16777216"},
		{"more output", func(r *ExecRequest) { r.MaxOutputBytes = ptr(int64(16<<20 + 1)) }, "/max_output_bytes", "not between 1 and 16777216"},

		{"32 references", func(r *ExecRequest) { r.CredentialRouteRefs = fill(32) }, "ok", ""},
		{"33 references", func(r *ExecRequest) { r.CredentialRouteRefs = fill(33) }, "/credential_route_refs", "there are 33"},
		{"a reference of 128", func(r *ExecRequest) { r.CredentialRouteRefs = []string{"0" + strings.Repeat("-", 127)} }, "ok", ""},
		{"a reference of 129", func(r *ExecRequest) { r.CredentialRouteRefs = []string{strings.Repeat("a", 129)} }, "/credential_route_refs/0", "catalog identifier"},
		{"a value", func(r *ExecRequest) { r.CredentialRouteRefs = []string{"github", "token=abc"} }, "/credential_route_refs/1", "catalog identifier"},
		{"upper case", func(r *ExecRequest) { r.CredentialRouteRefs = []string{"ghp_Abc"} }, "/credential_route_refs/0", "catalog identifier"},
		{"white space", func(r *ExecRequest) { r.CredentialRouteRefs = []string{"a "} }, "/credential_route_refs/0", "catalog identifier"},
		{"an option", func(r *ExecRequest) { r.CredentialRouteRefs = []string{"-a"} }, "/credential_route_refs/0", "catalog identifier"},
		{"nothing", func(r *ExecRequest) { r.CredentialRouteRefs = []string{""} }, "/credential_route_refs/0", "catalog identifier"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := ExecRequest{Command: []string{"python3", "-V"}, Consumer: consumer}
			test.change(&r)
			wantField(t, check(r), test.pointer, test.message)
		})
	}
}

// check is what Exec checks of a request, for a sandbox that allows an hour.
func check(r ExecRequest) error {
	if err := checkConsumer(r.Consumer); err != nil {
		return err
	}
	if _, err := boundsOf(r, Sandbox{ExecTimeoutMax: time.Hour}); err != nil {
		return err
	}
	return checkCommand(r)
}

func TestRefusalsDoNotRepeatWhatMayBeASecret(t *testing.T) {
	const secret = "s3cret!"
	for _, err := range []error{
		checkRouteRefs([]string{secret}),
		checkCommand(ExecRequest{Command: []string{secret + "\x00"}}),
		checkCommand(ExecRequest{Command: []string{"a"}, Stdin: []byte(secret + "\xff")}),
		checkConsumer(Consumer{Actor: secret}),
	} {
		e, ok := errors.AsType[*sdk.Error](err)
		if !ok || strings.Contains(e.Message+e.Hint, secret) {
			t.Errorf("error is %v with hint %q", err, e.Hint)
		}
	}
}
