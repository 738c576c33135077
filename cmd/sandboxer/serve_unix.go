package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// socketPath is the path of the Unix socket where asked is empty.
func socketPath(asked, stateDir string) (string, error) {
	if asked != "" {
		return filepath.Abs(asked)
	}
	if os.Geteuid() == 0 {
		return "/run/sandboxer/sandboxer.sock", nil
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sandboxer/sandboxer.sock"), nil
	}
	return filepath.Join(stateDir, "sandboxer.sock"), nil
}

// listenUnix listens on a socket that only this user may connect to. What a
// service that died left at the path is replaced.
func listenUnix(path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, sdk.Errorf(sdk.CodeHostUnsupported, "cannot make the directory of the socket: %w", err).
			WithHint("give --socket a path where you may write")
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// From its first moment on it is closed to others.
	old := syscall.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, sdk.Errorf(sdk.CodeHostUnsupported, "cannot listen on %s: %w", path, err).
			WithHint("give --socket a shorter path, or one where you may write")
	}
	return l, nil
}

// removeStale removes a socket of ours at which nobody answers.
func removeStale(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sdk.Errorf(sdk.CodeHostUnsupported, "cannot look at the socket: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if fi.Mode().Type() != fs.ModeSocket || !ok || int(st.Uid) != os.Geteuid() {
		return sdk.Errorf(sdk.CodeHostUnsupported, "%s is in the way: it is not a socket of this user", path).
			WithHint("remove it, or give --socket another path")
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return sdk.Errorf(sdk.CodeHostUnsupported, "another service listens on %s", path).
			WithHint("end it first, or give --socket another path")
	}
	if err := os.Remove(path); err != nil {
		return sdk.Errorf(sdk.CodeHostUnsupported, "cannot remove the socket of a service that died: %w", err)
	}
	return nil
}

// peerListener accepts connections of its own user and of root alone. The mode
// of the socket keeps others out too; this holds where somebody changed it.
type peerListener struct {
	*net.UnixListener
	log hclog.Logger
}

// Accept returns the next connection that may come in.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(conn)
		if err == nil && (uid == 0 || int(uid) == os.Geteuid()) {
			return conn, nil
		}
		l.log.Warn("refused a connection to the socket", "uid", uid, "error", err)
		conn.Close()
	}
}

// peerUID asks the kernel who made the connection.
func peerUID(conn *net.UnixConn) (uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(cerr, err); err != nil {
		return 0, err
	}
	return cred.Uid, nil
}
