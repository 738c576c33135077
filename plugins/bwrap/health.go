package main

import (
	"bytes"
	"context"
	"os/exec"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// Health implements sdk.HealthChecker. It makes every namespace that a sandbox
// has, for a program that ends at once: what the kernel forbids shows here.
func (b *backend) Health(ctx context.Context) (sdk.Health, error) {
	t, err := b.findTool(ctx)
	if err == nil {
		err = tryNamespaces(ctx, t)
	}
	if err == nil {
		return sdk.Health{Usable: true, Problems: b.weaknesses(t)}, nil
	}
	e := sdk.AsError(err)
	return sdk.Health{Problems: []sdk.Problem{{Message: e.Message, Hint: e.Hint}}}, nil
}

func tryNamespaces(ctx context.Context, t tool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, "--unshare-all", "--cap-drop", "ALL", "--ro-bind", "/", "/",
		"--proc", "/proc", "--dev", "/dev", "--new-session", "--", "/proc/self/exe", "--version")
	cmd.Env = []string{"LC_ALL=C"}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return diagnose(said.String(), readSetting)
	}
	return nil
}

// weaknesses are what this bwrap cannot do and a sandbox works without.
func (b *backend) weaknesses(t tool) []sdk.Problem {
	var ps []sdk.Problem
	if !t.options["--disable-userns"] {
		ps = append(ps, sdk.Problem{
			Message: t.path + " cannot forbid further user namespaces inside a sandbox",
			Hint:    "install bubblewrap 0.8 or newer",
		})
	}
	if !t.options["--size"] {
		ps = append(ps, sdk.Problem{
			Message: t.path + " cannot bound the memory file systems inside a sandbox",
			Hint:    "install bubblewrap 0.7 or newer",
		})
	}
	return ps
}
