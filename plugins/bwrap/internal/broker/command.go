package broker

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// command is the one running command.
type command struct {
	grace time.Duration
	// cause is set once, by whoever ends the command first.
	cause atomic.Int32

	mu   sync.Mutex
	done bool
	kill *time.Timer
}

// run starts x, waits for it and for everything it started, and says how it
// ended. It closes fds. The caller holds s.running.
func (s *server) run(client *conn, x *Exec, fds []int) Result {
	c := &command{grace: time.Duration(x.GraceMS) * time.Millisecond}
	s.current.Store(c)
	defer s.current.Store(nil)

	env := toStrings(x.Env)
	argv := toStrings(x.Argv)
	path, found, errno := lookup(argv[0], x.Dir, env)
	var pid int
	if errno == 0 {
		pid, errno = start(path, argv, env, x.Dir, fds)
	}
	// The writing ends must be the command's alone, or its output never ends.
	closeAll(fds)
	if errno != 0 {
		return Result{StartErrno: int(errno), Found: found, ExitCode: -1}
	}
	timer := time.AfterFunc(time.Until(time.UnixMilli(x.Deadline)), func() { c.end(CauseDeadline) })
	defer timer.Stop()
	client.readers.Go(func() { c.endWithClient(client) })

	status := waitFor(pid)
	c.finish()
	res := Result{Cause: Cause(c.cause.Load()), ExitCode: -1, Survivors: sweep()}
	if status.Signaled() {
		res.Signal = int(status.Signal())
	} else {
		res.ExitCode = status.ExitStatus()
	}
	return res
}

// end asks every process of the namespace to end and, after the grace, kills
// them all. The first cause counts.
func (c *command) end(cause Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done || !c.cause.CompareAndSwap(int32(CauseNone), int32(cause)) {
		return
	}
	killAll(syscall.SIGTERM)
	c.kill = time.AfterFunc(c.grace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.done {
			killAll(syscall.SIGKILL)
		}
	})
}

// finish marks the command's own end: from here on nothing is signalled on its
// behalf but by sweep.
func (c *command) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	if c.kill != nil {
		c.kill.Stop()
	}
}

// endWithClient ends the command when its client hangs up or sends a byte.
func (c *command) endWithClient(client *conn) {
	var b [1]byte
	client.Read(b[:])
	c.end(CauseCanceled)
}

func start(path string, argv, env []string, dir string, fds []int) (pid int, errno syscall.Errno) {
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir:   dir,
		Env:   env,
		Files: []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		return pid, 0
	}
	if e, ok := err.(syscall.Errno); ok {
		return 0, e
	}
	return 0, syscall.EINVAL
}

// waitFor reaps until the process pid has ended. Orphans that end meanwhile are
// reaped on the way.
func waitFor(pid int) syscall.WaitStatus {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		if got == pid {
			return ws
		}
		if err == syscall.ECHILD {
			// Cannot be: the command is a child that nobody else waits for.
			return ws
		}
	}
}

// sweep kills and reaps every process but the broker and returns how many were
// alive.
func sweep() (killed int) {
	for {
		killAll(syscall.SIGKILL)
		for {
			var ws syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &ws, 0, nil)
			if err == syscall.ECHILD {
				return killed
			}
			if pid > 0 && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
				killed++
			}
			if err == nil && pid > 0 {
				continue
			}
			break
		}
	}
}

// killAll signals every process of the namespace but the broker, which is its
// pid 1: see kill(2) on pid -1.
func killAll(sig syscall.Signal) { syscall.Kill(-1, sig) }

// lookup finds the file of a command as execvp(3) does: in PATH when it has no
// slash. Found is whether there is such a file at all.
func lookup(name, dir string, env []string) (path string, found bool, errno syscall.Errno) {
	if strings.Contains(name, "/") {
		p := name
		if !strings.HasPrefix(p, "/") {
			p = dir + "/" + p
		}
		_, err := os.Stat(p)
		return name, err == nil, 0
	}
	if name == "" {
		return "", false, syscall.ENOENT
	}
	errno = syscall.ENOENT
	for d := range strings.SplitSeq(pathOf(env), ":") {
		p := d + "/" + name
		fi, err := os.Stat(p)
		if err != nil || fi.IsDir() {
			continue
		}
		found = true
		if fi.Mode()&0o111 != 0 {
			return p, true, 0
		}
		errno = syscall.EACCES
	}
	return "", found, errno
}

func pathOf(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			return v
		}
	}
	return ""
}

func toStrings(bs [][]byte) []string {
	out := make([]string, len(bs))
	for i, b := range bs {
		out[i] = string(b)
	}
	return out
}
