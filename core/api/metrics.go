package api

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tegwick/sand-boxer/core/sandbox"
)

// Metrics counts what the service does. Its methods may be called from several
// goroutines.
type Metrics struct {
	registry       *prometheus.Registry
	handler        http.Handler
	creates, execs *prometheus.HistogramVec
	refusals       *prometheus.CounterVec
	restarts       *prometheus.CounterVec
	reaped         *prometheus.CounterVec
}

// outcomeReady is how a create ended that made a sandbox.
const outcomeReady = "ready"

// NewMetrics returns metrics that have counted nothing yet. They belong to one
// API.
func NewMetrics() *Metrics {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, []string{"profile", "outcome"})
	}
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		creates:  histogram("sandboxer_create_duration_seconds", "How long creates took, by profile and outcome."),
		execs:    histogram("sandboxer_exec_duration_seconds", "How long commands ran, by profile and outcome."),
		refusals: counter("sandboxer_refusals_total", "Requests that were refused or failed, by code.", "code"),
		restarts: counter("sandboxer_extension_restarts_total", "Processes of extensions that were started anew after a crash.", "extension"),
		reaped:   counter("sandboxer_reaped_total", "Sandboxes that the reaper found, by result.", "result"),
	}
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	m.registry.MustRegister(m.creates, m.execs, m.refusals, m.restarts, m.reaped,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, result := range []string{reapDestroyed, reapFailed} {
		m.reaped.WithLabelValues(result)
	}
	return m
}

func (m *Metrics) serve(x *exchange) error {
	m.handler.ServeHTTP(x, x.request)
	return nil
}

// watch has the sandboxes counted at each look at the metrics.
func (m *Metrics) watch(o Reader) { m.registry.MustRegister(&census{o}) }

// created counts a create of a profile that is there; "" stands for all others, of
// which a client could name any number.
func (m *Metrics) created(profile string, took time.Duration, err error) {
	outcome := outcomeReady
	if err != nil {
		outcome = problemOf(err).Code
	}
	m.creates.WithLabelValues(profile, outcome).Observe(took.Seconds())
}

func (m *Metrics) executed(r sandbox.ExecResult) {
	m.execs.WithLabelValues(r.Sandbox.Profile, string(r.Outcome)).Observe(r.Duration.Seconds())
}

func (m *Metrics) refused(code string) { m.refusals.WithLabelValues(code).Inc() }

// ExtensionRestarted counts a process of an extension that was started after
// another had crashed.
func (m *Metrics) ExtensionRestarted(name string) { m.restarts.WithLabelValues(name).Inc() }

// Results of a reap.
const (
	reapDestroyed = "destroyed"
	reapFailed    = "failed"
)

// Reaped counts what a reap did. A reap that itself failed counts as one
// failure.
func (m *Metrics) Reaped(reaped []sandbox.Reaped, err error) {
	if err != nil {
		m.reaped.WithLabelValues(reapFailed).Inc()
	}
	for _, r := range reaped {
		result := reapDestroyed
		if r.Err != nil {
			result = reapFailed
		}
		m.reaped.WithLabelValues(result).Inc()
	}
}

// census counts the sandboxes that are not destroyed.
type census struct{ owner Reader }

var sandboxesDesc = prometheus.NewDesc("sandboxer_sandboxes", "Sandboxes that are not destroyed, by state.", []string{"state"}, nil)

// censusTimeout bounds the wait for the state directory.
const censusTimeout = 5 * time.Second

func (c *census) Describe(out chan<- *prometheus.Desc) { out <- sandboxesDesc }

func (c *census) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), censusTimeout)
	defer cancel()
	var f sandbox.Filter
	counts := map[string]int{}
	for _, state := range states[:len(states)-1] { // the last is destroyed
		f.States = append(f.States, sandbox.State(state))
		counts[state] = 0
	}
	page, err := c.owner.List(ctx, f)
	if err != nil {
		out <- prometheus.NewInvalidMetric(sandboxesDesc, err)
		return
	}
	for _, s := range page.Records {
		counts[string(s.State)]++
	}
	for state, n := range counts {
		out <- prometheus.MustNewConstMetric(sandboxesDesc, prometheus.GaugeValue, float64(n), state)
	}
}
