package main

import (
	"net"
	"os"
	"strings"
)

// notify tells systemd the state of the service, where systemd asked for it. It
// cannot matter to the service whether somebody listens.
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if name, ok := strings.CutPrefix(path, "@"); ok {
		path = "\x00" + name // the abstract namespace
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}
