package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// maxAnswer bounds an answer that carries no output of a command.
const maxAnswer = 16 << 20

// call is one request and where its answer goes.
type call struct {
	method, path string
	query        url.Values
	// key is the Idempotency-Key; "" for none.
	key string
	// body is sent as JSON; nil sends none.
	body any
	// answer is what JSON is read into; a *[]byte takes any text as it is, nil
	// takes nothing.
	answer any
	// limit bounds the answer in bytes; 0 is maxAnswer.
	limit int64
	// long has the call last as long as its context.
	long bool
}

// do makes one request and reads its answer whole.
func (c *Client) do(ctx context.Context, k call) error {
	if !k.long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("there was no answer within %v", c.timeout))
		defer cancel()
	}
	req, err := c.request(ctx, k)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.failed(ctx, err)
	}
	defer resp.Body.Close()
	limit := k.limit
	if limit == 0 {
		limit = maxAnswer
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return c.failed(ctx, err)
	}
	if int64(len(text)) > limit {
		return fmt.Errorf("the answer of %s is longer than %d bytes", c.addr, limit)
	}
	return c.read(resp, text, k.answer)
}

func (c *Client) request(ctx context.Context, k call) (*http.Request, error) {
	var body io.Reader
	if k.body != nil {
		text, err := json.Marshal(k.body)
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	target := c.base + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if k.key != "" {
		req.Header.Set("Idempotency-Key", k.key)
	}
	return req, nil
}

// failed says why there is no whole answer.
func (c *Client) failed(ctx context.Context, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the request to %s was given up: %w", c.addr, cause)
	}
	if e, ok := errors.AsType[*ConnectError](err); ok {
		return e
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the connection to %s broke before the answer was complete: %w", c.addr, err)
}

// read takes a complete answer apart.
func (c *Client) read(resp *http.Response, text []byte, answer any) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == apitype.ProblemContentType {
		return c.problem(resp, text)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return c.strange("%s, and no problem in a form that sandboxer writes", resp.Status)
	}
	switch answer := answer.(type) {
	case nil:
		return nil
	case *[]byte:
		*answer = text
		return nil
	}
	if media != "application/json" {
		return c.strange("the media type %q where JSON was due", media)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return c.strange("JSON that cannot be read: %w", err)
	}
	return nil
}

func (c *Client) problem(resp *http.Response, text []byte) error {
	p := new(apitype.Problem)
	if err := json.Unmarshal(text, p); err != nil {
		return c.strange("%s, and a problem that cannot be read: %w", resp.Status, err)
	}
	if p.Code == "" || p.Detail == "" || resp.StatusCode < 400 {
		return c.strange("%s, and a problem without code or detail", resp.Status)
	}
	p.Status = resp.StatusCode
	return p
}

// strange is the error for an answer that no sandboxer service gives.
func (c *Client) strange(format string, args ...any) error {
	return fmt.Errorf("%s does not answer as a sandboxer service does: it sent %w", c.addr, fmt.Errorf(format, args...))
}
