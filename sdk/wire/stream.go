package wire

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
)

// hostStream is the host's end of a call that is canceled in two steps: when
// the caller's context ends, a cancel frame asks the plugin to finish by
// itself; when it has not done so after cancelWait, the stream is reset.
type hostStream[Req, Resp any] struct {
	grpc.BidiStreamingClient[Req, Resp]
	caller context.Context
	ctx    context.Context // of the stream; ends with reset alone
	reset  context.CancelFunc
	mu     sync.Mutex // of Send
}

// openStream opens a stream with start as its first frame. The caller calls
// close on every path.
func openStream[Req, Resp any](
	ctx context.Context,
	open func(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[Req, Resp], error),
	start, cancel *Req,
) (_ *hostStream[Req, Resp], closeStream func(), err error) {
	if ctx.Err() != nil {
		return nil, nil, canceled(ctx)
	}
	streamCtx, reset := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := open(streamCtx)
	if err != nil {
		reset()
		return nil, nil, fromStatus(ctx, err)
	}
	s := &hostStream[Req, Resp]{BidiStreamingClient: stream, caller: ctx, ctx: streamCtx, reset: reset}
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(cancelWait, reset)
		defer timer.Stop()
		_ = s.send(cancel) // a broken stream shows in recv
		<-streamCtx.Done()
	})
	closeStream = func() {
		stop()
		reset()
	}
	if err := s.send(start); err != nil {
		closeStream()
		return nil, nil, err
	}
	return s, closeStream, nil
}

// send returns nil when the stream is broken: recv then has the reason.
func (s *hostStream[Req, Resp]) send(frame *Req) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Send(frame); err != nil && !errors.Is(err, io.EOF) {
		return s.failure(err)
	}
	return nil
}

// recv returns the next frame. The regular end of the stream is an error too:
// each call ends with a frame of its own, after which expectEnd is called.
func (s *hostStream[Req, Resp]) recv() (*Resp, error) {
	frame, err := s.Recv()
	if errors.Is(err, io.EOF) {
		return nil, lied("ended the stream without a result")
	}
	if err != nil {
		return nil, s.failure(err)
	}
	return frame, nil
}

// expectEnd fails unless the plugin ends the stream well.
func (s *hostStream[Req, Resp]) expectEnd() error {
	timer := time.AfterFunc(cancelWait, s.reset)
	defer timer.Stop()
	switch _, err := s.Recv(); {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return lied("went on after its result")
	case s.ctx.Err() != nil:
		return lied("did not end the stream after its result")
	default:
		return s.failure(err)
	}
}

// failure tells a stream that the host reset from one that the plugin broke. A
// plugin that dies while it is canceled is a failure all the same.
func (s *hostStream[Req, Resp]) failure(err error) error {
	if s.ctx.Err() != nil {
		return sdk.Errorf(sdk.CodeBackendFailed, "the extension did not end the call within %v of its cancellation", cancelWait)
	}
	err = fromStatus(s.ctx, err)
	if sdk.CodeOf(err) == sdk.CodeCanceled && s.caller.Err() != nil {
		return canceled(s.caller)
	}
	return err
}

// watchCancel passes the frames of the host to handle until the stream ends. It
// calls cancel when handle returns false or the stream breaks.
func watchCancel[Req, Resp any](stream grpc.BidiStreamingServer[Req, Resp], cancel func(), handle func(*Req) bool) {
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return // the host has no more to say; the call goes on
		}
		if err != nil || !handle(frame) {
			cancel()
			return
		}
	}
}
