package extension

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire"
)

const maxHandshakeLine = 4 << 10

// handshakeReader passes the first line of a plugin's stdout on when check
// likes it, and nothing else; what follows is read and dropped, so that a
// chatty plugin does not block.
type handshakeReader struct {
	pipe  io.Reader
	check func(line string) error

	out []byte // the line, as far as it was not passed on

	mu   sync.Mutex
	line []byte
	done bool // line is whole
	err  error
}

func (r *handshakeReader) Read(p []byte) (int, error) {
	if !r.done {
		if err := r.readLine(); err != nil {
			return 0, io.EOF
		}
		r.out = append(r.line, '\n')
	}
	if len(r.out) == 0 {
		_, _ = io.Copy(io.Discard, r.pipe)
		return 0, io.EOF
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// readLine reads and checks the first line.
func (r *handshakeReader) readLine() error {
	buf := make([]byte, 512)
	for {
		n, err := r.pipe.Read(buf)
		if done, lineErr := r.add(buf[:n], err); done {
			return lineErr
		}
	}
}

// add reports whether the line is whole, and what is wrong with it.
func (r *handshakeReader) add(data []byte, readErr error) (done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, _, found := bytes.Cut(data, []byte{'\n'})
	r.line = append(r.line, line...)
	if !found && readErr == nil && len(r.line) < maxHandshakeLine {
		return false, nil
	}
	r.done = true
	if len(r.line) == 0 && !found {
		return true, readErr // nothing was said
	}
	r.err = r.check(string(r.line))
	return true, r.err
}

// printed returns the first line as far as it came, and what is wrong with it.
func (r *handshakeReader) printed() (line string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.line), r.err
}

// checkHandshakeLine judges the line with which a plugin announces itself:
// CORE|MAJOR|NETWORK|ADDRESS|PROTOCOL|... socketDir is where its socket belongs;
// name is for the message.
func checkHandshakeLine(line, name, socketDir string) error {
	line = strings.TrimSpace(line)
	parts := strings.Split(line, "|")
	if len(parts) < 5 {
		return noExtension(name, line)
	}
	core, err1 := strconv.Atoi(parts[0])
	major, err2 := strconv.Atoi(parts[1])
	if err := errors.Join(err1, err2); err != nil {
		return noExtension(name, line)
	}
	if core != goplugin.CoreProtocolVersion || major != wire.ProtocolMajor {
		return sdk.Errorf(sdk.CodeVersionMismatch, "ext.%s speaks version %d of the extension protocol, this sandboxer version %d",
			name, major, wire.ProtocolMajor).
			WithHint("install a release of the extension that was built for this sandboxer")
	}
	if parts[4] != string(goplugin.ProtocolGRPC) {
		return invalid("ext.%s speaks %q where gRPC is needed", name, parts[4]).
			WithHint("the main of an extension calls wire.Serve and nothing else of go-plugin")
	}
	if parts[2] != "unix" || filepath.Dir(parts[3]) != socketDir {
		return invalid("ext.%s listens on %q, not in the directory that it was given", name, parts[3]).
			WithHint("the main of an extension calls wire.Serve and nothing else of go-plugin")
	}
	return nil
}

func noExtension(name, line string) error {
	const most = 80
	if len(line) > most {
		line = line[:most]
	}
	return invalid("ext.%s is no sand-boxer extension: it began with %q on its standard output", name, line).
		WithHint("if it is one, nothing in it may print before wire.Serve; otherwise remove it from the extension directory")
}
