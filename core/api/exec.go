package api

import (
	"context"
	"net/http"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

// Executor runs commands in sandboxes.
type Executor interface {
	Exec(ctx context.Context, req sandbox.ExecRequest, out sdk.ExecOutput) (sandbox.ExecResult, error)
}

// execute runs one argument vector. The context of the request ends when its
// client leaves, and with it the command.
func execute(o Executor, m *Metrics) handler {
	return func(x *exchange) error {
		var req apitype.ExecRequest
		if err := x.decode(&req, maxExecBody); err != nil {
			return err
		}
		r := sandbox.ExecRequest{
			SandboxID: x.sandboxID(), Consumer: sandbox.Consumer(req.Consumer), Command: req.Command,
			CredentialRouteRefs: req.CredentialRouteRefs,
			Timeout:             optionalSeconds(req.TimeoutSeconds), MaxOutputBytes: req.MaxOutputBytes,
		}
		if req.StdinText != nil {
			r.Stdin = []byte(*req.StdinText)
		}
		limit := int64(sdk.DefaultOutputBytes)
		if req.MaxOutputBytes != nil {
			limit = min(*req.MaxOutputBytes, sdk.MaxOutputBytes)
		}
		stdout, stderr := &kept{limit: limit}, &kept{limit: limit}
		res, err := o.Exec(x.request.Context(), r, sdk.ExecOutput{Stdout: stdout, Stderr: stderr})
		if err != nil {
			return err
		}
		m.executed(res)
		return x.reply(http.StatusOK, ViewExec(req.Command[0], res, stdout.bytes, stderr.bytes))
	}
}

// kept keeps the first limit bytes that are written to it, whatever a backend
// sends.
type kept struct {
	limit int64
	bytes []byte
}

func (k *kept) Write(b []byte) (int, error) {
	room := max(0, min(int64(len(b)), k.limit-int64(len(k.bytes))))
	k.bytes = append(k.bytes, b[:room]...)
	return len(b), nil
}
