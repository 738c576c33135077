// Package client calls the owner API of a sandboxer service, and hands a harness
// the transport that its commands cross into a sandbox. It depends on the
// standard library and on the objects of the API alone.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Bounds of a connection.
const (
	defaultTimeout = 30 * time.Second
	dialTimeout    = 10 * time.Second
	// idleTimeout is well below that of the service, so that no request meets
	// a connection which the service is about to close.
	idleTimeout    = 15 * time.Second
	maxHeaderBytes = 64 << 10
)

// Options are how a service is talked to. The zero value is of use.
type Options struct {
	// Token is the bearer: exec needs it, and over TCP everything else does.
	// It is sent to the address of the client alone and is in no error.
	Token string
	// CAFile names a PEM file of the authorities that may vouch for an
	// https:// service, in place of those of the system.
	CAFile string
	// Timeout bounds a call that has no work to wait for, as Get and List;
	// 0 is 30 seconds. CreateSandbox, Exec and Destroy end with their
	// context.
	Timeout time.Duration
}

// Client calls one service. Its methods may be called from several goroutines.
//
// A refusal of the service is an [*apitype.Problem]. Every other error means
// that there is no answer to trust: a [*ConnectError] that nothing was sent. No
// call is made twice, no redirect is followed and no proxy is used. When the
// context of a call ends, its connection is closed, and the service ends the
// command or the create that it was for.
type Client struct {
	addr    string
	base    string
	token   string
	timeout time.Duration
	http    *http.Client
}

// New returns a client of the service at addr: unix:///path, http://host:port or
// https://host:port. It does not connect.
func New(addr string, o Options) (*Client, error) {
	a, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token holds a space, a line break or another character that no bearer has")
	}
	c := &Client{addr: addr, base: a.base, token: o.Token, timeout: o.Timeout}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	t := &http.Transport{
		DialContext: c.dialer(a), IdleConnTimeout: idleTimeout, TLSHandshakeTimeout: dialTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true,
	}
	if o.CAFile != "" {
		if t.TLSClientConfig, err = trust(o.CAFile); err != nil {
			return nil, err
		}
	}
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// Close closes the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Addr is the address that the client was made for.
func (c *Client) Addr() string { return c.addr }

// ConnectError says that there is no connection to the service. Nothing was
// sent.
type ConnectError struct {
	Addr string
	err  error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("no service can be reached at %s: %v", e.Addr, e.err)
}

func (e *ConnectError) Unwrap() error { return e.err }

func (c *Client) dialer(a address) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if a.socket != "" {
			network, addr = "unix", a.socket
		}
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
				err = op.Err // without the address, which is said already
			}
			return nil, &ConnectError{c.addr, err}
		}
		return conn, nil
	}
}

func trust(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
