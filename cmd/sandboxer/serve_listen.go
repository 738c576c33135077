package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/netutil"

	"github.com/tegwick/sand-boxer/sdk"
)

// maxConnections bounds each listener, so that strangers on TCP cannot keep the
// users of the Unix socket out.
const maxConnections = 512

// listeners are the sockets of a service.
type listeners struct {
	all []net.Listener
	// urls are their addresses, in the same order.
	urls []string
	// hosts are the names that were asked for, and certificate holds more.
	hosts       []string
	certificate *x509.Certificate
	// exposed is whether one is beyond the loopback interface without TLS.
	exposed bool

	tls *tls.Config
	log hclog.Logger
}

// open opens every socket. On an error none is left open.
func (f *serveFlags) open(stateDir string, log hclog.Logger) (_ *listeners, err error) {
	l := &listeners{log: log}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if f.tlsCert != "" {
		if err := l.loadTLS(f.tlsCert, f.tlsKey); err != nil {
			return nil, err
		}
	}
	handed, err := activated()
	if err != nil {
		return nil, err
	}
	for i, x := range handed {
		if err := l.addActivated(x, f.insecureListen); err != nil {
			for _, rest := range handed[i:] {
				rest.Close()
			}
			return nil, err
		}
	}
	if f.socket != "" || len(handed) == 0 {
		path, err := socketPath(f.socket, stateDir)
		if err != nil {
			return nil, err
		}
		x, err := listenUnix(path)
		if err != nil {
			return nil, err
		}
		l.addUnix(x)
	}
	for _, address := range f.listen {
		if err := l.listenTCP(address, f.insecureListen); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *listeners) loadTLS(cert, key string) error {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return sdk.Errorf(sdk.CodeInvalidRequest, "cannot use the TLS certificate %s with the key %s: %w", cert, key, err).
			WithHint("both are PEM files, and the key is that of the certificate")
	}
	l.certificate = pair.Leaf
	l.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	return nil
}

func (l *listeners) listenTCP(address string, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return sdk.Errorf(sdk.CodeInvalidRequest, "--listen %q is not HOST:PORT", address).WithHint("write it as 127.0.0.1:7040")
	}
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return sdk.Errorf(sdk.CodeInvalidRequest, "--listen %s: %w", address, err).WithHint("write it as 127.0.0.1:7040")
	}
	if err := l.checkExposed(resolved, insecure); err != nil {
		return err
	}
	x, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return sdk.Errorf(sdk.CodeHostUnsupported, "cannot listen on %s: %w", address, err).WithHint("use another port, or end what listens there")
	}
	l.hosts = append(l.hosts, host)
	l.addTCP(x)
	return nil
}

// checkExposed refuses to send the token in the clear to other machines.
func (l *listeners) checkExposed(addr *net.TCPAddr, insecure bool) error {
	if addr.IP.IsLoopback() || l.tls != nil {
		return nil
	}
	l.exposed = true
	if insecure {
		return nil
	}
	return sdk.Errorf(sdk.CodeInvalidRequest, "%s is beyond the loopback interface, and there is no TLS: the token could be read on the way", addr).
		WithHint("give --tls-cert and --tls-key, or listen on 127.0.0.1, or give --insecure-listen where something else encrypts")
}

func (l *listeners) addActivated(x net.Listener, insecure bool) error {
	switch x := x.(type) {
	case *net.UnixListener:
		l.addUnix(x)
		return nil
	case *net.TCPListener:
		if err := l.checkExposed(x.Addr().(*net.TCPAddr), insecure); err != nil {
			return err
		}
		l.addTCP(x)
		return nil
	}
	return sdk.Errorf(sdk.CodeHostUnsupported, "a socket that systemd handed over is neither TCP nor a Unix stream socket").
		WithHint("use ListenStream= in the socket unit")
}

func (l *listeners) addUnix(x *net.UnixListener) {
	l.all = append(l.all, netutil.LimitListener(&peerListener{UnixListener: x, log: l.log}, maxConnections))
	l.urls = append(l.urls, "unix://"+x.Addr().String())
}

func (l *listeners) addTCP(x *net.TCPListener) {
	limited := netutil.LimitListener(x, maxConnections)
	scheme := "http"
	if l.tls != nil {
		scheme, limited = "https", tls.NewListener(limited, l.tls)
	}
	l.all = append(l.all, limited)
	l.urls = append(l.urls, fmt.Sprintf("%s://%s", scheme, x.Addr()))
}

func (l *listeners) addresses() []string { return l.urls }

// isOurHost tells whether name was given to --listen or is in the certificate.
func (l *listeners) isOurHost(name string) bool {
	if l.certificate != nil && l.certificate.VerifyHostname(name) == nil {
		return true
	}
	return name != "" && slices.ContainsFunc(l.hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// close closes the sockets; those that are closed already stay so.
func (l *listeners) close() {
	for _, x := range l.all {
		if err := x.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			l.log.Error("close a listener", "address", x.Addr().String(), "error", err)
		}
	}
}
