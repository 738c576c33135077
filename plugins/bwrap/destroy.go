package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/proc"
	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

// endTimeout bounds the wait for killed processes to be gone. A process in an
// uninterruptible wait of the kernel may take longer: then Destroy fails and
// may be called again.
const endTimeout = 30 * time.Second

// endPoll is the pause between two looks for processes of a sandbox.
const endPoll = 5 * time.Millisecond

// Destroy implements sdk.Backend.
func (b *backend) Destroy(_ context.Context, ref sdk.Ref) (sdk.Destroyed, error) {
	if !sdk.ValidSandboxID(ref.SandboxID) {
		return sdk.Destroyed{}, sdk.Errorf(sdk.CodeInvalidRequest, "sandbox id %q is not sbx- and a lower-case ULID", ref.SandboxID)
	}
	dir := b.paths.sandbox(ref.SandboxID)
	var done sdk.Destroyed
	killed, err := endProcesses(ref, dir)
	for _, id := range killed {
		done.Removed = append(done.Removed, fmt.Sprintf("process %d", id.PID))
	}
	if err != nil {
		return done, err
	}
	if dir.exists() {
		if err := workspace.Remove(string(dir)); err != nil {
			return done, err
		}
		done.Removed = append(done.Removed, "workspace")
	}
	return done, b.paths.releaseOwner(ref.SandboxID)
}

// endProcesses kills the processes of the sandbox and waits for their end.
// Killing pid 1 of a pid namespace kills all that is in it.
func endProcesses(ref sdk.Ref, dir sandboxDir) ([]proc.ID, error) {
	n := noteOf(ref.Handle)
	killed, err := end(n.Init, n.Monitor)
	if err != nil {
		return killed, err
	}
	// With the noted processes gone and the lock free there is nothing to look
	// for. The lock is held by a create that was killed, too, until the kernel
	// is done with its process, and by a bwrap that it was just starting.
	for deadline := time.Now().Add(endTimeout); ; time.Sleep(endPoll) {
		lives, err := dir.lives()
		if err != nil || !lives && !n.Init.IsZero() {
			return killed, err
		}
		found, err := proc.Find(func(argv []string) bool { return belongsTo(argv, ref.SandboxID) })
		if err != nil {
			return killed, fmt.Errorf("look for processes of %s: %w", ref.SandboxID, err)
		}
		more, err := end(found...)
		killed = append(killed, more...)
		if err != nil || !lives && len(found) == 0 {
			return killed, err
		}
		if time.Now().After(deadline) {
			return killed, sdk.Errorf(sdk.CodeBackendFailed, "a process still holds %s after %v", dir.alive(), endTimeout).
				WithHint("look for it with: fuser -v %s", dir.alive())
		}
	}
}

// end kills each process that is still the one named and waits for all of
// them. It returns those that it ended.
func end(ids ...proc.ID) ([]proc.ID, error) {
	var ended []proc.ID
	var open []*proc.Process
	defer func() {
		for _, p := range open {
			p.Close()
		}
	}()
	// All are opened before one is killed: the end of one may end another.
	for _, id := range ids {
		p, err := id.Open()
		if errors.Is(err, proc.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		open, ended = append(open, p), append(ended, id)
	}
	for i, p := range open {
		if err := p.Kill(); err != nil {
			return ended, fmt.Errorf("kill process %d: %w", ended[i].PID, err)
		}
	}
	for _, p := range open {
		if err := p.Wait(endTimeout); err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// List implements sdk.Backend. Everything below the extension's directory
// belongs to the one host that gave it.
func (b *backend) List(context.Context, string) ([]sdk.Found, error) {
	entries, err := os.ReadDir(b.paths.sandboxes())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []sdk.Found
	for _, e := range entries {
		if !sdk.ValidSandboxID(e.Name()) {
			continue
		}
		lives, err := b.paths.sandbox(e.Name()).lives()
		if err != nil {
			return nil, err
		}
		found = append(found, sdk.Found{SandboxID: e.Name(), Alive: lives})
	}
	return found, nil
}
