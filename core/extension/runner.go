package extension

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
	"golang.org/x/sys/unix"
)

// pipeDrain is how long after its end what a plugin wrote is waited for. Only a
// process that left its group and holds the pipe makes it count.
const pipeDrain = 100 * time.Millisecond

// processRunner runs a plugin's process for go-plugin. The process leads a
// session of its own, so it has no terminal and the host's signals from one do
// not reach it; it dies with the host; and whatever else is in its group dies
// with it.
type processRunner struct {
	binary *binary
	name   string
	env    []string
	// sockets is the directory in which the plugin listens; go-plugin makes it.
	sockets string

	stdout *handshakeReader
	stderr *logReader
	words  lastWords
	pipes  [2]*os.File // read ends of stdout and stderr

	done chan struct{} // closed when the process is reaped

	mu       sync.Mutex
	pid      int // 0 before the start and after the reap
	killed   bool
	startErr error
	state    *os.ProcessState
	ended    time.Time
}

var _ runner.Runner = (*processRunner)(nil)

func newProcessRunner(b *binary, name string) *processRunner {
	return &processRunner{binary: b, name: name, done: make(chan struct{})}
}

// prepare sets what go-plugin knows only when it is about to start.
func (r *processRunner) prepare(env []string, sockets string) {
	r.env, r.sockets = env, sockets
}

// Start returns when the program runs.
func (r *processRunner) Start(context.Context) error {
	var write [2]*os.File
	for i := range r.pipes {
		var err error
		if r.pipes[i], write[i], err = os.Pipe(); err != nil {
			return r.failStart(err, write[:])
		}
	}
	r.stdout = &handshakeReader{pipe: r.pipes[0], check: func(line string) error {
		return checkHandshakeLine(line, r.name, r.sockets)
	}}
	r.stderr = newLogReader(r.pipes[1], &r.words)

	cmd := &exec.Cmd{
		Path:   r.binary.execPath(),
		Args:   []string{r.binary.path},
		Env:    r.env,
		Dir:    "/",
		Stdout: write[0],
		Stderr: write[1],
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:    true,
			Pdeathsig: syscall.SIGKILL,
		},
	}
	started := make(chan error)
	go r.own(cmd, started)
	if err := <-started; err != nil {
		return r.failStart(err, write[:])
	}
	closeAll(write[:])
	return nil
}

func (r *processRunner) failStart(err error, write []*os.File) error {
	closeAll(write)
	closeAll(r.pipes[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startErr = err
	return err
}

// own starts the process, waits for it and reaps it, all on one thread: the
// kernel kills the plugin when the thread that started it ends.
func (r *processRunner) own(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	err := cmd.Start()
	if err != nil {
		close(r.done)
		started <- err
		return
	}
	r.mu.Lock()
	r.pid = cmd.Process.Pid
	if r.killed {
		r.killGroup()
	}
	r.mu.Unlock()
	started <- nil

	awaitEnd(cmd.Process.Pid)
	r.mu.Lock()
	// The leader is not reaped yet, so its group is still its own.
	r.killGroup()
	_ = cmd.Wait() // state has it
	r.state, r.ended = cmd.ProcessState, time.Now()
	r.pid = 0
	r.mu.Unlock()

	for _, pipe := range r.pipes {
		_ = pipe.SetReadDeadline(time.Now().Add(pipeDrain))
	}
	close(r.done)
}

// awaitEnd returns when the process has ended, and leaves it to be reaped.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// kill ends the process and its group at once, also when it is stopped or about
// to start. It does not wait.
func (r *processRunner) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != nil {
		return // it ended by itself, and that is what is told
	}
	r.killed = true
	r.killGroup()
}

// killGroup is called with mu held: no pid is signaled after its reap.
func (r *processRunner) killGroup() {
	if r.pid != 0 {
		_ = syscall.Kill(-r.pid, syscall.SIGKILL)
	}
}

// end tells how the process ended, "" while it runs or when it never did; what
// it said last; and whether the host killed it.
func (r *processRunner) end() (how, words string, killed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != nil {
		how = r.state.String()
	}
	return how, r.words.String(), r.killed
}

// endedAt is meaningful once done is closed.
func (r *processRunner) endedAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// startError returns why the program could not be run.
func (r *processRunner) startError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.startErr
}

// printed returns the first line of stdout as far as it came, and what is
// wrong with it.
func (r *processRunner) printed() (line string, err error) {
	if r.stdout == nil {
		return "", nil
	}
	return r.stdout.printed()
}

// close releases what Start opened, once nobody reads any more.
func (r *processRunner) close() { closeAll(r.pipes[:]) }

func (r *processRunner) Kill(context.Context) error {
	r.kill()
	return nil
}

// Wait returns an error when the process failed by itself.
func (r *processRunner) Wait(context.Context) error {
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed || r.state == nil || r.state.Success() {
		return nil
	}
	return fmt.Errorf("the process ended: %s", r.state)
}

// ID is empty before the start.
func (r *processRunner) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state != nil:
		return strconv.Itoa(r.state.Pid())
	case r.pid != 0:
		return strconv.Itoa(r.pid)
	}
	return ""
}

func (r *processRunner) Stdout() io.ReadCloser { return io.NopCloser(r.stdout) }
func (r *processRunner) Stderr() io.ReadCloser { return io.NopCloser(r.stderr) }
func (r *processRunner) Name() string          { return r.binary.path }

func (r *processRunner) Diagnose(context.Context) string { return "" }

func (r *processRunner) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (r *processRunner) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
