package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tegwick/sand-boxer/core/api"
	"github.com/tegwick/sand-boxer/sdk"
)

const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	// cancelTimeout is how long ended commands have to be noted: their grace,
	// and some more for the kill and the record.
	cancelTimeout = sdk.KillGrace + 5*time.Second
)

// resident is a service that has its listeners and serves nothing yet.
type resident struct {
	http      *http.Server
	listeners *listeners
	reaper    *reaper
	log       hclog.Logger
	drain     time.Duration
	// cancel ends what still runs.
	cancel context.CancelFunc
	stop   context.Context
}

func newResident(ctx context.Context, f serveFlags, l *local, on *listeners, c api.Config) *resident {
	// The end of ctx is where draining begins, not where requests end.
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.Stop = stop
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &resident{
		http: &http.Server{
			Handler:                      api.New(c),
			ReadHeaderTimeout:            headerTimeout,
			IdleTimeout:                  idleTimeout,
			MaxHeaderBytes:               maxHeaderBytes,
			Protocols:                    protocols,
			DisableGeneralOptionsHandler: true,
			BaseContext:                  func(net.Listener) context.Context { return stop },
			ErrorLog:                     c.Log.Named("http").StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
		},
		listeners: on, log: c.Log, drain: f.drainTimeout, stop: stop, cancel: cancel,
		reaper: &reaper{owner: l.owner, interval: f.reapInterval, metrics: c.Metrics, log: c.Log.Named("reaper")},
	}
}

// run serves until ctx ends, and returns when nothing runs any more. ready is
// called when requests are answered.
func (r *resident) run(ctx context.Context, ready func() error) error {
	defer r.cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var running sync.WaitGroup
	for _, l := range r.listeners.all {
		running.Go(func() {
			if err := r.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				fail(fmt.Errorf("serve %s: %w", l.Addr(), err))
			}
		})
	}
	running.Go(func() { r.reaper.run(ctx, r.stop) })
	if err := ready(); err != nil {
		fail(err)
	}
	notify("READY=1")
	<-ctx.Done()
	notify("STOPPING=1")
	r.shutdown()
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// shutdown lets running requests end, and then ends them.
func (r *resident) shutdown() {
	r.log.Info("stopping", "drain_timeout", r.drain.String())
	drain, cancel := context.WithTimeout(context.Background(), r.drain)
	defer cancel()
	if err := r.http.Shutdown(drain); err == nil {
		r.cancel()
		return
	}
	r.log.Warn("requests that still run are ended")
	r.cancel()
	end, cancel := context.WithTimeout(context.Background(), cancelTimeout)
	defer cancel()
	if err := r.http.Shutdown(end); err != nil {
		r.log.Error("a request does not end", "error", err)
		r.http.Close()
	}
}
