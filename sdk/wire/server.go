package wire

import (
	"context"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// The plugin's side of the calls with one request and one answer. Errors leave
// the handlers as they are: the interceptors of calls make statuses of them.

type backendServer struct {
	pluginpb.UnimplementedBackendServiceServer
	features sdk.Features
	calls    *calls
}

func (s *backendServer) Handshake(context.Context, *pluginpb.HandshakeRequest) (*pluginpb.HandshakeResponse, error) {
	return &pluginpb.HandshakeResponse{
		Info:  infoToProto(s.features.Info()),
		Minor: ProtocolMinor,
		Capabilities: convertAll(s.features.Capabilities(), func(c sdk.Capability) string {
			return string(c)
		}),
	}, nil
}

func (s *backendServer) Destroy(ctx context.Context, req *pluginpb.DestroyRequest) (*pluginpb.DestroyResponse, error) {
	destroyed, err := s.features.Destroy(ctx, refFromProto(req.GetSandbox()))
	if err != nil {
		return nil, err
	}
	return &pluginpb.DestroyResponse{Removed: texts(destroyed.Removed)}, nil
}

func (s *backendServer) List(ctx context.Context, req *pluginpb.ListRequest) (*pluginpb.ListResponse, error) {
	found, err := s.features.List(ctx, req.GetHostId())
	if err != nil {
		return nil, err
	}
	return &pluginpb.ListResponse{Found: convertAll(found, foundToProto)}, nil
}

func (s *backendServer) Drain(ctx context.Context, req *pluginpb.DrainRequest) (*pluginpb.DrainResponse, error) {
	n := s.calls.drain(ctx, timeFromProto(req.GetDeadline()))
	return &pluginpb.DrainResponse{Canceled: uint32(n)}, nil
}

type renewServer struct {
	pluginpb.UnimplementedRenewServiceServer
	renew func(context.Context, sdk.Ref, time.Time) error
}

func (s *renewServer) Renew(ctx context.Context, req *pluginpb.RenewRequest) (*pluginpb.RenewResponse, error) {
	if err := s.renew(ctx, refFromProto(req.GetSandbox()), timeFromProto(req.GetExpiresAt())); err != nil {
		return nil, err
	}
	return &pluginpb.RenewResponse{}, nil
}

type inspectServer struct {
	pluginpb.UnimplementedInspectServiceServer
	inspect func(context.Context, sdk.Ref) (sdk.Status, error)
}

func (s *inspectServer) Inspect(ctx context.Context, req *pluginpb.InspectRequest) (*pluginpb.InspectResponse, error) {
	status, err := s.inspect(ctx, refFromProto(req.GetSandbox()))
	if err != nil {
		return nil, err
	}
	return statusToProto(status), nil
}

type healthServer struct {
	pluginpb.UnimplementedHealthServiceServer
	health func(context.Context) (sdk.Health, error)
}

func (s *healthServer) CheckHealth(ctx context.Context, _ *pluginpb.CheckHealthRequest) (*pluginpb.CheckHealthResponse, error) {
	health, err := s.health(ctx)
	if err != nil {
		return nil, err
	}
	return healthToProto(health), nil
}

type validateServer struct {
	pluginpb.UnimplementedValidateServiceServer
	validate func(context.Context, []byte) ([]sdk.Diagnostic, error)
}

func (s *validateServer) ValidateConfig(ctx context.Context, req *pluginpb.ValidateConfigRequest) (*pluginpb.ValidateConfigResponse, error) {
	diagnostics, err := s.validate(ctx, req.GetConfig())
	if err != nil {
		return nil, err
	}
	return &pluginpb.ValidateConfigResponse{Diagnostics: convertAll(diagnostics, diagnosticToProto)}, nil
}
