// Package extension finds, checks, launches and supervises extensions, and
// hands out their sdk.Features. Each extension runs as one process, shared by
// all callers, which speaks package wire over go-plugin.
//
// The program of an extension has the rights of the host, so it must belong to
// root or to the host's user and be writable by nobody else. What the process
// says is not trusted.
package extension

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const defaultStartTimeout = 10 * time.Second

// Config says how a Host runs extensions. The zero value finds none.
type Config struct {
	Finder Finder
	// Version is the host's, told to the extensions.
	Version string
	// WorkDir is the parent of the directories of which each extension has
	// one, named in its environment as SANDBOXER_WORK_DIR. Both are made with
	// mode 0711. Empty: extensions get none.
	WorkDir string
	// Env holds "NAME=VALUE" entries for the extensions, which otherwise see
	// PATH, HOME, LANG and TMPDIR of the host. SANDBOXER_EXEC_TOKEN is never
	// passed on.
	Env []string
	// Log takes the log of the extensions and of their supervision. Nil
	// discards it.
	Log hclog.Logger
	// StartTimeout bounds the start of a process; 0 is 10 s.
	StartTimeout time.Duration
	// SocketDir is the parent of the private directories of the sockets.
	// Empty, relative or too long for a socket's path: the temporary directory.
	SocketDir string
	// Verify, if not nil, is called before a program is run. It returns an
	// error to forbid it. digest is the SHA-256 of the program in hex.
	Verify func(name, path, digest string) error
	// OnRestart, if not nil, is called each time a process was started after
	// an earlier one crashed. It returns at once.
	OnRestart func(name string)
}

// Host runs extensions. It is safe for concurrent use.
type Host struct {
	cfg    Config
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	sweep  sync.Once

	mu    sync.Mutex
	names map[string]*supervisor
}

// New returns a Host that runs nothing yet. The caller calls Close.
func New(cfg Config) *Host {
	if cfg.Log == nil {
		cfg.Log = hclog.NewNullLogger()
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = defaultStartTimeout
	}
	cfg.Env = slices.Clone(cfg.Env)
	ctx, cancel := context.WithCancel(context.Background())
	return &Host{cfg: cfg, ctx: ctx, cancel: cancel, names: make(map[string]*supervisor)}
}

// Open returns the extension, with or without its "ext." prefix, and starts its
// process unless it runs. It fails with sdk.CodeExtensionNotFound,
// sdk.CodeExtensionInvalid or sdk.CodeVersionMismatch; nothing is then left
// of the process. After a crash it waits out the pause before the next start.
func (h *Host) Open(ctx context.Context, name string) (*Extension, error) {
	name, err := extensionName(name)
	if err != nil {
		return nil, err
	}
	h.sweep.Do(func() { sweepSocketDirs(socketBase(h.cfg.SocketDir)) })
	s := h.supervisor(name)
	p, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &Extension{
		Info:         p.handshake.Info,
		Capabilities: slices.Clone(p.handshake.Capabilities),
		Digest:       p.digest,
		Path:         p.binary.path,
		supervisor:   s,
	}, nil
}

func (h *Host) supervisor(name string) *supervisor {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.names[name]
	if !ok {
		s = newSupervisor(h, name)
		h.names[name] = s
	}
	return s
}

// Close lets running calls end until shortly before the deadline of ctx, 5 s
// when it has none; cancels the rest; and ends every process. When it returns
// nil they are dead and nothing of them is left. Calls made later fail with
// sdk.CodeCanceled.
func (h *Host) Close(ctx context.Context) error {
	h.cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	var wg sync.WaitGroup
	errs := make(chan error, len(h.names))
	for _, s := range h.names {
		wg.Go(func() { errs <- s.close(ctx) })
	}
	wg.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}
