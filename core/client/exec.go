package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// Bounds of the output of a command, in bytes of one stream: what is kept where
// the request does not say, and the most that it may ask for.
const (
	defaultOutputBytes = 256 << 10
	maxOutputBytes     = 16 << 20
)

// Exec runs one argument vector in a sandbox and returns how it ended; a command
// that fails is a result too. It is never run twice. When ctx ends before the
// command does, the service ends the command.
func (c *Client) Exec(ctx context.Context, id string, req apitype.ExecRequest) (apitype.ExecResult, error) {
	path, err := pathOf(id, "/exec")
	if err == nil {
		err = checkExecText(req)
	}
	if err != nil {
		return apitype.ExecResult{}, err
	}
	var r apitype.ExecResult
	err = c.do(ctx, call{method: http.MethodPost, path: path, body: req, answer: &r, limit: execLimit(req), long: true})
	if err != nil {
		return apitype.ExecResult{}, execError(err)
	}
	if err := c.checkResult(r); err != nil {
		return apitype.ExecResult{}, execError(err)
	}
	return r, c.checkID(id, r.SandboxID)
}

func checkExecText(req apitype.ExecRequest) error {
	for i, arg := range req.Command {
		if err := checkText(fmt.Sprintf("/command/%d", i), arg); err != nil {
			return err
		}
	}
	if req.StdinText != nil {
		return checkText("/stdin_text", *req.StdinText)
	}
	return nil
}

// execLimit is the longest answer that a request can have: JSON writes a control
// character as six.
func execLimit(req apitype.ExecRequest) int64 {
	const escaped, others = 6, 2 << 20
	output := int64(defaultOutputBytes)
	if req.MaxOutputBytes != nil {
		output = min(max(*req.MaxOutputBytes, 0), maxOutputBytes)
	}
	return 2*escaped*output + others
}

// execError adds what a missing answer means for a command.
func execError(err error) error {
	if _, ok := errors.AsType[*apitype.Problem](err); ok {
		return err
	}
	if _, ok := errors.AsType[*ConnectError](err); ok {
		return err
	}
	return fmt.Errorf("%w; whether the command ran is not known", err)
}

// checkResult holds an answer to the form of a result.
func (c *Client) checkResult(r apitype.ExecResult) error {
	missing := ""
	switch r.Outcome {
	case apitype.OutcomeExited:
		if r.ExitCode == nil {
			missing = "exit_code"
		}
	case apitype.OutcomeSignaled:
		if r.Signal == nil {
			missing = "signal"
		}
	case apitype.OutcomeStartFailed:
		if r.Failure == nil {
			missing = "failure"
		}
	case apitype.OutcomeTimedOut, apitype.OutcomeOOMKilled, apitype.OutcomeCanceled:
	default:
		return c.strange("a result with the outcome %q", r.Outcome)
	}
	if r.ExecID == "" {
		missing = "exec_id"
	}
	if missing != "" {
		return c.strange("a result without %s", missing)
	}
	return nil
}

// Streams returns what was kept of the streams of a result, decoded.
func Streams(r apitype.ExecResult) (stdout, stderr []byte, err error) {
	switch r.Encoding {
	case apitype.EncodingUTF8:
		return []byte(r.Stdout), []byte(r.Stderr), nil
	case apitype.EncodingBase64:
		if stdout, err = base64.StdEncoding.DecodeString(r.Stdout); err == nil {
			stderr, err = base64.StdEncoding.DecodeString(r.Stderr)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the output of %s cannot be read: %w", r.ExecID, err)
		}
		return stdout, stderr, nil
	}
	return nil, nil, fmt.Errorf("the output of %s is in the unknown encoding %q", r.ExecID, r.Encoding)
}
