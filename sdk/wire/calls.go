package wire

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// calls counts the running calls of the plugin's own services, so that Drain
// can wait for them, and turns the errors of their handlers into statuses.
type calls struct {
	ctx    context.Context // ends when drain gives up on the running calls
	cancel context.CancelFunc

	mu       sync.Mutex
	running  int
	draining bool
	idle     chan struct{} // closed when draining and nothing runs
}

func newCalls() *calls {
	ctx, cancel := context.WithCancel(context.Background())
	return &calls{ctx: ctx, cancel: cancel, idle: make(chan struct{})}
}

// begin admits a call. The context it returns ends with ctx, with end, and
// when drain gives up.
func (c *calls) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return nil, nil, sdk.Errorf(sdk.CodeBackendFailed, "the extension is shutting down")
	}
	c.running++
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
		c.closeIfIdle()
	}, nil
}

func (c *calls) closeIfIdle() {
	if c.draining && c.running == 0 {
		select {
		case <-c.idle:
		default:
			close(c.idle)
		}
	}
}

// drain refuses new calls and waits until none runs. At the deadline it
// cancels those that still do, counts them, and waits on until ctx ends.
func (c *calls) drain(ctx context.Context, deadline time.Time) (canceled int) {
	c.mu.Lock()
	c.draining = true
	c.closeIfIdle()
	c.mu.Unlock()

	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-c.idle:
		return 0
	case <-timer.C:
	case <-ctx.Done():
	}

	c.mu.Lock()
	canceled = c.running
	c.mu.Unlock()
	c.cancel()
	select {
	case <-c.idle:
	case <-ctx.Done():
	}
	return canceled
}

// counted reports whether drain waits for a method: not for go-plugin's own
// streams, which live as long as the process, nor for itself.
func counted(method string) bool {
	return strings.HasPrefix(method, "/sandboxer.plugin.v1.") &&
		method != pluginpb.BackendService_Drain_FullMethodName
}

func (c *calls) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if !counted(info.FullMethod) {
		return handler(ctx, req)
	}
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	defer end()
	resp, err := handler(ctx, req)
	return resp, toStatus(err)
}

func (c *calls) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if !counted(info.FullMethod) {
		return handler(srv, stream)
	}
	ctx, end, err := c.begin(stream.Context())
	if err != nil {
		return toStatus(err)
	}
	defer end()
	return toStatus(handler(srv, contextStream{stream, ctx}))
}

// contextStream is a stream whose context drain can end.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s contextStream) Context() context.Context { return s.ctx }
