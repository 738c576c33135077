package extension

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire"
)

var errClosed = errors.New("the extension host is closed")

// supervisor keeps one process of one extension: started at the first call,
// again at the next call after a crash, and then with a growing pause.
type supervisor struct {
	host *Host
	name string

	turn chan struct{} // held, by sending, by who starts or stops the process

	mu      sync.Mutex
	process *process // nil before the first start
	pause   backoff  // held by turn
}

func newSupervisor(h *Host, name string) *supervisor {
	return &supervisor{host: h, name: name, turn: make(chan struct{}, 1)}
}

// acquire returns a process that can take calls.
func (s *supervisor) acquire(ctx context.Context) (*process, error) {
	if p := s.running(); p != nil {
		return p, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.host.ctx, func() { cancel(errClosed) })
	defer stop()

	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, s.canceled(ctx)
	}
	if p := s.running(); p != nil {
		return p, nil // somebody else has started it
	}
	if s.host.ctx.Err() != nil { // at once, where AfterFunc may lag
		cancel(errClosed)
		return nil, s.canceled(ctx)
	}
	path, err := s.host.cfg.Finder.Find(s.name)
	if err != nil {
		return nil, err
	}
	s.noteCrash()
	select {
	case <-time.After(time.Until(s.pause.retryAt)):
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, s.canceled(ctx)
	}
	p, started, err := launch(ctx, &s.host.cfg, s.name, path)
	if err != nil {
		if started && ctx.Err() == nil {
			s.pause.ended(0, time.Now())
		}
		return nil, err
	}
	s.mu.Lock()
	s.process = p
	s.mu.Unlock()
	if s.pause.failures > 0 && s.host.cfg.OnRestart != nil {
		s.host.cfg.OnRestart(s.name)
	}
	return p, nil
}

func (s *supervisor) running() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || !s.process.alive() {
		return nil
	}
	return s.process
}

// noteCrash makes the pause longer for the process that died, once.
func (s *supervisor) noteCrash() {
	s.mu.Lock()
	p := s.process
	s.process = nil
	s.mu.Unlock()
	if p != nil {
		<-p.gone
		ended := p.runner.endedAt()
		s.pause.ended(ended.Sub(p.started), ended)
	}
}

func (s *supervisor) canceled(ctx context.Context) error {
	return sdk.Errorf(sdk.CodeCanceled, "ext.%s was not called: %w", s.name, context.Cause(ctx))
}

// close ends the process, if there is one. The host's context has ended, so
// that no other is started.
func (s *supervisor) close(ctx context.Context) error {
	s.turn <- struct{}{} // a start that is under way is being canceled
	defer func() { <-s.turn }()
	s.mu.Lock()
	p := s.process
	s.process = nil
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.stop(ctx)
}

// with makes one call that needs the capability want, "" for none. It never
// makes it twice.
func with[T any](ctx context.Context, s *supervisor, want sdk.Capability, call func(sdk.Features) (T, error)) (T, error) {
	var none T
	p, err := s.acquire(ctx)
	if err != nil {
		return none, err
	}
	if want != "" && !slices.Contains(p.handshake.Capabilities, want) {
		return none, sdk.Errorf(sdk.CodeBackendFailed, "ext.%s no longer offers %s", s.name, want).
			WithHint("its file was replaced while it was in use; open it again")
	}
	result, err := call(p.features)
	if err == nil {
		return result, nil
	}
	return result, p.explain(err)
}

// explain tells in the error of a call how the process ended, if that is why
// the call failed. A process whose connection broke is of no more use.
func (p *process) explain(err error) error {
	if !errors.Is(err, wire.ErrEnded) {
		return err
	}
	how, words, killed := p.runner.end()
	if !killed {
		// Its end follows the break of its connection, or it needs a hand.
		select {
		case <-p.runner.done:
		case <-time.After(connectionGrace):
		}
		how, words, _ = p.runner.end()
	}
	if killErr := p.kill(); killErr != nil {
		return killErr
	}
	switch {
	case killed:
		how = "stopped by the host"
	case how == "":
		how = "it closed its connection"
	}
	e := sdk.Errorf(sdk.CodeBackendFailed, "%w (ext.%s: %s)", err, p.name, how)
	if words != "" {
		return e.WithHint("its last words were %q", words)
	}
	return e
}

// connectionGrace is how long after the break of its connection a process has
// to end by itself, so that the host learns how.
const connectionGrace = time.Second

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
	// healthyRun is how long a process has run when its crash counts as the
	// first again.
	healthyRun = time.Minute
)

// backoff is when a process that crashes may be started again.
type backoff struct {
	failures int
	retryAt  time.Time
}

// ended notes that a process which ran for so long failed at a time.
func (b *backoff) ended(ran time.Duration, at time.Time) {
	if ran >= healthyRun {
		b.failures = 0
	}
	pause := longestPause
	if b.failures < 10 {
		pause = min(firstPause<<b.failures, longestPause)
	}
	b.failures++
	b.retryAt = at.Add(pause)
}
