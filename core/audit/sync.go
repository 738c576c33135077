package audit

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// syncDelay lets the events of a busy moment become one sync: a sync for each
// would take from the very commands that they tell of.
const syncDelay = 50 * time.Millisecond

// syncer brings a file to the disk behind the backs of its writers, syncDelay
// after a write at the latest.
type syncer struct {
	// want holds the file whose last write is not on the disk.
	want chan *os.File
	// hurry is closed when nobody writes any more.
	hurry chan struct{}
	done  chan struct{}

	mu  sync.Mutex
	err error // the first failure
}

func newSyncer() *syncer {
	s := &syncer{want: make(chan *os.File, 1), hurry: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for f := range s.want {
			select {
			case <-time.After(syncDelay):
			case <-s.hurry:
			}
			s.note(fdatasync(f))
		}
	}()
	return s
}

func fdatasync(f *os.File) error {
	defer runtime.KeepAlive(f)
	return syscall.Fdatasync(int(f.Fd()))
}

func (s *syncer) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// failed returns the first failure; nil for none.
func (s *syncer) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// soon has f synced. The caller holds the lock of the log.
func (s *syncer) soon(f *os.File) {
	for {
		select {
		case s.want <- f:
			return
		case waiting := <-s.want:
			// The same file: one sync covers both. Another one, which was
			// moved away, is synced here: that is rare.
			if waiting != f {
				s.note(fdatasync(waiting))
			}
		}
	}
}

// close waits for the last sync and returns the first failure.
func (s *syncer) close() error {
	close(s.hurry)
	close(s.want)
	<-s.done
	return errors.Join(s.failed())
}
