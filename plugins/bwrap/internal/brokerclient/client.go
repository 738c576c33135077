// Package brokerclient talks to the broker of a sandbox from outside.
package brokerclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/broker"
)

// SocketName is the name of the broker's socket in the sandbox's directory.
const SocketName = "broker.sock"

// ErrGone says that no broker answers: the sandbox's namespaces have ended.
var ErrGone = errors.New("the sandbox's namespaces have ended")

// Listen makes the socket that a broker inherits, in dir. The caller closes
// the file once the broker has it.
func Listen(dir string) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: shortPath(d), Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(filepath.Join(dir, SocketName), 0o600); err != nil {
		return nil, err
	}
	return l.File()
}

// Client is one conversation with a broker.
type Client struct{ conn *net.UnixConn }

// Dial connects to the broker of the sandbox in dir, or returns ErrGone. The
// caller closes the client.
func Dial(dir string) (*Client, error) {
	d, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: shortPath(d), Net: "unix"})
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	return &Client{conn}, nil
}

// shortPath names the socket in d in a way that fits the 107 bytes of a socket
// address whatever the length of d's path.
func shortPath(d *os.File) string {
	return "/proc/self/fd/" + strconv.Itoa(int(d.Fd())) + "/" + SocketName
}

// Close ends the conversation. A running command is ended by the broker.
func (c *Client) Close() error { return c.conn.Close() }

// Ping returns nil when the broker answers before ctx ends.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.call(ctx, broker.Request{Op: broker.OpPing})
	return err
}

// Renew moves the expiry.
func (c *Client) Renew(ctx context.Context, expires time.Time) error {
	_, err := c.call(ctx, broker.Request{Op: broker.OpRenew, Expires: expires.UnixMilli()})
	return err
}

// Start sends a command and its three descriptors; the caller's copies stay
// open. Result tells how it ended.
func (c *Client) Start(x broker.Exec, fds [3]int) error {
	return c.send(broker.Request{Op: broker.OpExec, Exec: &x}, syscall.UnixRights(fds[:]...))
}

// Cancel asks the broker to end the running command. Result still follows.
func (c *Client) Cancel() { c.conn.Write([]byte{0}) }

// Result waits for the end of the command that Start sent. It returns ErrGone
// when the broker ends without a result.
func (c *Client) Result() (broker.Result, error) {
	r, err := c.receive()
	if err != nil {
		return broker.Result{}, err
	}
	if r.Result == nil {
		return broker.Result{}, errors.New("the broker's reply has no result")
	}
	return *r.Result, nil
}

func (c *Client) call(ctx context.Context, req broker.Request) (broker.Reply, error) {
	stop := context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := c.send(req, nil); err != nil {
		return broker.Reply{}, err
	}
	r, err := c.receive()
	if ctx.Err() != nil {
		return broker.Reply{}, fmt.Errorf("wait for the broker: %w", context.Cause(ctx))
	}
	return r, err
}

func (c *Client) send(req broker.Request, oob []byte) error {
	b, err := broker.Encode(req)
	if err != nil {
		return err
	}
	n, _, err := c.conn.WriteMsgUnix(b, oob, nil)
	if err == nil && n < len(b) {
		_, err = c.conn.Write(b[n:])
	}
	return gone(err)
}

func (c *Client) receive() (broker.Reply, error) {
	var r broker.Reply
	if err := broker.Decode(c.conn, &r); err != nil {
		return broker.Reply{}, gone(err)
	}
	if r.Error != "" {
		return broker.Reply{}, errors.New("the broker refused: " + r.Error)
	}
	return r, nil
}

// gone turns the ways in which a peer vanishes into ErrGone.
func gone(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrGone
	}
	return err
}
