package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// The figures of docs/performance.md that take the whole program. Those of
// Docker stand beside them where a Docker engine answers.

// percentiles reports the median and the 99th percentile of what b timed.
type percentiles struct{ times []time.Duration }

func (p *percentiles) time(fn func()) {
	begin := time.Now()
	fn()
	p.times = append(p.times, time.Since(begin))
}

func (p *percentiles) report(b *testing.B) {
	slices.Sort(p.times)
	at := func(q int) float64 { return float64(p.times[(len(p.times)-1)*q/100].Microseconds()) / 1000 }
	b.ReportMetric(at(50), "p50-ms")
	b.ReportMetric(at(99), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// bare is an HTTP client without the checks that the tests make of each reply.
func (s *running) bare() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}}}
}

func (s *running) post(b *testing.B, c *http.Client, path, body string, want int) {
	r, err := http.NewRequest("POST", "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	res, err := c.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		b.Fatalf("%s: status %d, %v: %s", path, res.StatusCode, err, text)
	}
}

// BenchmarkHTTPExec is exec of true over HTTP, with a resident service.
func BenchmarkHTTPExec(b *testing.B) {
	s := startServe(b, newHost(b))
	path := "/v1/sandboxes/" + s.create(tree(b, 20, 100), "") + "/exec"
	c, body := s.bare(), command("true")
	var p percentiles
	for b.Loop() {
		p.time(func() { s.post(b, c, path, body, http.StatusOK) })
	}
	p.report(b)
}

// BenchmarkHTTPCreate is create of a small repository over HTTP; the destroy is
// not timed.
func BenchmarkHTTPCreate(b *testing.B) {
	h := newHost(b)
	s := startServe(b, h)
	c, body := s.bare(), createBody(tree(b, 20, 100), "")
	var p percentiles
	for b.Loop() {
		p.time(func() { s.post(b, c, "/v1/sandboxes", body, http.StatusCreated) })
		b.StopTimer()
		destroyAll(h)
		b.StartTimer()
	}
	p.report(b)
}

func destroyAll(h *host) {
	out, _ := h.run(0, "list", "-q")
	for _, id := range strings.Fields(out) {
		h.run(0, "destroy", id)
	}
}

// BenchmarkCLIExec is the whole program, with and without a service.
func BenchmarkCLIExec(b *testing.B) {
	for _, mode := range []string{"local", "service"} {
		b.Run(mode, func(b *testing.B) {
			h := newHost(b)
			id := h.create(tree(b, 20, 100))
			client := *h
			if mode == "service" {
				s := startServe(b, h)
				client.env = append(slices.Clone(h.env), "SANDBOXER_ADDR=unix://"+s.socket, "SANDBOXER_EXEC_TOKEN="+testToken)
			}
			var p percentiles
			for b.Loop() {
				p.time(func() { client.run(0, "exec", id, "--", "true") })
			}
			p.report(b)
		})
	}
}

// BenchmarkDocker is docker exec and docker run -d of the same, in an image of
// busybox alone.
func BenchmarkDocker(b *testing.B) {
	if err := exec.Command("docker", "info").Run(); err != nil {
		b.Skipf("no Docker engine answers: %v", err)
	}
	const image = "sandboxer-bench"
	build := "d=$(mktemp -d) && mkdir $d/bin && cp $(command -v busybox) $d/bin/ && ln -s busybox $d/bin/true && ln -s busybox $d/bin/sleep && tar -C $d -c . | docker import - " + image + " && rm -r $d"
	docker := func(args ...string) string {
		out, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil {
			b.Fatalf("docker %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if out, err := exec.Command("sh", "-c", build).CombinedOutput(); err != nil {
		b.Fatalf("make an image: %v: %s", err, out)
	}
	b.Cleanup(func() { docker("rmi", "-f", image) })
	b.Run("exec", func(b *testing.B) {
		id := docker("run", "-d", "--network", "none", image, "sleep", "3000")
		defer docker("rm", "-f", id)
		var p percentiles
		for b.Loop() {
			p.time(func() { docker("exec", id, "true") })
		}
		p.report(b)
	})
	b.Run("run", func(b *testing.B) {
		var p percentiles
		for b.Loop() {
			var id string
			p.time(func() { id = docker("run", "-d", "--network", "none", image, "sleep", "3000") })
			b.StopTimer()
			docker("rm", "-f", id)
			b.StartTimer()
		}
		p.report(b)
	})
}
