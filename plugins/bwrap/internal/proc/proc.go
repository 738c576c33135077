// Package proc names, proves and ends processes of this machine.
//
// A pid alone names nothing: it is recycled. An [ID] adds the start time and
// the boot, and [ID.Open] hands out a pidfd only for the very process that the
// ID was taken of.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone says that the process of an ID has ended.
var ErrGone = errors.New("process has ended")

// ID names one process for good.
type ID struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks after boot: field 22 of
	// /proc/PID/stat, see proc_pid_stat(5).
	Start uint64 `json:"start"`
	// Boot is the kernel's random id of this boot.
	Boot string `json:"boot"`
}

// IsZero reports whether id names no process.
func (id ID) IsZero() bool { return id.PID == 0 }

// BootID returns the id of this boot.
var BootID = sync.OnceValues(func() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
})

// Of returns the ID of the process that has pid now, or ErrGone.
func Of(pid int) (ID, error) {
	boot, err := BootID()
	if err != nil {
		return ID{}, err
	}
	start, _, err := readStat(pid)
	if err != nil {
		return ID{}, err
	}
	return ID{PID: pid, Start: start, Boot: boot}, nil
}

// Alive reports whether the process still runs. A zombie does not.
func (id ID) Alive() bool {
	if boot, err := BootID(); err != nil || boot != id.Boot || id.IsZero() {
		return false
	}
	start, state, err := readStat(id.PID)
	return err == nil && start == id.Start && state != 'Z' && state != 'X'
}

// Open returns a pidfd on the process, proven to be the one that id names, or
// ErrGone. The caller closes it.
func (id ID) Open() (*Process, error) {
	if id.IsZero() {
		return nil, ErrGone
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", id.PID, err)
	}
	// The descriptor is pinned to one process; only now is the proof worth
	// anything.
	if !id.Alive() {
		unix.Close(fd)
		return nil, ErrGone
	}
	return &Process{fd: fd, pid: id.PID}, nil
}

// Process is an open pidfd.
type Process struct{ fd, pid int }

// Close releases the descriptor; the process goes on.
func (p *Process) Close() error { return unix.Close(p.fd) }

// Kill sends SIGKILL. A process that has ended is no error.
func (p *Process) Kill() error {
	err := unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// Wait returns nil when the process has ended, or an error when it still runs
// after timeout.
func (p *Process) Wait(timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	for {
		left := time.Until(deadline)
		n, err := unix.Poll(fds, int(max(left, 0).Milliseconds()))
		switch {
		case n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		case left <= 0:
			return fmt.Errorf("process %d still runs after %v", p.pid, timeout)
		}
	}
}

// readStat returns the start time and the state letter of pid.
func readStat(pid int) (start uint64, state byte, err error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return 0, 0, ErrGone
	}
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold anything; the last one ends it.
	i := bytes.LastIndexByte(b, ')')
	f := bytes.Fields(b[i+1:])
	if i < 0 || len(f) < 20 {
		return 0, 0, fmt.Errorf("read /proc/%d/stat: unexpected format", pid)
	}
	start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return start, f[0][0], err
}
