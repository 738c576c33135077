package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/tegwick/sand-boxer/sdk"
)

// guard refuses what a browser sends for a page: nobody else sends an Origin, and
// a name that was bound anew to this address shows in Host.
func (s *server) guard(r *http.Request) error {
	if _, ok := r.Header["Origin"]; ok {
		return sdk.Errorf(codeForbiddenOrigin, "a request with an Origin header comes from a web page, which may not use this service").
			WithHint("send it without the Origin header")
	}
	if !s.isOurHost(r) {
		return sdk.Errorf(codeMisdirected, "the Host header names none of this service's hosts").
			WithHint("use the address that the service printed at its start")
	}
	return nil
}

// isOurHost tells whether Host is a name of the listener that the request came
// in by.
func (s *server) isOurHost(r *http.Request) bool {
	addr := localAddr(r)
	if addr == nil {
		return false
	}
	if addr.Network() == "unix" {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		return host == "" || host == "localhost" || host == "sandboxer"
	}
	host, port := splitHost(r)
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil || port != strconv.Itoa(int(at.Port())) {
		return false
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		ip, here := ip.Unmap(), at.Addr().Unmap().WithZone("")
		return ip == here || ip.IsLoopback() && here.IsLoopback()
	}
	return strings.EqualFold(host, "localhost") || s.IsOurHost != nil && s.IsOurHost(host)
}

// splitHost splits Host; without a port it means that of the protocol.
func splitHost(r *http.Request) (host, port string) {
	if host, port, err := net.SplitHostPort(r.Host); err == nil {
		return host, port
	}
	if r.TLS != nil {
		return r.Host, "443"
	}
	return r.Host, "80"
}

// localAddr is the address that the connection was made to; http.Server puts it
// into the context.
func localAddr(r *http.Request) net.Addr {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return addr
}

// overUnix tells whether a request came over the Unix socket, whose listener has
// checked who is at the other end.
func overUnix(r *http.Request) bool {
	addr := localAddr(r)
	return addr != nil && addr.Network() == "unix"
}

// clientOf names the other end in the log.
func clientOf(r *http.Request) string {
	if overUnix(r) {
		return "unix"
	}
	return r.RemoteAddr
}

// admit checks the bearer where the route or the listener asks for it.
func (s *server) admit(x *exchange, a access) error {
	if a == anybody || a == local && overUnix(x.request) {
		return nil
	}
	if s.Token == "" && a == bearer {
		return sdk.Errorf(codeExecDisabled, "exec over HTTP is disabled: the service has no token").
			WithHint("start the service with SANDBOXER_EXEC_TOKEN_FILE")
	}
	if s.Token == "" {
		return sdk.Errorf(codeUnauthenticated, "the service has no token, so that nothing but /healthz is served over TCP").
			WithHint("start the service with SANDBOXER_EXEC_TOKEN_FILE, or use its Unix socket")
	}
	if !s.hasToken(x.request) {
		return sdk.Errorf(codeUnauthenticated, "the bearer token is missing or wrong").
			WithHint("send the service's token as Authorization: Bearer TOKEN")
	}
	return nil
}

// hasToken compares in constant time, whatever the length of what was sent.
func (s *server) hasToken(r *http.Request) bool {
	sent := r.Header["Authorization"]
	if len(sent) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	hash := sha256.Sum256([]byte(strings.Trim(token, " ")))
	same := subtle.ConstantTimeCompare(hash[:], s.tokenHash[:]) == 1
	return same && strings.EqualFold(scheme, "bearer")
}
