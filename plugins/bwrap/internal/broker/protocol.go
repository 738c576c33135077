// Package broker is pid 1 of a sandbox's namespaces and the way to talk to it.
//
// [Main] runs inside: it inherits a listening Unix socket whose path exists
// only outside, starts one command at a time with the descriptors that the
// client passes, ends whatever the command leaves behind, and ends itself when
// the sandbox expires. Package brokerclient is the outside half. Output never
// passes through the broker.
//
// A conversation is one connection, one request frame and one reply frame. A
// frame is a length (4 bytes, big endian) and that many bytes of JSON.
//
// The package imports little of the standard library, not net above all: see
// reexec.go.
package broker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Descriptors that the broker inherits.
const (
	// ListenerFD is the listening socket.
	ListenerFD = 3
	// AliveFD is a locked file: while anybody holds the lock, the sandbox
	// lives.
	AliveFD = 4
)

// Arg0 is the first argument that makes the plugin binary a broker; the
// sandbox id and the expiry in Unix milliseconds follow. The id in the
// argument vector lets the process be found by id alone.
const Arg0 = "sandboxer-broker"

// maxFrame bounds a frame: an argument vector of 1 MiB, each byte of which
// JSON may write as six, and the environment.
const maxFrame = 8 << 20

// Op is what a request asks for.
type Op string

// The requests.
const (
	// OpPing asks for an empty reply.
	OpPing Op = "ping"
	// OpExec comes with three descriptors. One more byte, or the end of the
	// connection, cancels the command.
	OpExec Op = "exec"
	// OpRenew moves the expiry.
	OpRenew Op = "renew"
)

// Request is a request frame.
type Request struct {
	Op   Op    `json:"op"`
	Exec *Exec `json:"exec,omitempty"`
	// Expires is in Unix milliseconds.
	Expires int64 `json:"expires,omitempty"`
}

// Reply is a reply frame.
type Reply struct {
	Result *Result `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Exec is a command to run. Argument and environment strings are bytes to the
// kernel; JSON carries them as base64 so that none is altered.
type Exec struct {
	Argv [][]byte `json:"argv"`
	Env  [][]byte `json:"env"`
	Dir  string   `json:"dir"`
	// Deadline is in Unix milliseconds.
	Deadline int64 `json:"deadline"`
	// GraceMS is how long SIGTERM may take before SIGKILL.
	GraceMS int64 `json:"grace_ms"`
}

// Cause says why the broker ended a command.
type Cause int32

// The causes. The zero value: the command ended by itself.
const (
	CauseNone Cause = iota
	CauseDeadline
	CauseCanceled
)

// Result is how a command ended.
type Result struct {
	Cause Cause `json:"cause"`
	// StartErrno is not zero when the command did not start.
	StartErrno int `json:"start_errno,omitempty"`
	// Found is whether the file of a command that did not start exists.
	Found bool `json:"found,omitempty"`
	// ExitCode is -1 when a signal ended the command.
	ExitCode int `json:"exit_code"`
	Signal   int `json:"signal,omitempty"`
	// Survivors counts the processes killed after the command's end.
	Survivors int `json:"survivors"`
}

// Encode makes a frame.
func Encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes is over the bound of %d", len(body), maxFrame)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

// Decode reads a frame.
func Decode(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	return decodeBody(r, head, v)
}

func decodeBody(r io.Reader, head [4]byte, v any) error {
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return fmt.Errorf("a frame of %d bytes is over the bound of %d", n, maxFrame)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}
