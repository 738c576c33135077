package client

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxSocketPath is the longest path of a Unix socket on Linux.
const maxSocketPath = 107

// address is where a service listens.
type address struct {
	// base is what the path of a request is appended to.
	base string
	// socket is the path of a Unix socket, "" for TCP.
	socket string
}

func parseAddress(addr string) (address, error) {
	scheme, rest, found := strings.Cut(addr, "://")
	switch {
	case found && scheme == "unix":
		return parseSocket(rest)
	case found && (scheme == "http" || scheme == "https"):
		return parseURL(addr)
	case strings.HasPrefix(addr, "/"):
		return address{}, fmt.Errorf("the address %q has no scheme: write unix://%s", addr, addr)
	case !found && addr != "":
		return address{}, fmt.Errorf("the address %q has no scheme: write unix:///path, http://host:port or https://host:port", addr)
	}
	return address{}, errors.New("the address is none of unix:///path, http://host:port and https://host:port")
}

func parseSocket(path string) (address, error) {
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/"):
		return address{}, fmt.Errorf("the address unix://%s does not name a socket by its absolute path: write unix:///path", path)
	case len(path) > maxSocketPath || strings.Contains(path, "\x00"):
		return address{}, fmt.Errorf("the path of the socket is longer than the %d bytes that a socket may have, or holds a NUL byte", maxSocketPath)
	}
	// The service knows the host of its socket by this name.
	return address{base: "http://localhost", socket: path}, nil
}

// parseURL never repeats an address that it refuses: it may hold a password.
func parseURL(addr string) (address, error) {
	u, err := url.Parse(addr)
	switch {
	case err != nil || u.Hostname() == "":
		return address{}, errors.New("the address is not a URL: write http://host:port or https://host:port")
	case u.User != nil:
		return address{}, errors.New("the address holds a user or a password; the service takes a token alone")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return address{}, errors.New("the address has more than a host and a port: write http://host:port or https://host:port")
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
		return address{}, fmt.Errorf("the port %s of the address is not one of 1 to 65535", u.Port())
	}
	return address{base: u.Scheme + "://" + u.Host}, nil
}
