package main

import (
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/tegwick/sand-boxer/sdk"
)

const (
	// firstHanded is the descriptor of the first socket that systemd hands
	// over.
	firstHanded = 3
	maxHanded   = 64
)

// activated returns the sockets that systemd hands over to this process, and
// takes them out of the environment.
func activated() ([]net.Listener, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if pid != strconv.Itoa(os.Getpid()) {
		return nil, nil // none, or those of another process
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxHanded {
		return nil, sdk.Errorf(sdk.CodeHostUnsupported, "LISTEN_FDS is not a number of sockets up to %d", maxHanded)
	}
	var listeners []net.Listener
	for fd := firstHanded; fd < firstHanded+n; fd++ {
		syscall.CloseOnExec(fd)
		f := os.NewFile(uintptr(fd), "systemd socket "+strconv.Itoa(fd))
		l, err := net.FileListener(f) // a duplicate
		f.Close()
		if err != nil {
			for _, open := range listeners {
				open.Close()
			}
			return nil, sdk.Errorf(sdk.CodeHostUnsupported, "descriptor %d, which systemd handed over, is not a listening socket: %w", fd, err).
				WithHint("use ListenStream= and Accept=no in the socket unit")
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}
