package wire

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
)

// PluginHandshake is what go-plugin compares on both sides before any call. The
// cookie is no secret: it tells a start by the host from one by hand.
func PluginHandshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		ProtocolVersion:  ProtocolMajor,
		MagicCookieKey:   "SANDBOXER_PLUGIN",
		MagicCookieValue: "started-by-the-sandboxer-host",
	}
}

// Serve is the main of an extension: it serves b until the host ends the
// process. Nothing may write to standard output before it. Started by hand it
// says how extensions are used and exits with status 2.
func Serve(b sdk.Backend) {
	handshake := PluginHandshake()
	if os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		fmt.Fprint(os.Stderr, usage(b.Info().Name))
		os.Exit(2)
	}
	// The host decides when a plugin ends. Notify and not Ignore: a command
	// that the plugin starts would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	// The host runs the program through a file descriptor, whose number the
	// kernel would show as the name of the process.
	_ = os.WriteFile("/proc/self/comm", []byte("sbx-"+b.Info().Name), 0)

	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{"backend": grpcOnly{}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return NewServer(b, opts...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{
			Level:      hclog.Warn,
			Output:     os.Stderr,
			JSONFormat: true,
		}),
	})
}

func usage(name string) string {
	return fmt.Sprintf("this program is the sand-boxer extension %q and is started by sandboxer, not by hand: "+
		"install it as /usr/local/lib/sandboxer/extensions/sandboxer-ext-%s, then run \"sandboxer ext describe %s\"\n",
		name, name, name)
}

// grpcOnly makes go-plugin announce gRPC; NewServer has registered the services.
type grpcOnly struct {
	plugin.NetRPCUnsupportedPlugin
	plugin.GRPCPlugin
}

func (grpcOnly) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }
