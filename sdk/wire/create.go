package wire

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// Create keeps a call that the caller canceled open until the plugin has
// cleaned up, so that the Destroy that follows does not meet it.
func (s *stub) Create(ctx context.Context, req sdk.CreateRequest, progress sdk.Progress) (sdk.Created, error) {
	stream, closeStream, err := openStream(ctx, s.backend.Create,
		&pluginpb.CreateRequest{Frame: &pluginpb.CreateRequest_Start{Start: createToProto(req)}},
		&pluginpb.CreateRequest{Frame: &pluginpb.CreateRequest_Cancel{Cancel: &pluginpb.Cancel{}}})
	if err != nil {
		return sdk.Created{}, err
	}
	defer closeStream()

	host := checkpoints{progress: progress}
	for {
		frame, err := stream.recv()
		if err != nil {
			return sdk.Created{}, err
		}
		switch event := frame.GetEvent().(type) {
		case *pluginpb.CreateResponse_Progress:
			progress.Report(text(event.Progress.GetMessage()))
		case *pluginpb.CreateResponse_Checkpoint:
			ack, err := host.take(event.Checkpoint)
			if err != nil {
				return sdk.Created{}, err
			}
			if err := stream.send(&pluginpb.CreateRequest{Frame: &pluginpb.CreateRequest_Ack{Ack: ack}}); err != nil {
				return sdk.Created{}, err
			}
		case *pluginpb.CreateResponse_Done:
			if host.refused {
				return sdk.Created{}, lied("made the sandbox although the host refused its handle")
			}
			created := createdFromProto(event.Done)
			if err := checkCreated(created); err != nil {
				return sdk.Created{}, err
			}
			if err := stream.expectEnd(); err != nil {
				return sdk.Created{}, err
			}
			return created, nil
		default:
			return sdk.Created{}, lied("sent an unknown event in a create")
		}
	}
}

// checkpoints is the host's record of the handles that one Create sent.
type checkpoints struct {
	progress sdk.Progress
	seq      uint64
	refused  bool
}

// take stores a handle and returns the answer for the plugin. It fails when the
// plugin breaks the rules.
func (c *checkpoints) take(cp *pluginpb.Checkpoint) (*pluginpb.CheckpointAck, error) {
	c.seq++
	if cp.GetSeq() != c.seq {
		return nil, lied("sent checkpoint %d where %d was due", cp.GetSeq(), c.seq)
	}
	h := handleFromProto(cp.GetHandle())
	if err := checkHandle(h); err != nil {
		return nil, err
	}
	ack := &pluginpb.CheckpointAck{Seq: c.seq}
	if err := c.progress.Checkpoint(h); err != nil {
		c.refused = true
		ack.Error = errorToProto(asError(err))
	}
	return ack, nil
}

type createStream = grpc.BidiStreamingServer[pluginpb.CreateRequest, pluginpb.CreateResponse]

// Create is the plugin's side. The backend's context ends when the host
// cancels, resets the stream or goes away.
func (s *backendServer) Create(stream createStream) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetStart() == nil {
		return sdk.Errorf(sdk.CodeInvalidRequest, "the first frame of a create is not its start")
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	p := &remoteProgress{ctx: ctx, stream: stream, acks: make(chan *pluginpb.CheckpointAck)}
	go watchCancel(stream, cancel, p.frame)

	created, err := s.features.Create(ctx, createFromProto(first.GetStart()), p)
	p.close()
	if err != nil {
		return err
	}
	return stream.Send(&pluginpb.CreateResponse{Event: &pluginpb.CreateResponse_Done{Done: createdToProto(created)}})
}

// remoteProgress is the [sdk.Progress] of a plugin: its calls go to the host.
type remoteProgress struct {
	ctx    context.Context
	stream createStream
	acks   chan *pluginpb.CheckpointAck

	checkpoint sync.Mutex // one at a time awaits its ack
	seq        uint64

	mu     sync.Mutex // of stream.Send
	closed bool
}

// frame takes what the host sends after its start. It returns false to cancel.
func (p *remoteProgress) frame(f *pluginpb.CreateRequest) bool {
	ack := f.GetAck()
	if ack == nil {
		return f.GetCancel() == nil
	}
	select {
	case p.acks <- ack:
		return true
	case <-p.ctx.Done():
		return false
	}
}

func (p *remoteProgress) Checkpoint(h sdk.Handle) error {
	if err := checkHandle(h); err != nil {
		return err
	}
	p.checkpoint.Lock()
	defer p.checkpoint.Unlock()
	p.seq++
	err := p.send(&pluginpb.CreateResponse{Event: &pluginpb.CreateResponse_Checkpoint{
		Checkpoint: &pluginpb.Checkpoint{Seq: p.seq, Handle: handleToProto(h)},
	}})
	if err != nil {
		return err
	}
	select {
	case ack := <-p.acks:
		if ack.GetSeq() != p.seq {
			return sdk.Errorf(sdk.CodeInternal, "the host answered checkpoint %d where %d was due", ack.GetSeq(), p.seq)
		}
		if e := errorFromProto(ack.GetError()); e != nil {
			return e
		}
		return nil
	case <-p.ctx.Done():
		return canceled(p.ctx)
	}
}

// Report is lost when the host is gone: the next Checkpoint will say so.
func (p *remoteProgress) Report(message string) {
	_ = p.send(&pluginpb.CreateResponse{Event: &pluginpb.CreateResponse_Progress{
		Progress: &pluginpb.CreateProgress{Message: text(message)},
	}})
}

func (p *remoteProgress) send(event *pluginpb.CreateResponse) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return io.ErrClosedPipe // a backend that reports on after Create returned
	}
	if err := p.stream.Send(event); err != nil {
		return errors.Join(canceled(p.ctx), err)
	}
	return nil
}

func (p *remoteProgress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}
