package wire

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// overdue is how long after its deadline a command that the plugin should have
// ended is canceled by the host.
const overdue = 10 * time.Second

// Exec keeps a call that the caller canceled open until the plugin has killed
// the command, and then returns what it reports. It fails with
// [sdk.CodeCanceled] when ctx ended before the call, or when out cannot be
// written to.
func (s *stub) Exec(ctx context.Context, req sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
	if len(req.Stdin) > sdk.MaxStdinBytes {
		return sdk.ExecResult{}, sdk.Errorf(sdk.CodeInvalidRequest,
			"stdin has %d bytes, more than %d", len(req.Stdin), sdk.MaxStdinBytes)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !req.Deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, req.Deadline.Add(overdue))
		defer cancel()
	}
	stream, closeStream, err := openStream(ctx, s.exec.Exec,
		&pluginpb.ExecRequest{Frame: &pluginpb.ExecRequest_Start{Start: execToProto(req)}},
		&pluginpb.ExecRequest{Frame: &pluginpb.ExecRequest_Cancel{Cancel: &pluginpb.Cancel{}}})
	if err != nil {
		return sdk.ExecResult{}, err
	}
	defer closeStream()

	stdout := outputSink{w: out.Stdout, name: "stdout", limit: req.MaxOutputBytes, stop: cancel}
	stderr := outputSink{w: out.Stderr, name: "stderr", limit: req.MaxOutputBytes, stop: cancel}
	exit, err := receiveOutput(stream.recv, &stdout, &stderr)
	if err != nil {
		return sdk.ExecResult{}, err
	}
	result := resultFromProto(exit)
	if err := checkResult(result, stdout.n, stderr.n); err != nil {
		return sdk.ExecResult{}, err
	}
	if err := stream.expectEnd(); err != nil {
		return sdk.ExecResult{}, err
	}
	if err := errors.Join(stdout.err, stderr.err); err != nil {
		return sdk.ExecResult{}, sdk.Errorf(sdk.CodeCanceled, "the command was ended because its output could not be passed on: %w", err)
	}
	return result, nil
}

// receiveOutput passes the frames of an exec on until its exit.
func receiveOutput(recv func() (*pluginpb.ExecResponse, error), stdout, stderr *outputSink) (*pluginpb.ExecExit, error) {
	for {
		frame, err := recv()
		if err != nil {
			return nil, err
		}
		switch f := frame.GetFrame().(type) {
		case *pluginpb.ExecResponse_Output:
			switch f.Output.GetStream() {
			case pluginpb.Stream_STREAM_STDOUT:
				err = stdout.take(f.Output.GetData())
			case pluginpb.Stream_STREAM_STDERR:
				err = stderr.take(f.Output.GetData())
			default:
				err = lied("sent output of an unknown stream")
			}
			if err != nil {
				return nil, err
			}
		case *pluginpb.ExecResponse_Exit:
			return f.Exit, nil
		default:
			return nil, lied("sent an unknown frame in an exec")
		}
	}
}

// outputSink passes one stream of a command on, up to the limit that the
// plugin was told.
type outputSink struct {
	w     io.Writer // nil: nobody wants it
	name  string
	limit int64
	n     int64  // bytes received
	err   error  // of the first write that failed
	stop  func() // ends the command
}

// take returns an error when the plugin breaks the rules, having passed on what
// is within the limit. When w fails the command is ended, and what it still
// says is dropped.
func (s *outputSink) take(data []byte) error {
	if len(data) > maxChunkBytes {
		return lied("sent a chunk of %d bytes, more than %d", len(data), maxChunkBytes)
	}
	keep := data[:min(int64(len(data)), max(s.limit-s.n, 0))]
	s.n += int64(len(data))
	if s.w != nil && s.err == nil && len(keep) > 0 {
		if _, s.err = s.w.Write(keep); s.err != nil {
			s.stop()
		}
	}
	if s.n > s.limit {
		return lied("lied about %s: it sent more than the %d bytes that it was asked for", s.name, s.limit)
	}
	return nil
}

// execServer is the plugin's side of Exec.
type execServer struct {
	pluginpb.UnimplementedExecServiceServer
	exec func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error)
}

type execStream = grpc.BidiStreamingServer[pluginpb.ExecRequest, pluginpb.ExecResponse]

// Exec gives the backend a context that ends when the host cancels, resets the
// stream or goes away.
func (s *execServer) Exec(stream execStream) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetStart() == nil {
		return sdk.Errorf(sdk.CodeInvalidRequest, "the first frame of an exec is not its start")
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	go watchCancel(stream, cancel, func(f *pluginpb.ExecRequest) bool { return f.GetCancel() == nil })

	sender := &outputSender{stream: stream}
	result, err := s.exec(ctx, execFromProto(first.GetStart()), sdk.ExecOutput{
		Stdout: newOutputWriter(sender, pluginpb.Stream_STREAM_STDOUT),
		Stderr: newOutputWriter(sender, pluginpb.Stream_STREAM_STDERR),
	})
	sender.close()
	if err != nil {
		return err
	}
	return stream.Send(&pluginpb.ExecResponse{Frame: &pluginpb.ExecResponse_Exit{Exit: resultToProto(result)}})
}

// outputSender lets two writers share one stream.
type outputSender struct {
	mu     sync.Mutex
	stream execStream
	closed bool
}

func (s *outputSender) send(frame *pluginpb.ExecResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return io.ErrClosedPipe // a backend that writes on after Exec returned
	}
	return s.stream.Send(frame)
}

func (s *outputSender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// outputWriter sends what it is given in chunks. It uses one frame for all:
// Send has encoded a frame when it returns, and no stats handler, the only
// thing that keeps one longer, is installed.
type outputWriter struct {
	sender *outputSender
	output *pluginpb.ExecOutput
	frame  *pluginpb.ExecResponse
}

func newOutputWriter(sender *outputSender, stream pluginpb.Stream) *outputWriter {
	output := &pluginpb.ExecOutput{Stream: stream}
	return &outputWriter{
		sender: sender,
		output: output,
		frame:  &pluginpb.ExecResponse{Frame: &pluginpb.ExecResponse_Output{Output: output}},
	}
}

func (w *outputWriter) Write(p []byte) (int, error) {
	var n int
	for n < len(p) {
		w.output.Data = p[n:min(n+sendChunkBytes, len(p))]
		err := w.sender.send(w.frame)
		if err != nil {
			return n, err
		}
		n += len(w.output.Data)
	}
	return n, nil
}
