package main

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// pipeBytes is the size asked for of an output pipe: fewer switches between the
// command and its reader. The kernel may grant less; see fcntl(2), F_SETPIPE_SZ.
const pipeBytes = 1 << 20

// streams are the three streams of one command: the command's ends, and the
// goroutines that serve the others.
type streams struct {
	stdin          []byte
	in, out, err   *os.File // the command's ends
	feed           *os.File // nil when stdin is /dev/null
	stdout, stderr drainer
	wg             sync.WaitGroup
}

// openStreams makes the pipes. The caller closes the streams.
func openStreams(stdin []byte, out sdk.ExecOutput, limit int64) (*streams, error) {
	s := &streams{
		stdin:  stdin,
		stdout: drainer{to: out.Stdout, limit: limit},
		stderr: drainer{to: out.Stderr, limit: limit},
	}
	err := s.open()
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *streams) open() (err error) {
	if s.stdin == nil {
		s.in, err = os.Open(os.DevNull)
	} else {
		s.in, s.feed, err = os.Pipe()
	}
	if err != nil {
		return err
	}
	if s.stdout.from, s.out, err = os.Pipe(); err != nil {
		return err
	}
	s.stderr.from, s.err, err = os.Pipe()
	return err
}

// child returns the command's descriptors for the broker. Fd sets them to
// blocking mode, which is what a program expects of its streams.
func (s *streams) child() [3]int {
	return [3]int{int(s.in.Fd()), int(s.out.Fd()), int(s.err.Fd())}
}

// rawFD returns f's descriptor without turning f to blocking mode, as Fd would.
func rawFD(f *os.File) (fd uintptr) {
	c, err := f.SyscallConn()
	if err != nil {
		return ^uintptr(0)
	}
	c.Control(func(v uintptr) { fd = v })
	return fd
}

// start serves the streams. Call it once the command has its ends.
func (s *streams) start() {
	s.closeChild()
	s.wg.Go(s.stdout.run)
	s.wg.Go(s.stderr.run)
	if s.feed != nil {
		go func() {
			// A command that does not read its stdin is no error.
			s.feed.Write(s.stdin)
			s.feed.Close()
		}()
	}
}

// drain waits for the end of both outputs and returns what was produced on
// each. Call it when every process that could write is dead.
func (s *streams) drain(every time.Duration) (stdout, stderr int64, err error) {
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-time.After(every):
			s.stdout.stopIfIdle()
			s.stderr.stopIfIdle()
		}
	}
	return s.stdout.total, s.stderr.total, errors.Join(s.stdout.err, s.stderr.err)
}

func (s *streams) closeChild() { closeFiles(s.in, s.out, s.err) }

func (s *streams) close() {
	s.closeChild()
	closeFiles(s.feed, s.stdout.from, s.stderr.from)
}

func closeFiles(fs ...*os.File) {
	for _, f := range fs {
		if f != nil {
			f.Close()
		}
	}
}

// drainer reads one output to its end: the first limit bytes go on, the rest is
// counted and dropped.
type drainer struct {
	from  *os.File
	to    io.Writer
	limit int64

	total int64
	err   error
}

var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (d *drainer) run() {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for d.total < d.limit {
		n, err := d.from.Read(buf[:min(int64(len(buf)), d.limit-d.total)])
		if n > 0 {
			if d.total == 0 && n == len(buf) {
				growPipe(d.from)
			}
			d.total += int64(n)
			if _, werr := d.to.Write(buf[:n]); werr != nil {
				// Nobody listens any more; the command still must not block.
				break
			}
		}
		if err != nil {
			d.setErr(err)
			return
		}
	}
	d.discard()
}

// discard drops the rest of the output without copying it to this process.
func (d *drainer) discard() {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		d.err = err
		return
	}
	defer null.Close()
	conn, err := d.from.SyscallConn()
	if err != nil {
		d.err = err
		return
	}
	for {
		var n int64
		var serr error
		err := conn.Read(func(fd uintptr) bool {
			n, serr = unix.Splice(int(fd), nil, int(rawFD(null)), nil, pipeBytes, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
			return !errors.Is(serr, unix.EAGAIN)
		})
		switch {
		case err != nil:
			d.setErr(err)
			return
		case errors.Is(serr, unix.EINTR):
			continue
		case serr != nil:
			d.err = serr
			return
		case n == 0:
			return
		}
		d.total += n
	}
}

// stopIfIdle ends the reading of a pipe that holds nothing and still has a
// writing end: a descriptor on its way through a socket keeps one until the
// kernel collects it. A pipe with something in it only has a slow reader.
func (d *drainer) stopIfIdle() {
	fds := []unix.PollFd{{Fd: int32(rawFD(d.from)), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); n == 0 && err == nil {
		d.from.SetReadDeadline(time.Unix(1, 0))
	}
}

func (d *drainer) setErr(err error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		d.err = err
	}
}

func growPipe(f *os.File) {
	// Over the user's quota it fails, and the pipe stays as it is.
	unix.FcntlInt(rawFD(f), unix.F_SETPIPE_SZ, pipeBytes)
}
