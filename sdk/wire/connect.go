package wire

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// HostInfo is what the host tells the plugin about itself.
type HostInfo struct {
	// Version is the host's version, for the plugin's log.
	Version string
}

// Handshake is what a plugin says about itself.
type Handshake struct {
	Info sdk.Info
	// Minor is the newest minor of the protocol that the plugin knows.
	Minor uint32
	// Capabilities are those that the plugin offers, known here or not.
	Capabilities []sdk.Capability
}

// Connect asks the plugin on conn what it is, and returns its features: the
// abilities that it offers and this package knows. Every func of them is safe
// for concurrent use and ends soon after its context does. The caller keeps
// conn open for as long as it uses them, and closes it.
func Connect(ctx context.Context, conn grpc.ClientConnInterface, host HostInfo) (sdk.Features, Handshake, error) {
	backend := pluginpb.NewBackendServiceClient(conn)
	resp, err := backend.Handshake(ctx, &pluginpb.HandshakeRequest{
		HostVersion: host.Version,
		Minor:       ProtocolMinor,
	})
	if err != nil {
		return sdk.Features{}, Handshake{}, fromStatus(ctx, err)
	}
	if err := checkHandshake(resp); err != nil {
		return sdk.Features{}, Handshake{}, err
	}
	h := Handshake{
		Info:  infoFromProto(resp.GetInfo()),
		Minor: resp.GetMinor(),
		Capabilities: convertAll(resp.GetCapabilities(), func(c string) sdk.Capability {
			return sdk.Capability(c)
		}),
	}
	stub := &stub{
		info:     h.Info,
		backend:  backend,
		exec:     pluginpb.NewExecServiceClient(conn),
		renew:    pluginpb.NewRenewServiceClient(conn),
		inspect:  pluginpb.NewInspectServiceClient(conn),
		health:   pluginpb.NewHealthServiceClient(conn),
		validate: pluginpb.NewValidateServiceClient(conn),
	}
	return sdk.FeaturesOf(stub).Narrow(h.Capabilities), h, nil
}

// Drain asks the plugin on conn to refuse new calls, to wait for the running
// ones until the deadline, and to cancel the rest. It returns when none runs
// or ctx ends, with the number of those that were canceled.
func Drain(ctx context.Context, conn grpc.ClientConnInterface, deadline time.Time) (canceled int, err error) {
	resp, err := pluginpb.NewBackendServiceClient(conn).Drain(ctx, &pluginpb.DrainRequest{Deadline: timeToProto(deadline)})
	if err != nil {
		return 0, fromStatus(ctx, err)
	}
	return int(resp.GetCanceled()), nil
}

// stub is the host's side of a plugin. It has every ability: Connect narrows
// it to what the plugin offers.
type stub struct {
	info     sdk.Info
	backend  pluginpb.BackendServiceClient
	exec     pluginpb.ExecServiceClient
	renew    pluginpb.RenewServiceClient
	inspect  pluginpb.InspectServiceClient
	health   pluginpb.HealthServiceClient
	validate pluginpb.ValidateServiceClient
}

var (
	_ sdk.Backend         = (*stub)(nil)
	_ sdk.Execer          = (*stub)(nil)
	_ sdk.Renewer         = (*stub)(nil)
	_ sdk.Inspector       = (*stub)(nil)
	_ sdk.HealthChecker   = (*stub)(nil)
	_ sdk.ConfigValidator = (*stub)(nil)
)

func (s *stub) Info() sdk.Info { return s.info }

func (s *stub) Destroy(ctx context.Context, ref sdk.Ref) (sdk.Destroyed, error) {
	resp, err := s.backend.Destroy(ctx, &pluginpb.DestroyRequest{Sandbox: refToProto(ref)})
	if err != nil {
		return sdk.Destroyed{}, fromStatus(ctx, err)
	}
	return sdk.Destroyed{Removed: texts(resp.GetRemoved())}, nil
}

func (s *stub) List(ctx context.Context, hostID string) ([]sdk.Found, error) {
	resp, err := s.backend.List(ctx, &pluginpb.ListRequest{HostId: hostID})
	if err != nil {
		return nil, fromStatus(ctx, err)
	}
	found := convertAll(resp.GetFound(), foundFromProto)
	if err := checkFound(found); err != nil {
		return nil, err
	}
	return found, nil
}

func (s *stub) Renew(ctx context.Context, ref sdk.Ref, expiresAt time.Time) error {
	_, err := s.renew.Renew(ctx, &pluginpb.RenewRequest{Sandbox: refToProto(ref), ExpiresAt: timeToProto(expiresAt)})
	if err != nil {
		return fromStatus(ctx, err)
	}
	return nil
}

func (s *stub) Inspect(ctx context.Context, ref sdk.Ref) (sdk.Status, error) {
	resp, err := s.inspect.Inspect(ctx, &pluginpb.InspectRequest{Sandbox: refToProto(ref)})
	if err != nil {
		return sdk.Status{}, fromStatus(ctx, err)
	}
	return statusFromProto(resp), nil
}

func (s *stub) Health(ctx context.Context) (sdk.Health, error) {
	resp, err := s.health.CheckHealth(ctx, &pluginpb.CheckHealthRequest{})
	if err != nil {
		return sdk.Health{}, fromStatus(ctx, err)
	}
	return healthFromProto(resp), nil
}

func (s *stub) ValidateConfig(ctx context.Context, config []byte) ([]sdk.Diagnostic, error) {
	resp, err := s.validate.ValidateConfig(ctx, &pluginpb.ValidateConfigRequest{Config: config})
	if err != nil {
		return nil, fromStatus(ctx, err)
	}
	return convertAll(resp.GetDiagnostics(), diagnosticFromProto), nil
}
