package extension

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestHandshakeLine(t *testing.T) {
	tests := []struct {
		line string
		want sdk.Code
	}{
		{"1|1|unix|/run/s/plugin1|grpc|", ""},
		{"1|1|unix|/run/s/plugin1|grpc", ""},
		{"1|2|unix|/run/s/plugin1|grpc|", sdk.CodeVersionMismatch},
		{"2|1|unix|/run/s/plugin1|grpc|", sdk.CodeVersionMismatch},
		{"1|1|tcp|10.0.0.1:22|grpc|", sdk.CodeExtensionInvalid},
		{"1|1|unix|/run/s/../docker.sock|grpc|", sdk.CodeExtensionInvalid},
		{"1|1|unix|/run/s|grpc|", sdk.CodeExtensionInvalid},
		{"1|1|unix|/run/s/plugin1|netrpc|", sdk.CodeExtensionInvalid},
		{"x|1|unix|/run/s/plugin1|grpc|", sdk.CodeExtensionInvalid},
		{"", sdk.CodeExtensionInvalid},
		{"||||||", sdk.CodeExtensionInvalid},
	}
	for _, test := range tests {
		if got := sdk.CodeOf(checkHandshakeLine(test.line, "x", "/run/s")); got != test.want {
			t.Errorf("%q: %q, want %q", test.line, got, test.want)
		}
	}
}

func FuzzHandshakeLine(f *testing.F) {
	f.Add("1|1|unix|/run/s/plugin1|grpc|")
	f.Add("1|1|unix")
	f.Fuzz(func(t *testing.T, line string) {
		err := checkHandshakeLine(line, "x", "/run/s")
		if err == nil && !strings.Contains(line, "|unix|/run/s/") {
			t.Errorf("%q passes", line)
		}
		if err != nil && len(err.Error()) > 4*len(line)+500 {
			t.Errorf("message of %d bytes", len(err.Error()))
		}
	})
}

func TestHandshakeReaderPassesOneLineOn(t *testing.T) {
	tests := []struct {
		name, input, want string
		bad               bool
	}{
		{"the line", "good\n", "good\n", false},
		{"chatter after it", "good\nand more\nand more", "good\n", false},
		{"no newline", "good", "good\n", false},
		{"a bad line", "bad\ngood\n", "", true},
		{"an endless line", strings.Repeat("x", 1<<20), "", true},
		{"nothing", "", "", false},
	}
	for _, test := range tests {
		r := &handshakeReader{pipe: iotest.HalfReader(strings.NewReader(test.input)), check: func(line string) error {
			if line != "good" {
				return errors.New("bad")
			}
			return nil
		}}
		got, err := io.ReadAll(r)
		if _, lineErr := r.printed(); string(got) != test.want || err != nil || (lineErr != nil) != test.bad {
			t.Errorf("%s: %q, %v, line %v", test.name, got, err, lineErr)
		}
	}
}

// record parses a line as go-plugin does, which panics where a value of these
// keys is no string.
func record(line []byte) {
	var raw map[string]any
	if json.Unmarshal(line, &raw) != nil {
		return
	}
	for _, key := range []string{"@message", "@level", "@timestamp"} {
		if v, ok := raw[key]; ok {
			_ = v.(string)
		}
	}
}

func TestLogLines(t *testing.T) {
	tests := map[string]string{
		"plain":                                "plain",
		`{"@message":"fine","@level":"info"}`:  `{"@message":"fine","@level":"info"}`,
		`{"@message": 1}`:                      `malformed log record: {"@message": 1}`,
		`{"@level": null}`:                     `malformed log record: {"@level": null}`,
		`{"@message":"\u001b[2J"}`:             `malformed log record: {"@message":"\u001b[2J"}`,
		"\x1b[2Jtab\there":                     "\ufffd[2Jtab\there",
		`{"@message":"a","@message":{"x":[]}}`: `malformed log record: {"@message":"a","@message":{"x":[]}}`,
	}
	for line, want := range tests {
		if got := string(sanitizeLogLine([]byte(line))); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
}

func FuzzLogReader(f *testing.F) {
	f.Add([]byte("{\"@message\": 1}\nplain\n"))
	f.Add([]byte("{\"@timestamp\": {}}"))
	f.Add(bytes.Repeat([]byte("x"), maxLogLine+10))
	f.Fuzz(func(t *testing.T, data []byte) {
		var words lastWords
		lines := bufio.NewReaderSize(newLogReader(bytes.NewReader(data), &words), 64<<10)
		for {
			line, _, err := lines.ReadLine()
			if err != nil {
				break
			}
			record(line)
		}
		if len(words.String()) > 300 {
			t.Errorf("last words of %d bytes", len(words.String()))
		}
	})
}

func TestLogReaderEndsAtTheDeadline(t *testing.T) {
	pipe := io.MultiReader(strings.NewReader("last"), iotest.ErrReader(os.ErrDeadlineExceeded))
	var words lastWords
	got, err := io.ReadAll(newLogReader(pipe, &words))
	if string(got) != "last\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestLastWordsPreferThePanic(t *testing.T) {
	var w lastWords
	for _, line := range []string{"starting", "panic: boom", "goroutine 1 [running]:", ""} {
		w.add([]byte(line))
	}
	if got := w.String(); got != "panic: boom" {
		t.Errorf("last words %q", got)
	}
}
