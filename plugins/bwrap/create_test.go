package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestCreateRefuses(t *testing.T) {
	empty := t.TempDir()
	broken := t.TempDir()
	writeFile(t, filepath.Join(broken, "bwrap"), "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n", 0o755)
	old := t.TempDir()
	writeFile(t, filepath.Join(old, "bwrap"), "#!/bin/sh\necho ' --unshare-user  Create new user namespace'\n", 0o755)
	tests := []struct {
		name    string
		path    string // PATH
		change  func(*sdk.CreateRequest)
		code    sdk.Code
		message string
	}{
		{"no bwrap", empty, nil, sdk.CodeHostUnsupported, "bwrap is not on this machine"},
		{"bwrap that does not run", broken, nil, sdk.CodeHostUnsupported, "setting up uid map: Permission denied"},
		{"old bwrap", old, nil, sdk.CodeHostUnsupported, "is too old: it has no option --"},
		{"bad id", "", func(r *sdk.CreateRequest) { r.SandboxID = "../../etc" }, sdk.CodeInvalidRequest, `"../../etc" is not sbx-`},
		{"other posture", "", func(r *sdk.CreateRequest) { r.Network.Posture = "allow" }, sdk.CodeUnenforceable, `posture "allow"`},
		{"missing source", "", func(r *sdk.CreateRequest) { r.Workspace.Path = "/no/such/dir" }, sdk.CodeSourceInvalid, "/no/such/dir"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path != "" {
				t.Setenv("PATH", tt.path+":/nonexistent")
			}
			b := newBackend(newWorkDir(t))
			req := createRequest("")
			if tt.change != nil {
				tt.change(&req)
			}
			_, err := b.Create(t.Context(), req, noProgress{t})
			e := sdk.AsError(err)
			if e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.message) {
				t.Fatalf("error %v (%s), want %s with %q", err, sdk.CodeOf(err), tt.code, tt.message)
			}
			if e.Hint == "" && tt.name != "bad id" {
				t.Errorf("no hint: %v", e)
			}
			mustBeGone(t, b)
		})
	}
}

// TestCanceledCreateLeavesNothing has its context end while the tree is copied.
func TestCanceledCreateLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBackend(newWorkDir(t))
	_, err := b.Create(ctx, createRequest(t.TempDir()), cancelingProgress{noProgress{t}, cancel})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	mustBeGone(t, b)
}

// cancelingProgress cancels a create at its first report.
type cancelingProgress struct {
	noProgress
	cancel func()
}

func (p cancelingProgress) Report(string) { p.cancel() }

func TestStateDirectoryMustBeEnterable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("as an ordinary user the sandbox has that user's own uid")
	}
	closed := filepath.Join(sharedTempDir(t), "closed")
	work := filepath.Join(closed, "work")
	if err := os.MkdirAll(work, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	b := newBackend(work)
	_, err := b.Create(t.Context(), createRequest(""), noProgress{t})
	e := sdk.AsError(err)
	if e == nil || e.Code != sdk.CodeHostUnsupported || !strings.Contains(e.Hint, "chmod o+x "+closed) {
		t.Errorf("error %+v", e)
	}
	mustBeGone(t, b)
}

func TestDiagnose(t *testing.T) {
	settings := func(pairs ...string) func(string) string {
		return func(path string) string {
			for i := 0; i < len(pairs); i += 2 {
				if strings.HasSuffix(path, "/"+pairs[i]) {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	tests := []struct {
		said string
		read func(string) string
		hint string
	}{
		{"bwrap: setting up uid map: Permission denied", settings("apparmor_restrict_unprivileged_userns", "1"), "AppArmor"},
		{"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", settings("apparmor_restrict_unprivileged_userns", "1"), "AppArmor"},
		{"bwrap: No permissions to create new namespace, likely because …", settings("unprivileged_userns_clone", "0"), "kernel.unprivileged_userns_clone=1"},
		{"bwrap: Creating new namespace failed: No space left on device", settings("max_user_namespaces", "0"), "user.max_user_namespaces=15000"},
		{"bwrap: Creating new namespace failed: Operation not permitted", settings("max_user_namespaces", "100"), "forbidden for this user"},
		{"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", settings(), "unmasked /proc"},
	}
	for _, tt := range tests {
		e := sdk.AsError(diagnose(tt.said, tt.read))
		if !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s\nhint %q\nwant %q", tt.said, e.Hint, tt.hint)
		}
		if said := strings.TrimPrefix(tt.said, "bwrap: "); !strings.Contains(e.Message, said) {
			t.Errorf("message %q does not repeat %q", e.Message, said)
		}
	}
}

func TestHealth(t *testing.T) {
	h, err := newBackend(newWorkDir(t)).Health(t.Context())
	if err != nil || !h.Usable {
		t.Errorf("health %+v, %v", h, err)
	}
	t.Setenv("PATH", "/nonexistent")
	h, err = newBackend(newWorkDir(t)).Health(t.Context())
	if err != nil || h.Usable || len(h.Problems) != 1 || h.Problems[0].Hint == "" {
		t.Errorf("health without bwrap %+v, %v", h, err)
	}
}
