package main

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

// Create implements sdk.Backend.
func (b *backend) Create(ctx context.Context, req sdk.CreateRequest, progress sdk.Progress) (sdk.Created, error) {
	if err := b.checkCreate(req); err != nil {
		return sdk.Created{}, err
	}
	t, err := b.findTool(ctx)
	if err != nil {
		return sdk.Created{}, err
	}
	ref := sdk.Ref{SandboxID: req.SandboxID, HostID: req.HostID}
	if b.paths.sandbox(req.SandboxID).exists() {
		if _, err := b.Destroy(ctx, ref); err != nil {
			return sdk.Created{}, err
		}
	}
	created, err := b.create(ctx, t, req, progress)
	if err != nil {
		// What is half made must go even when the caller has left.
		if _, derr := b.Destroy(context.WithoutCancel(ctx), ref); derr != nil {
			err = errors.Join(err, derr)
		}
		return sdk.Created{}, err
	}
	return created, nil
}

func (b *backend) checkCreate(req sdk.CreateRequest) error {
	if !sdk.ValidSandboxID(req.SandboxID) {
		return sdk.Errorf(sdk.CodeInvalidRequest, "sandbox id %q is not sbx- and a lower-case ULID", req.SandboxID)
	}
	if req.Network.Posture != sdk.PostureDeny {
		return sdk.Errorf(sdk.CodeUnenforceable, "ext.bwrap cannot enforce the network posture %q", req.Network.Posture).
			WithHint(`write posture = "deny"`)
	}
	return nil
}

func (b *backend) create(ctx context.Context, t tool, req sdk.CreateRequest, progress sdk.Progress) (sdk.Created, error) {
	dir := b.paths.sandbox(req.SandboxID)
	// Others may pass through to what their own uid owns, not look around.
	if err := os.MkdirAll(b.paths.sandboxes(), 0o711); err != nil {
		return sdk.Created{}, diskError(err)
	}
	switched, err := mustSwitch(os.Geteuid(), readSetting("/proc/self/uid_map"))
	if err != nil {
		return sdk.Created{}, err
	}
	if switched {
		if err := checkEnterable(b.paths.sandboxes()); err != nil {
			return sdk.Created{}, err
		}
	}
	if err := os.Mkdir(string(dir), 0o711); err != nil {
		return sdk.Created{}, diskError(err)
	}
	// Held from here on by this process, later by the sandbox alone: while it
	// is, a destroy knows that somebody is at work.
	lock, err := lockAlive(dir)
	if err != nil {
		return sdk.Created{}, diskError(err)
	}
	defer lock.Close()
	who, err := b.paths.claimOwner(req.SandboxID, switched)
	if err != nil {
		return sdk.Created{}, diskError(err)
	}
	if err := fill(ctx, dir, who, req.Workspace, progress); err != nil {
		return sdk.Created{}, err
	}
	program, err := b.installBroker()
	if err != nil {
		return sdk.Created{}, diskError(err)
	}
	progress.Report("starting the namespaces")
	n, err := launch(ctx, launchSpec{tool: t, id: req.SandboxID, dir: dir, source: req.Workspace.Path, program: program, owner: who, lock: lock, expires: req.ExpiresAt})
	if err != nil {
		return sdk.Created{}, err
	}
	h, err := n.handle()
	if err != nil {
		return sdk.Created{}, err
	}
	// No checkpoint on the way: Destroy finds all of it by the id, and the answer
	// brings the handle at once.
	return sdk.Created{
		Handle:       h,
		Reachability: sdk.Reachability{PID: n.Init.PID, WorkspaceDir: sdk.WorkspaceDir},
		Execution:    sdk.ExecutionOwnerMediated,
		Network:      sdk.Network{Posture: sdk.PostureDeny, Enforced: true},
	}, nil
}

// fill makes the trees that the sandbox may write to.
func fill(ctx context.Context, dir sandboxDir, who owner, src sdk.WorkspaceSource, progress sdk.Progress) error {
	for _, d := range []struct {
		path string
		mode os.FileMode
	}{
		{dir.trees(), 0o700},
		{dir.home(), 0o700},
		{dir.tmp(), 0o777 | os.ModeSticky},
	} {
		if err := who.mkdir(d.path, d.mode); err != nil {
			return diskError(err)
		}
	}
	if src.Path == "" {
		return diskError(who.mkdir(dir.workspace(), 0o700))
	}
	progress.Report("copying " + src.Path)
	uid, gid := who.copyIDs()
	_, err := workspace.Copy(ctx, src.Path, dir.workspace(), workspace.Options{
		Exclude: src.Exclude, UID: uid, GID: gid, Warn: progress.Report,
	})
	return err
}

func diskError(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return sdk.Errorf(sdk.CodeDiskFull, "the disk of the state directory is full: %w", err).
			WithHint("free space there, or set SANDBOXER_STATE_DIR to a directory on another disk")
	}
	return err
}
