package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// Kinds of a [Transport]: how a command gets into the sandbox.
const (
	KindOwnerMediated = apitype.ModeOwnerMediated
	KindSSH           = apitype.ModeSSH
)

// shortTimeout bounds the small commands that a transport runs for itself.
const shortTimeout = 15 * time.Second

// sshTarget is one token: no port, and nothing that ssh could take for an option.
var sshTarget = regexp.MustCompile(`\A(?:[A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*\z`)

// Transport is how a harness runs its commands in one sandbox. Every command
// crosses exactly one boundary: the owner service, or ssh. None is run twice.
type Transport struct {
	kind      string
	workspace string
	runner    runner
}

// runner runs one argument vector with the workspace as its directory.
type runner interface {
	run(ctx context.Context, argv []string, o RunOptions) (Completed, error)
}

// RunOptions are how a command is run. The zero value is of use.
type RunOptions struct {
	// Input is what the command reads: UTF-8 text of at most 1,000,000 bytes
	// where the transport is owner-mediated. Nil is /dev/null.
	Input []byte
	// Timeout ends the command: owner-mediated it is rounded up to whole
	// seconds, and 0 is the default of the owner. Over ssh 0 is no timeout, and
	// what the command leaves running on the other side goes on.
	Timeout time.Duration
}

// Completed is how a command ended.
type Completed struct {
	// ExitCode is that of the command; 127 when it was not found and 126 when
	// it cannot be executed, with the reason in Stderr; -1 when a signal or the
	// timeout ended it. Over ssh 255 is also ssh's own failure.
	ExitCode int
	// Signal is the name of the signal that ended it, as SIGKILL; "" for none.
	Signal   string
	TimedOut bool
	// Stdout and Stderr are the first 16 MiB of what it wrote, and what it
	// wrote before a timeout.
	Stdout, Stderr                   []byte
	StdoutTruncated, StderrTruncated bool
}

// TransportFromSandbox returns the transport for a reachability report. It
// refuses one that is ambiguous, incomplete or malformed. An owner-mediated
// sandbox needs c and the consumer that the sandbox is bound to; one that is
// reached by ssh needs neither.
func TransportFromSandbox(r apitype.ReachabilityReport, c *Client, consumer apitype.Consumer) (*Transport, error) {
	at := r.Reachability
	local := at.PID != nil || at.WorkspaceDir != nil
	remote := at.SSH != nil || at.RemoteDir != nil
	switch {
	case local && remote:
		return nil, errors.New("ambiguous sandbox reachability: local and SSH fields coexist")
	case local:
		workspace, err := checkLocal(at)
		if err == nil && c == nil {
			err = errors.New("an owner-mediated sandbox is executed in by the owner service: a client is required")
		}
		if err != nil {
			return nil, err
		}
		return &Transport{KindOwnerMediated, workspace, owner{c, r.SandboxID, consumer}}, nil
	case remote:
		target, dir, err := checkRemote(at)
		if err != nil {
			return nil, err
		}
		return &Transport{KindSSH, dir, ssh{target, dir}}, nil
	}
	return nil, errors.New("sandbox exposes no supported execution reachability")
}

func checkLocal(at apitype.Reachability) (workspace string, err error) {
	switch {
	case at.PID == nil || *at.PID == 0 || at.WorkspaceDir == nil || *at.WorkspaceDir == "":
		return "", errors.New("incomplete local sandbox reachability: pid and workspace_dir are required")
	case *at.PID < 0 || !strings.HasPrefix(*at.WorkspaceDir, "/"):
		return "", errors.New("local sandbox reachability has invalid pid or workspace_dir")
	}
	return *at.WorkspaceDir, nil
}

func checkRemote(at apitype.Reachability) (target, dir string, err error) {
	switch {
	case at.SSH == nil || *at.SSH == "" || at.RemoteDir == nil || *at.RemoteDir == "":
		return "", "", errors.New("incomplete remote sandbox reachability: ssh and remote_dir are required")
	case !sshTarget.MatchString(*at.SSH):
		return "", "", errors.New("SSH reachability must be a single non-option host or user@host target")
	case !strings.HasPrefix(*at.RemoteDir, "/"):
		return "", "", errors.New("remote sandbox workspace must be an absolute path")
	}
	return *at.SSH, *at.RemoteDir, nil
}

// Kind is KindOwnerMediated or KindSSH.
func (t *Transport) Kind() string { return t.kind }

// Workspace is the directory that commands run in, as they see it.
func (t *Transport) Workspace() string { return t.workspace }

// Run runs one argument vector in the workspace. A command that fails is a
// result; an error means that it was refused, or that its end is not known. When
// ctx ends, the command does.
func (t *Transport) Run(ctx context.Context, argv []string, o RunOptions) (Completed, error) {
	if len(argv) == 0 {
		return Completed{}, errors.New("cannot execute an empty command")
	}
	for i, arg := range argv {
		if strings.Contains(arg, "\x00") {
			return Completed{}, fmt.Errorf("argument %d of the command holds a NUL byte, which no argument can", i)
		}
	}
	return t.runner.run(ctx, argv, o)
}

// ResolveExecutable finds the program that a command name stands for inside the
// sandbox.
func (t *Transport) ResolveExecutable(ctx context.Context, name string) (string, error) {
	if name == "" || strings.Contains(name, "/") {
		return "", errors.New("rein executable must be a command name, not a host path")
	}
	return t.line(ctx, fmt.Sprintf("'%s' is not installed inside the selected sandbox transport", name),
		"sh", "-c", `command -v -- "$1"`, "sh", name)
}

// GitHead returns the commit that HEAD of the workspace is at.
func (t *Transport) GitHead(ctx context.Context) (string, error) {
	return t.line(ctx, "cannot read git HEAD inside the selected sandbox transport",
		"git", "-C", t.workspace, "rev-parse", "HEAD")
}

// line returns what a command prints; one that prints nothing or fails is the
// error failure.
func (t *Transport) line(ctx context.Context, failure string, argv ...string) (string, error) {
	done, err := t.Run(ctx, argv, RunOptions{Timeout: shortTimeout})
	if err != nil {
		return "", err
	}
	out := string(bytes.TrimSpace(done.Stdout))
	if done.ExitCode != 0 || out == "" {
		return "", errors.New(failure)
	}
	return out, nil
}
