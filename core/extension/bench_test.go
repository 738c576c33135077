package extension

import (
	"context"
	"testing"

	"github.com/tegwick/sand-boxer/sdk"
)

// BenchmarkOpenCallClose is what a short-lived host pays for one call.
func BenchmarkOpenCallClose(b *testing.B) {
	dir := install(b, "good")
	for b.Loop() {
		h := New(Config{Finder: Finder{Dirs: []string{dir}}})
		e, err := h.Open(b.Context(), "good")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := e.Features().List(b.Context(), "host"); err != nil {
			b.Fatal(err)
		}
		if err := h.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExec is an exec of nothing in a process that runs.
func BenchmarkExec(b *testing.B) {
	h := newHost(b, nil, "good")
	f := open(b, h, "good")
	for b.Loop() {
		if _, err := f.Exec(b.Context(), execRequest("true"), sdk.ExecOutput{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDigest is the part of an open that grows with the program.
func BenchmarkDigest(b *testing.B) {
	for b.Loop() {
		if _, err := Digest(plugin); err != nil {
			b.Fatal(err)
		}
	}
}
