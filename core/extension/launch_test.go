package extension

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestProgramsThatAreNoExtension(t *testing.T) {
	const short = 300 * time.Millisecond
	tests := []struct {
		name    string
		timeout time.Duration // 0: the failure does not need it
		code    sdk.Code
		words   string
	}{
		{"garbage", 0, sdk.CodeExtensionInvalid, `began with "hello, I am a program"`},
		{"exits", 0, sdk.CodeExtensionInvalid, `ended at once, before it announced itself (exit status 3); its last words were "cannot find my config"`},
		{"panics", 0, sdk.CodeExtensionInvalid, "panic: no luck today"},
		{"wrongmajor", 0, sdk.CodeVersionMismatch, "version 7 of the extension protocol, this sandboxer version 1"},
		{"netrpc", 0, sdk.CodeExtensionInvalid, `speaks "netrpc"`},
		{"elsewhere", 0, sdk.CodeExtensionInvalid, `listens on "/tmp/elsewhere.sock"`},
		{"othergrpc", 0, sdk.CodeExtensionInvalid, "broke the protocol at its start"},
		{"notgrpc", 0, sdk.CodeExtensionInvalid, "broke the protocol at its start"},
		{"misnamed", 0, sdk.CodeExtensionInvalid, `calls itself "somebody-else", not "misnamed"`},
		{"hang", short, sdk.CodeExtensionInvalid, "did not announce itself in time"},
		{"whisper", short, sdk.CodeExtensionInvalid, `began with "1|1|unix"`},
		{"mute", short, sdk.CodeExtensionInvalid, "did not get ready in time"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHost(t, func(c *Config) { c.StartTimeout = test.timeout }, test.name)
			begin := time.Now()
			_, err := h.Open(t.Context(), test.name)
			e := sdk.AsError(err)
			if e == nil || e.Code != test.code || !strings.Contains(e.Message, test.words) || e.Hint == "" || strings.Contains(e.Message, "\n") {
				t.Errorf("got %+v\nwant %s with %q and a hint", e, test.code, test.words)
			}
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestOrdinaryProgramIsNoExtension(t *testing.T) {
	h := newHost(t, nil)
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.cfg.Finder.Dirs[0], filePrefix+"true"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = h.Open(t.Context(), "true")
	if sdk.CodeOf(err) != sdk.CodeExtensionInvalid || !strings.Contains(err.Error(), "ended at once") {
		t.Error(err)
	}
}

func TestCanceledStartLeavesNothing(t *testing.T) {
	h := newHost(t, nil, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := h.Open(ctx, "hang")
	if sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Error(err)
	}
}

func TestCloseEndsAStartThatHangs(t *testing.T) {
	h := newHost(t, nil, "hang")
	opened := make(chan error)
	go func() {
		_, err := h.Open(context.Background(), "hang")
		opened <- err
	}()
	for { // until the process runs
		if dirs, _ := filepath.Glob(filepath.Join(h.cfg.SocketDir, "*", "*")); len(dirs) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("Close took %v", took)
	}
	if err := <-opened; sdk.CodeOf(err) != sdk.CodeCanceled || !strings.Contains(err.Error(), "host is closed") {
		t.Error(err)
	}
	if _, err := h.Open(t.Context(), "hang"); sdk.CodeOf(err) != sdk.CodeCanceled {
		t.Errorf("Open after Close: %v", err)
	}
}

func TestPluginStartedByHandSaysHowItIsUsed(t *testing.T) {
	out, err := exec.Command(filepath.Join(install(t, "good"), filePrefix+"good")).CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 2 {
		t.Errorf("it ended with %v, want exit status 2", err)
	}
	if text := string(out); strings.Count(text, "\n") != 1 || !strings.Contains(text, "sandboxer ext describe good") {
		t.Errorf("it said %q", text)
	}
}
