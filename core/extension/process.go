package extension

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire"
)

const (
	// killWait bounds the wait for a process that was killed; only one that
	// hangs in the kernel takes longer.
	killWait = 5 * time.Second
	// drainTime is how long running calls may go on after Close when its
	// context has no deadline.
	drainTime = 5 * time.Second
)

// process is one run of a plugin: launched once, never again.
type process struct {
	name    string
	binary  *binary
	runner  *processRunner
	client  *goplugin.Client
	sockets *socketDir
	started time.Time

	// dialed is the connection. go-plugin forgets it when its own handshake on
	// it fails, and would leave it open.
	dialed atomic.Pointer[grpc.ClientConn]

	features  sdk.Features
	handshake wire.Handshake
	digest    string

	gone chan struct{} // closed when nothing of the process is left
}

// launch starts the extension at path and returns when it is ready for calls.
// On an error nothing of it is left; started tells whether its program ran.
func launch(ctx context.Context, cfg *Config, name, path string) (_ *process, started bool, err error) {
	b, err := openBinary(path)
	if err != nil {
		return nil, false, err
	}
	defer b.close() // the kernel keeps what runs
	if err := verify(cfg, name, b); err != nil {
		return nil, false, err
	}
	env := slices.Clone(cfg.Env)
	if cfg.WorkDir != "" {
		dir, err := makeWorkDir(cfg.WorkDir, name)
		if err != nil {
			return nil, false, err
		}
		env = append(env, wire.WorkDirEnv+"="+dir)
	}
	sockets, err := newSocketDir(socketBase(cfg.SocketDir))
	if err != nil {
		return nil, false, sdk.Errorf(sdk.CodeHostUnsupported, "cannot start ext.%s: %w", name, err)
	}
	p := &process{
		name:    name,
		binary:  b,
		runner:  newProcessRunner(b, name),
		sockets: sockets,
		started: time.Now(),
		gone:    make(chan struct{}),
	}
	p.client = goplugin.NewClient(p.clientConfig(cfg.Log, env, cfg.StartTimeout))

	startCtx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	if err := p.connect(startCtx, cfg.Version); err != nil {
		go p.clean()
		_ = p.kill() // the start has failed already
		return nil, true, p.startFailure(ctx, startCtx, err)
	}
	if p.digest, err = b.digest(); err != nil {
		go p.clean()
		return nil, true, errors.Join(err, p.kill())
	}
	go func() {
		<-p.runner.done
		if how, words, killed := p.runner.end(); !killed {
			cfg.Log.Error("the process of an extension ended", "extension", name, "how", how, "last_words", words)
		}
		p.clean()
	}()
	return p, true, nil
}

// verify asks whether b may be run. When nobody answers that, b is hashed while
// its process starts: the digest is then only evidence.
func verify(cfg *Config, name string, b *binary) error {
	if cfg.Verify == nil {
		go func() { _, _ = b.digest() }()
		return nil
	}
	digest, err := b.digest()
	if err != nil {
		return err
	}
	return cfg.Verify(name, b.path, digest)
}

func (p *process) clientConfig(log hclog.Logger, env []string, timeout time.Duration) *goplugin.ClientConfig {
	printed := logWriter{log.Named(p.name)}
	return &goplugin.ClientConfig{
		HandshakeConfig:  wire.PluginHandshake(),
		Plugins:          goplugin.PluginSet{},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		SkipHostEnv:      true,
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (runner.Runner, error) {
			p.runner.prepare(pluginEnv(env, cmd.Env), socketDir)
			return p.runner, nil
		},
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.sockets.path},
		// The start is bounded by killing the process, which go-plugin notices;
		// its own bound is only a second net.
		StartTimeout: timeout + killWait,
		Logger:       quietLogger{log},
		SyncStdout:   printed,
		SyncStderr:   printed,
		GRPCDialOptions: append(wire.DialOptions(), grpc.WithChainStreamInterceptor(
			func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				p.dialed.Store(cc)
				return open(ctx, desc, cc, method, opts...)
			})),
	}
}

// connect starts the process and asks it what it is. Once ctx ends the process
// is dead, which ends every wait in here.
func (p *process) connect(ctx context.Context, version string) error {
	stop := context.AfterFunc(ctx, p.runner.kill)
	defer stop()
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	grpcClient, ok := protocol.(*goplugin.GRPCClient)
	if !ok {
		return errors.New("go-plugin did not negotiate gRPC")
	}
	p.dialed.Store(grpcClient.Conn)
	p.features, p.handshake, err = wire.Connect(ctx, grpcClient.Conn, wire.HostInfo{Version: version})
	if err != nil {
		return err
	}
	if got := p.handshake.Info.Name; got != p.name {
		return invalid("%s calls itself %s, not %q", p.binary.path, clip(got), p.name).
			WithHint("the file of an extension is named %sNAME, after the name in its Info", filePrefix)
	}
	return ctx.Err()
}

// alive reports whether calls can be made.
func (p *process) alive() bool {
	select {
	case <-p.runner.done:
		return false
	default:
		return true
	}
}

// stop drains the plugin within ctx, kills it, and returns when nothing of it
// is left.
func (p *process) stop(ctx context.Context) error {
	if p.alive() {
		ctx, cancel := drainContext(ctx)
		defer cancel()
		end, _ := ctx.Deadline()
		// What is still running halfway is canceled, and has the other half to
		// clean up. A plugin that does not answer is killed all the same.
		left := time.Until(end)
		_, _ = wire.Drain(ctx, p.dialed.Load(), time.Now().Add(left-min(left/2, sdk.KillGrace+time.Second)))
	}
	return p.kill()
}

func drainContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, drainTime)
}

// kill ends the process at once and returns when nothing of it is left.
func (p *process) kill() error {
	p.runner.kill()
	select {
	case <-p.gone:
		return nil
	case <-time.After(killWait):
		return sdk.Errorf(sdk.CodeInternal, "process %s of ext.%s does not end although it was killed", p.runner.ID(), p.name)
	}
}

// clean removes what is left of a process that was killed or died.
func (p *process) clean() {
	defer close(p.gone)
	first := p.dialed.Load()
	p.client.Kill()
	// Kill may have dialed anew, on its way to find out that the process is dead.
	for _, conn := range []*grpc.ClientConn{first, p.dialed.Load()} {
		if conn != nil {
			_ = conn.Close()
		}
	}
	p.runner.close()
	_ = p.sockets.remove()
}

// startFailure says in one sentence why the start failed with err. ctx is the
// caller's, startCtx the one with the bound.
func (p *process) startFailure(ctx, startCtx context.Context, err error) error {
	line, lineErr := p.runner.printed()
	how, words, _ := p.runner.end()
	if words != "" {
		words = fmt.Sprintf("; its last words were %q", words)
	}
	const hint = "if it is no sand-boxer extension, remove it from the extension directory; otherwise ask its author"
	switch startErr := p.runner.startError(); {
	case context.Cause(ctx) != nil:
		return sdk.Errorf(sdk.CodeCanceled, "the start of ext.%s was canceled: %w", p.name, context.Cause(ctx))
	case startErr != nil:
		return invalid("%s cannot be run: %w", p.binary.path, startErr).
			WithHint("install a build of the extension for this machine")
	case lineErr != nil:
		return lineErr
	case startCtx.Err() != nil && line != "":
		return invalid("ext.%s did not get ready in time%s", p.name, words).WithHint(hint)
	case startCtx.Err() != nil:
		return invalid("ext.%s did not announce itself in time%s", p.name, words).WithHint(hint)
	case line == "" && how != "":
		return invalid("ext.%s ended at once, before it announced itself (%s)%s", p.name, how, words).WithHint(hint)
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Code != sdk.CodeBackendFailed {
		return err
	}
	return invalid("ext.%s broke the protocol at its start: %w%s", p.name, err, words).WithHint(hint)
}

// clip bounds what a plugin says of itself in a message.
func clip(s string) string {
	const most = 80
	return fmt.Sprintf("%.*q", most, s)
}

// quietLogger is for go-plugin's own messages: what goes wrong is an error of
// ours as well. The plugin's log lines pass through Named, at their level.
type quietLogger struct{ hclog.Logger }

func (l quietLogger) Info(msg string, args ...any)  { l.Debug(msg, args...) }
func (l quietLogger) Warn(msg string, args ...any)  { l.Debug(msg, args...) }
func (l quietLogger) Error(msg string, args ...any) { l.Debug(msg, args...) }
