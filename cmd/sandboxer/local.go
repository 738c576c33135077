package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/mattn/go-isatty"

	"github.com/tegwick/sand-boxer/core/api"
	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/extension"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// closeTimeout bounds the end of the extensions that this process started.
const closeTimeout = 5 * time.Second

// local works as the owner on the state directory of this machine.
type local struct {
	owner      *sandbox.Owner
	extensions *extension.Host
}

func (a *app) openLocal(ctx context.Context) (*local, error) {
	log := hclog.New(&hclog.LoggerOptions{Name: "sandboxer", Level: logLevel(hclog.Warn), Output: a.stderr})
	return openState(ctx, sandbox.Config{Log: log, Report: a.progress()}, nil)
}

// openState opens the state directory of this user. It fills in where things
// are; how the owner is to work is the caller's to say in c. onRestart is called
// when an extension that crashed was started again; nil is not.
func openState(ctx context.Context, c sandbox.Config, onRestart func(name string)) (*local, error) {
	state, err := stateDir()
	if err != nil {
		return nil, err
	}
	finder := extension.DefaultFinder()
	host := extension.New(extension.Config{
		Finder: finder, Version: version, WorkDir: filepath.Join(state, "ext"), Log: c.Log,
		OnRestart: onRestart,
	})
	c.StateDir, c.Profiles, c.Extensions = state, profile.Finder{Dirs: profileDirs()}, extensions{host, finder}
	owner, err := sandbox.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return &local{owner, host}, nil
}

// stateDir is where everything is kept.
func stateDir() (string, error) {
	if dir := os.Getenv("SANDBOXER_STATE_DIR"); dir != "" {
		return filepath.Clean(dir), nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/sandboxer", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sandboxer"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", sdk.Errorf(sdk.CodeHostUnsupported, "there is no state directory: neither SANDBOXER_STATE_DIR nor HOME is set").
			WithHint("set SANDBOXER_STATE_DIR to a directory that you may write to")
	}
	return filepath.Join(home, ".local/state/sandboxer"), nil
}

// profileDirs are the directories searched for profiles, in this order. None is
// relative: a workspace is never a source of configuration.
func profileDirs() []string {
	dirs := filepath.SplitList(os.Getenv("SANDBOXER_PROFILE_PATH"))
	if c, err := os.UserConfigDir(); err == nil && os.Geteuid() != 0 {
		dirs = append(dirs, filepath.Join(c, "sandboxer/profiles"))
	}
	dirs = append(dirs, "/etc/sandboxer/profiles")
	if exe, err := os.Executable(); err == nil {
		up := filepath.Dir(filepath.Dir(exe))
		dirs = append(dirs, filepath.Join(up, "share/sandboxer/profiles"), filepath.Join(up, "profiles"))
	}
	return append(dirs, "/usr/local/share/sandboxer/profiles", "/usr/share/sandboxer/profiles")
}

// logLevel is SANDBOXER_LOG_LEVEL, usual where that names none.
func logLevel(usual hclog.Level) hclog.Level {
	if l := hclog.LevelFromString(os.Getenv("SANDBOXER_LOG_LEVEL")); l != hclog.NoLevel {
		return l
	}
	return usual
}

// progress reports to a person only.
func (a *app) progress() func(string) {
	f, ok := a.stderr.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return nil
	}
	return func(message string) { fmt.Fprintln(f, message) }
}

// extensions hands the running extensions to the owner.
type extensions struct {
	host   *extension.Host
	finder extension.Finder
}

func (e extensions) Open(ctx context.Context, name string) (sandbox.Extension, error) {
	x, err := e.host.Open(ctx, name)
	if err != nil {
		return sandbox.Extension{}, err
	}
	return sandbox.Extension{Info: x.Info, Features: x.Features()}, nil
}

func (e extensions) Installed() ([]string, error) {
	var names []string
	for _, entry := range e.finder.List() {
		if entry.Err == nil {
			names = append(names, entry.Name)
		}
	}
	return names, nil
}

func (l *local) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return errors.Join(l.extensions.Close(ctx), l.owner.Close())
}

func (l *local) Create(ctx context.Context, req apitype.CreateRequest) (apitype.Sandbox, error) {
	s, err := l.owner.Create(ctx, sandbox.CreateRequest{
		Profile: req.Profile, Inputs: req.Inputs, Consumer: sandbox.Consumer(req.Consumer), TTL: duration(req.TTLSeconds),
	})
	return api.ViewSandbox(s), err
}

func duration(seconds *int64) *time.Duration {
	if seconds == nil {
		return nil
	}
	d := time.Duration(*seconds) * time.Second
	return &d
}

func (l *local) Get(ctx context.Context, id string) (apitype.Sandbox, error) {
	s, err := l.owner.Inspect(ctx, id)
	return api.ViewSandbox(s), err
}

func (l *local) List(ctx context.Context, f listFilter) (apitype.SandboxList, error) {
	states := make([]store.State, len(f.states))
	for i, s := range f.states {
		states[i] = store.State(s)
	}
	page, err := l.owner.List(ctx, sandbox.Filter{States: states, Project: f.project, Profile: f.profile})
	return api.ViewPage(page), err
}

func (l *local) Reachability(ctx context.Context, id string) (apitype.ReachabilityReport, error) {
	s, err := l.owner.Inspect(ctx, id)
	if err != nil {
		return apitype.ReachabilityReport{}, err
	}
	return api.ViewReachability(s)
}

func (l *local) Exec(ctx context.Context, id string, req apitype.ExecRequest, live *sdk.ExecOutput) (apitype.ExecResult, error) {
	var stdout, stderr bytes.Buffer
	out := sdk.ExecOutput{Stdout: &stdout, Stderr: &stderr}
	if live != nil {
		out = *live
	}
	r := sandbox.ExecRequest{
		SandboxID: id, Consumer: sandbox.Consumer(req.Consumer), Command: req.Command,
		CredentialRouteRefs: req.CredentialRouteRefs, MaxOutputBytes: req.MaxOutputBytes,
		Timeout: duration(req.TimeoutSeconds),
	}
	if req.StdinText != nil {
		r.Stdin = []byte(*req.StdinText)
	}
	res, err := l.owner.Exec(ctx, r, out)
	if err != nil {
		return apitype.ExecResult{}, err
	}
	return api.ViewExec(req.Command[0], res, stdout.Bytes(), stderr.Bytes()), nil
}

func (l *local) Renew(ctx context.Context, id string, req apitype.RenewRequest) (apitype.Sandbox, error) {
	s, err := l.owner.Renew(ctx, id, *duration(&req.TTLSeconds))
	return api.ViewSandbox(s), err
}

func (l *local) Destroy(ctx context.Context, id string) (apitype.Destroyed, error) {
	d, err := l.owner.Destroy(ctx, id)
	return api.ViewDestroyed(d), err
}

func (l *local) Reap(ctx context.Context, dryRun bool) (apitype.Reaped, error) {
	reaped, err := l.owner.Reap(ctx, dryRun)
	return api.ViewReaped(reaped), err
}
