package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/brokerclient"
	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/proc"
	"github.com/tegwick/sand-boxer/sdk"
)

// readyTimeout bounds the time from the start of bwrap to the first answer of
// the broker; it takes milliseconds.
const readyTimeout = 20 * time.Second

// launchSpec is what a namespace is started from.
type launchSpec struct {
	tool    tool
	id      string
	dir     sandboxDir
	source  string
	program string
	owner   owner
	// lock is handed on to the namespaces; the caller's copy stays open.
	lock    *os.File
	expires time.Time
}

// launch starts the namespaces of a sandbox and returns once the broker in them
// answers. They outlive this process: they are in a session of their own and
// have no parent-death signal.
func launch(ctx context.Context, spec launchSpec) (note, error) {
	cmd, info, cleanup, err := prepare(spec)
	if err != nil {
		return note{}, diskError(err)
	}
	defer info.Close()
	if err := closeOnExec(); err != nil {
		cleanup()
		return note{}, fmt.Errorf("close inherited descriptors: %w", err)
	}
	if err := cmd.Start(); err != nil {
		cleanup()
		return note{}, sdk.Errorf(sdk.CodeHostUnsupported, "start %s as uid %d: %w", spec.tool.path, spec.owner.uid, err)
	}
	// Ours must close, or the info pipe and the lock never end.
	cleanup()
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()

	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("the broker did not answer in time"))
	defer cancel()
	info.SetReadDeadline(time.Now().Add(readyTimeout))
	initPID, err := readInfo(info)
	if err == nil {
		err = ping(ctx, spec.dir)
	}
	if err != nil {
		select {
		case <-ended:
		case <-time.After(time.Second):
			// It still runs: not bwrap's refusal, and Destroy will end it.
			return note{}, sdk.Errorf(sdk.CodeBackendFailed, "start the namespaces: %w", err)
		}
		if !time.Now().Before(spec.expires) {
			return note{}, sdk.Errorf(sdk.CodeSandboxExpired, "the time to live was over before the sandbox was ready").
				WithHint("give a longer time to live")
		}
		said, _ := os.ReadFile(spec.dir.log())
		return note{}, diagnose(string(said), readSetting)
	}
	var n note
	if n.Init, err = proc.Of(initPID); err == nil {
		n.Monitor, err = proc.Of(cmd.Process.Pid)
	}
	if err != nil {
		return note{}, sdk.Errorf(sdk.CodeBackendFailed, "the namespaces ended at once: %w", err)
	}
	return n, nil
}

// prepare readies the command, everything it inherits, and the reading end of
// bwrap's info pipe. Cleanup closes this side's copies of what it inherits.
func prepare(spec launchSpec) (cmd *exec.Cmd, info *os.File, cleanup func(), err error) {
	var inherited []*os.File
	cleanup = func() {
		for _, f := range inherited {
			f.Close()
		}
	}
	defer func() {
		if err != nil {
			cleanup()
			cleanup = nil
		}
	}()
	keep := func(f *os.File, err error) error {
		if err == nil {
			inherited = append(inherited, f)
		}
		return err
	}
	if err := keep(brokerclient.Listen(string(spec.dir))); err != nil {
		return nil, nil, nil, err
	}
	if err := keep(dup(spec.lock)); err != nil {
		return nil, nil, nil, err
	}
	v := view{
		dir: spec.dir, source: spec.source, broker: spec.program, options: spec.tool.options,
		system: systemMounts(topLevel, etcDirs), firstFD: 3 + len(inherited),
	}
	for _, f := range openSystemFiles(etcFiles) {
		inherited = append(inherited, f)
		v.files = append(v.files, f.Name())
	}
	for _, f := range syntheticFiles() {
		if err := keep(memfd(f.path, f.content)); err != nil {
			return nil, nil, nil, err
		}
		v.files = append(v.files, f.path)
	}
	info, w, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	inherited = append(inherited, w)
	v.infoFD = 3 + len(inherited) - 1
	// The options go by descriptor: an argument vector is public.
	if err := keep(memfd("args", strings.Join(v.args(), "\x00"))); err != nil {
		info.Close()
		return nil, nil, nil, err
	}
	log, err := os.OpenFile(spec.dir.log(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		info.Close()
		return nil, nil, nil, err
	}
	argsFD := strconv.Itoa(3 + len(inherited) - 1)
	cmd = exec.Command(spec.tool.path, append([]string{"--args", argsFD, "--"}, command(spec.id, spec.expires.UnixMilli())...)...)
	cmd.Args[0] = "bwrap"
	cmd.Dir = "/"
	cmd.Env = []string{}
	cmd.ExtraFiles = inherited
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if spec.owner.switched {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(spec.owner.uid), Gid: uint32(spec.owner.gid)}
	}
	inherited = append(inherited, log)
	return cmd, info, cleanup, nil
}

// closeOnExec keeps every descriptor of this process but those handed over on
// purpose out of the namespaces. One that came without the flag from whoever
// started us would be open to each command, and keep a pipe of theirs open for
// the life of the sandbox.
func closeOnExec() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	// Linux before 5.11.
	entries, err := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// lockAlive takes the lock that tells whether the sandbox lives. It belongs to
// the open file, which the broker inherits.
func lockAlive(dir sandboxDir) (*os.File, error) {
	f, err := os.OpenFile(dir.alive(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// dup returns another descriptor of the same open file.
func dup(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(rawFD(f), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// memfd returns an anonymous file with content, to be read from its start.
func memfd(name, content string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteString(content); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readInfo returns the pid that bwrap reports for pid 1 of the namespaces.
func readInfo(r io.Reader) (int, error) {
	var info struct {
		ChildPID int `json:"child-pid"`
	}
	if err := json.NewDecoder(r).Decode(&info); err != nil {
		return 0, err
	}
	if info.ChildPID <= 0 {
		return 0, errors.New("bwrap reported no child")
	}
	return info.ChildPID, nil
}

// ping waits for the broker's first answer. A dying bwrap closes the socket,
// which ends the wait.
func ping(ctx context.Context, dir sandboxDir) error {
	c, err := brokerclient.Dial(string(dir))
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Ping(ctx)
}
