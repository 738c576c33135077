// Package wire carries package sdk over gRPC: it holds both halves of every
// translation. An extension's main calls [Serve]; the host calls [Connect] on a
// connection to the extension's process.
//
// The host trusts no answer. What a backend may not say by the rules of
// package sdk, or what exceeds a bound, is an *sdk.Error with
// [sdk.CodeBackendFailed].
package wire

import (
	"time"

	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

const (
	// ProtocolMajor is the version of the protocol that host and plugin must
	// share. go-plugin negotiates it.
	ProtocolMajor = 1
	// ProtocolMinor is the newest minor that this package knows.
	ProtocolMinor = 0

	// WorkDirEnv names the environment variable that holds the directory
	// which the host made for the extension alone.
	WorkDirEnv = "SANDBOXER_WORK_DIR"

	maxMessageBytes = 4 << 20
	maxChunkBytes   = 32 << 10
	// sendChunkBytes leaves room for the frame around a chunk: gRPC's buffers
	// come in 32 KiB and, thirty times as dear to clear, 1 MiB.
	sendChunkBytes = maxChunkBytes - 64

	// Windows that keep a stream of chunks from waiting for its reader's
	// window updates.
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20

	// cancelWait is how long the host waits for the regular end of a stream
	// that it canceled: SIGTERM, the grace, SIGKILL and the sweep fit in.
	cancelWait = sdk.KillGrace + 3*time.Second
)

// DialOptions are the options of the host's connection to a plugin.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes),
		),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connectionWindow),
		// A command never runs twice, whatever a service config says.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
	}
}

// NewServer returns a gRPC server with the services that b implements. [Serve]
// is what a plugin's main calls; NewServer is for tests that need no process.
func NewServer(b sdk.Backend, opts ...grpc.ServerOption) *grpc.Server {
	calls := newCalls()
	s := grpc.NewServer(append(opts,
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
		grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(calls.unary),
		grpc.StreamInterceptor(calls.stream),
	)...)
	features := sdk.FeaturesOf(b)
	pluginpb.RegisterBackendServiceServer(s, &backendServer{features: features, calls: calls})
	for _, service := range services {
		for _, c := range features.Capabilities() {
			if c == service.capability {
				service.register(s, features)
			}
		}
	}
	return s
}

// services is the one table from capability to gRPC service. What a backend
// does not implement has no service.
var services = []struct {
	capability sdk.Capability
	register   func(grpc.ServiceRegistrar, sdk.Features)
}{
	{sdk.CapExec, func(s grpc.ServiceRegistrar, f sdk.Features) {
		pluginpb.RegisterExecServiceServer(s, &execServer{exec: f.Exec})
	}},
	{sdk.CapRenew, func(s grpc.ServiceRegistrar, f sdk.Features) {
		pluginpb.RegisterRenewServiceServer(s, &renewServer{renew: f.Renew})
	}},
	{sdk.CapInspect, func(s grpc.ServiceRegistrar, f sdk.Features) {
		pluginpb.RegisterInspectServiceServer(s, &inspectServer{inspect: f.Inspect})
	}},
	{sdk.CapHealth, func(s grpc.ServiceRegistrar, f sdk.Features) {
		pluginpb.RegisterHealthServiceServer(s, &healthServer{health: f.Health})
	}},
	{sdk.CapValidate, func(s grpc.ServiceRegistrar, f sdk.Features) {
		pluginpb.RegisterValidateServiceServer(s, &validateServer{validate: f.ValidateConfig})
	}},
}
