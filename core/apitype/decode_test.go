package apitype

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var consumer = Consumer{Actor: "agt", Project: "glas-harness", SessionID: "session-123", RunID: "run-456"}

func ptr[T any](v T) *T { return &v }

func TestDecodeStrictReadsARequest(t *testing.T) {
	const text = `
	{"command": ["python3", "-V", "a\\ud800\u00e4\ud83d\ude00"],
	 "consumer": {"actor": "agt", "project": "glas-harness", "session_id": "session-123", "run_id": "run-456"},
	 "credential_route_refs": [], "stdin_text": null,
	 "timeout_seconds": 30, "max_output_bytes": 65536}
	`
	want := ExecRequest{
		Command:             []string{"python3", "-V", `a\ud800ä😀`},
		Consumer:            consumer,
		CredentialRouteRefs: []string{},
		TimeoutSeconds:      ptr(int64(30)),
		MaxOutputBytes:      ptr(int64(65536)),
	}
	var got ExecRequest
	if err := DecodeStrict(strings.NewReader(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request differs (-want +got):\n%s", diff)
	}
}

func TestDecodeStrictRefuses(t *testing.T) {
	exec, create := new(ExecRequest), new(CreateRequest)
	for _, test := range []struct {
		name    string
		v       any
		text    string
		pointer string
		message string
		hint    string
	}{
		{"a shell line", exec, `{"command": "python3 -V"}`, "/command",
			"/command must be an array of strings (an argument vector), not a string", `as ["python3", "-V"]`},
		{"a number in the command", exec, `{"command": ["sleep", 5]}`, "/command/1", "/command/1 must be a string, not a number", ""},
		{"null in the command", exec, `{"command": ["sleep", null]}`, "/command/1", "/command/1 must be a string, not null", ""},
		{"no command", exec, `{"command": null}`, "/command", "must be an array of strings (an argument vector), not null", ""},
		{"a nested command", exec, `{"command": [["a"]]}`, "/command/0", "must be a string, not an array", ""},
		{"an unknown field", exec, `{"command": ["a"], "env": {"A": "b"}}`, "/env", "/env is not a field of this request",
			"the fields here are command, consumer, credential_route_refs, max_output_bytes, stdin_text, timeout_seconds"},
		{"another case", exec, `{"Command": ["a"]}`, "/Command", "is not a field of this request", "command"},
		{"an unknown inner field", exec, `{"consumer": {"actor/~": "a"}}`, "/consumer/actor~1~0", "is not a field", "actor, project"},
		{"a field twice", exec, `{"consumer": {"actor": "a", "actor": "b"}}`, "/consumer/actor", "/consumer/actor is given twice", ""},
		{"a field twice, once escaped", exec, `{"command": ["a"], "comm\u0061nd": ["b"]}`, "/command", "is given twice", ""},
		{"an input twice", create, `{"inputs": {"repo": "a", "repo": "b"}}`, "/inputs/repo", "is given twice", ""},
		{"an input of another type", create, `{"inputs": {"n": 1}}`, "/inputs/n", "must be a string, not a number", ""},
		{"an object as text", exec, `{"stdin_text": {}}`, "/stdin_text", "must be a string, not an object", ""},
		{"true as a number", exec, `{"timeout_seconds": true}`, "/timeout_seconds", "must be a whole number, not true or false", ""},
		{"a fraction", exec, `{"timeout_seconds": 1.5}`, "/timeout_seconds", "must be a whole number, without fraction", ""},
		{"an exponent", exec, `{"timeout_seconds": 1e3}`, "/timeout_seconds", "must be a whole number, without fraction", ""},
		{"a huge number", exec, `{"timeout_seconds": 9223372036854775808}`, "/timeout_seconds", "is out of range", ""},
		{"an array as the request", exec, `[]`, "", "the request must be an object, not an array", ""},
		{"null as the request", exec, `null`, "", "the request must be an object, not null", ""},
		{"nothing", exec, " \n", "", "the request is empty", "one JSON object"},
		{"half", exec, `{"command": ["a"`, "", "ends in the middle", ""},
		{"no JSON", exec, `{"command": ['a']}`, "", "is not JSON at byte 14: invalid character", ""},
		{"two values", exec, `{} {}`, "", "has more text behind its JSON value, at byte 2", ""},
		{"text behind", exec, `{}x`, "", "has more text behind its JSON value", ""},
		{"deep nesting", exec, `{"stdin_text": ` + strings.Repeat("[", 1e6) + strings.Repeat("]", 1e6) + `}`, "", "exceeded max depth", ""},
		{"bytes that are no text", exec, "{\"stdin_text\": \"a\xffb\"}", "/stdin_text", "is not valid UTF-8", ""},
		{"bytes in a name", create, "{\"inputs\": {\"a\xff\": \"\"}}", "/inputs/a�", "is not valid UTF-8", ""},
		{"half a surrogate pair", exec, `{"command": ["\\\\\udc80"]}`, "/command/0", `/command/0 has \udc80, half of a surrogate pair`, "base64"},
		{"a high half alone", exec, `{"command": ["\ud800\u0041"]}`, "/command/0", `has \ud800, half of a surrogate pair`, ""},
		{"a high half at the end", exec, `{"command": ["\uD83D"]}`, "/command/0", `has \ud83d, half of a surrogate pair`, ""},
		{"a long name", exec, `{"` + strings.Repeat("é", 1000) + `": 1}`, "/" + strings.Repeat("é", 32) + "…", "is not a field", ""},
		{"a name with a line break", exec, `{"a\nb": 1}`, "/a�b", "is not a field", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := DecodeStrict(strings.NewReader(test.text), test.v)
			e, ok := errors.AsType[*FieldError](err)
			if !ok {
				t.Fatalf("error is %v, want a *FieldError", err)
			}
			if e.Pointer != test.pointer || !strings.Contains(e.Error(), test.message) || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("got pointer %q, error %q, hint %q;\nwant pointer %q, error with %q, hint with %q",
					e.Pointer, e, e.Hint, test.pointer, test.message, test.hint)
			}
		})
	}
}

func TestDecodeStrictPassesReadErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	if err := DecodeStrict(iotest.ErrReader(broken), new(ExecRequest)); !errors.Is(err, broken) {
		t.Errorf("error is %v, want the reader's", err)
	}
}

func FuzzDecodeStrict(f *testing.F) {
	f.Add([]byte(`{"command": ["a", "\ud83d\ude00"], "consumer": {"actor": "a"}, "stdin_text": null, "timeout_seconds": 1}`))
	f.Add([]byte(`{"command": "a"}`))
	f.Add([]byte(`{"command": ["\ud800"], "Command": []} x`))
	f.Add([]byte(`{"credential_route_refs": [], "max_output_bytes": 1e2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got ExecRequest
		err := DecodeStrict(bytes.NewReader(raw), &got)
		if err != nil {
			e, ok := errors.AsType[*FieldError](err)
			if !ok || e.Message == "" || e.Pointer != "" && e.Pointer[0] != '/' || len(e.Pointer) > 300 {
				t.Errorf("error is %#v, want a *FieldError with a short pointer and a message", err)
			}
			return
		}
		// What is accepted is what a lenient reader sees, and nothing in
		// it was replaced on the way.
		in := json.NewDecoder(bytes.NewReader(raw))
		in.DisallowUnknownFields()
		var want ExecRequest
		if err := in.Decode(&want); err != nil || !cmp.Equal(want, got) {
			t.Errorf("encoding/json says %v, %s", err, cmp.Diff(want, got))
		}
		for _, arg := range got.Command {
			if strings.ContainsRune(arg, utf8.RuneError) && !bytes.ContainsRune(raw, utf8.RuneError) &&
				!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
				t.Errorf("an argument became %q", arg)
			}
		}
	})
}
