package wire

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testID = "sbx-01j0000000000000000000000a"

// bare is a backend without any optional ability.
type bare struct {
	create  func(context.Context, sdk.CreateRequest, sdk.Progress) (sdk.Created, error)
	destroy func(context.Context, sdk.Ref) (sdk.Destroyed, error)
	list    func(context.Context, string) ([]sdk.Found, error)
}

func (b *bare) Info() sdk.Info { return sdk.Info{Name: "fake", Version: "1.2.3"} }

func (b *bare) Create(ctx context.Context, req sdk.CreateRequest, p sdk.Progress) (sdk.Created, error) {
	return b.create(ctx, req, p)
}

func (b *bare) Destroy(ctx context.Context, ref sdk.Ref) (sdk.Destroyed, error) {
	return b.destroy(ctx, ref)
}

func (b *bare) List(ctx context.Context, hostID string) ([]sdk.Found, error) {
	return b.list(ctx, hostID)
}

// full is a backend with every ability.
type full struct {
	bare
	exec     func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error)
	renew    func(context.Context, sdk.Ref, time.Time) error
	inspect  func(context.Context, sdk.Ref) (sdk.Status, error)
	health   func(context.Context) (sdk.Health, error)
	validate func(context.Context, []byte) ([]sdk.Diagnostic, error)
}

func (b *full) Exec(ctx context.Context, req sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
	return b.exec(ctx, req, out)
}

func (b *full) Renew(ctx context.Context, ref sdk.Ref, at time.Time) error {
	return b.renew(ctx, ref, at)
}

func (b *full) Inspect(ctx context.Context, ref sdk.Ref) (sdk.Status, error) {
	return b.inspect(ctx, ref)
}

func (b *full) Health(ctx context.Context) (sdk.Health, error) { return b.health(ctx) }

func (b *full) ValidateConfig(ctx context.Context, config []byte) ([]sdk.Diagnostic, error) {
	return b.validate(ctx, config)
}

// dial serves s in memory and returns a connection to it. hangup breaks the
// connection as the death of the plugin does.
func dial(t testing.TB, s *grpc.Server) (conn *grpc.ClientConn, hangup func()) {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(lis)
	}()
	server := make(chan net.Conn, 1)
	opts := append(DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := lis.DialContext(ctx)
			if err == nil {
				select {
				case server <- c:
				default:
				}
			}
			return c, err
		}))
	conn, err := grpc.NewClient("passthrough:plugin", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		s.Stop()
		<-served
	})
	return conn, func() { _ = (<-server).Close() }
}

// connect serves b and returns the host's view of it.
func connect(t testing.TB, b sdk.Backend) sdk.Features {
	t.Helper()
	conn, _ := dial(t, NewServer(b))
	f, _, err := Connect(t.Context(), conn, HostInfo{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// hostile is a plugin that answers as its funcs say, by no rule.
type hostile struct {
	pluginpb.UnimplementedBackendServiceServer
	pluginpb.UnimplementedExecServiceServer
	pluginpb.UnimplementedInspectServiceServer
	handshake *pluginpb.HandshakeResponse // nil: an honest one
	create    func(createStream) error
	list      *pluginpb.ListResponse
	exec      func(execStream) error
}

func (h *hostile) Handshake(context.Context, *pluginpb.HandshakeRequest) (*pluginpb.HandshakeResponse, error) {
	if h.handshake != nil {
		return h.handshake, nil
	}
	return &pluginpb.HandshakeResponse{
		Info:         &pluginpb.Info{Name: "hostile", Version: "6.6.6"},
		Capabilities: []string{"exec.v1", "renew.v1", "inspect.v1", "health.v1", "validate.v1"},
	}, nil
}

func (h *hostile) Create(s createStream) error { return h.create(s) }
func (h *hostile) Exec(s execStream) error     { return h.exec(s) }
func (h *hostile) List(context.Context, *pluginpb.ListRequest) (*pluginpb.ListResponse, error) {
	return h.list, nil
}

func connectHostile(t *testing.T, h *hostile) (f sdk.Features, hangup func()) {
	t.Helper()
	s := grpc.NewServer()
	pluginpb.RegisterBackendServiceServer(s, h)
	if h.exec != nil {
		pluginpb.RegisterExecServiceServer(s, h)
	}
	conn, hangup := dial(t, s)
	f, _, err := Connect(t.Context(), conn, HostInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return f, hangup
}

// progress is the host's end of a Create.
type progress struct {
	checkpoint func(sdk.Handle) error
	report     func(string)
}

func (p progress) Checkpoint(h sdk.Handle) error {
	if p.checkpoint == nil {
		return nil
	}
	return p.checkpoint(h)
}

func (p progress) Report(m string) {
	if p.report != nil {
		p.report(m)
	}
}
