package broker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// expiryCheck is how often the wall clock is read. Timers of the runtime stand
// still while the machine sleeps; the expiry does not.
const expiryCheck = 15 * time.Second

// server is the broker's state.
type server struct {
	// running is held by the one command that may run.
	running sync.Mutex
	// current ends the running command; nil when there is none.
	current atomic.Pointer[command]
	// expires is in Unix milliseconds.
	expires atomic.Int64
	renewed chan struct{}
}

// Main runs the broker with the arguments after Arg0, in the calling goroutine,
// and never returns.
func Main(args []string) {
	if err := serve(args); err != nil {
		fmt.Fprintln(os.Stderr, "sandboxer-broker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(args []string) error {
	if len(args) != 2 {
		return errors.New("want a sandbox id and an expiry")
	}
	expires, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	if err := harden(); err != nil {
		return err
	}
	if err := syscall.SetNonblock(ListenerFD, false); err != nil {
		return err
	}
	s := &server{renewed: make(chan struct{}, 1)}
	s.expires.Store(expires)
	go s.accept(ListenerFD)
	s.untilExpiry()
	return nil
}

// harden makes pid 1 of the namespace deaf and opaque to what runs inside.
func harden() error {
	// Pid 1 is shielded only from signals without a handler, and the runtime
	// has handlers. A channel that nobody reads discards; signal.Ignore would
	// be inherited by the commands.
	signal.Notify(make(chan os.Signal, 1))
	// Not dumpable: no ptrace, no /proc/1/mem, no /proc/1/environ for a
	// process of the same uid.
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); e != 0 {
		return fmt.Errorf("prctl PR_SET_DUMPABLE: %w", e)
	}
	// A core dump may start the host's handler, outside the sandbox.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("setrlimit RLIMIT_CORE: %w", err)
	}
	syscall.CloseOnExec(ListenerFD)
	syscall.CloseOnExec(AliveFD)
	syscall.Umask(0o022)
	// What started the namespace is not to be held open by it.
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// accept serves one connection, and leaves the next to another goroutine: the
// command of this one then starts without a switch of threads.
func (s *server) accept(l listener) {
	c, err := l.accept()
	for err != nil {
		// Out of descriptors, most likely: nothing to answer to.
		time.Sleep(10 * time.Millisecond)
		c, err = l.accept()
	}
	go s.accept(l)
	s.handle(c)
}

// untilExpiry returns when the sandbox has expired and its command, if any,
// has been ended and answered.
func (s *server) untilExpiry() {
	for {
		left := time.Until(time.UnixMilli(s.expires.Load()))
		if left <= 0 {
			break
		}
		select {
		case <-time.After(min(left, expiryCheck)):
		case <-s.renewed:
		}
	}
	if c := s.current.Load(); c != nil {
		c.end(CauseDeadline)
	}
	s.running.Lock()
	killAll(syscall.SIGKILL)
}

func (s *server) handle(c *conn) {
	defer c.close()
	var req Request
	fds, err := receive(c, &req)
	if err != nil || req.Op != OpExec {
		closeAll(fds)
	}
	if err != nil {
		return
	}
	var r Reply
	switch {
	case req.Op == OpPing:
	case req.Op == OpRenew:
		s.expires.Store(req.Expires)
		select {
		case s.renewed <- struct{}{}:
		default:
		}
	case req.Op == OpExec && req.Exec != nil && len(fds) == 3 && len(req.Exec.Argv) > 0:
		// Held until the reply is written: the broker ends only between
		// commands.
		s.running.Lock()
		defer s.running.Unlock()
		res := s.run(c, req.Exec, fds)
		r.Result = &res
	default:
		if req.Op == OpExec {
			closeAll(fds)
		}
		r.Error = "malformed request"
	}
	if b, err := Encode(r); err == nil {
		c.Write(b)
	}
}

// receive reads one request and the descriptors that came with its first
// bytes, which are the caller's to close.
func receive(c *conn, req *Request) (fds []int, err error) {
	var head [4]byte
	n, fds, err := c.readHead(head[:])
	if err != nil {
		return fds, err
	}
	if _, err := io.ReadFull(c, head[n:]); err != nil {
		return fds, err
	}
	return fds, decodeBody(c, head, req)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}
