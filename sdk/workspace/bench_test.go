package workspace_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk/workspace"
)

const (
	benchFiles = 11_500
	benchBytes = 156 << 20
)

// BenchmarkCopy copies a tree like that of a large repository, each time beside
// cp -a, and reports how long it takes in proportion.
func BenchmarkCopy(b *testing.B) {
	source := benchTree(b)
	var ours, theirs time.Duration
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		start := time.Now()
		if out, err := exec.Command("cp", "-a", source, filepath.Join(dir, "cp")).CombinedOutput(); err != nil {
			b.Fatalf("cp: %v\n%s", err, out)
		}
		theirs += time.Since(start)
		dest := filepath.Join(dir, "copy")
		b.StartTimer()
		start = time.Now()
		stats, err := workspace.Copy(context.Background(), source, dest, keepOwner)
		ours += time.Since(start)
		b.StopTimer()
		if err != nil || stats.Files != benchFiles {
			b.Fatalf("Copy: %+v, %v", stats, err)
		}
		if err := workspace.Remove(dir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(ours)/float64(theirs), "of-cp")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "cp-ms/op")
}

// BenchmarkRemove removes the same tree, beside rm -rf.
func BenchmarkRemove(b *testing.B) {
	source := benchTree(b)
	var ours, theirs time.Duration
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		for _, name := range []string{"a", "b"} {
			if _, err := workspace.Copy(context.Background(), source, filepath.Join(dir, name), keepOwner); err != nil {
				b.Fatal(err)
			}
		}
		start := time.Now()
		if out, err := exec.Command("rm", "-rf", filepath.Join(dir, "a")).CombinedOutput(); err != nil {
			b.Fatalf("rm: %v\n%s", err, out)
		}
		theirs += time.Since(start)
		b.StartTimer()
		start = time.Now()
		if err := workspace.Remove(filepath.Join(dir, "b")); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "of-rm")
}

// benchTree makes a tree of benchFiles files and benchBytes bytes: most files
// small, a few large, four levels deep.
func benchTree(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	weights, sum := make([]float64, benchFiles), 0.0
	for i := range weights {
		weights[i] = math.Exp(rnd.NormFloat64() * 1.6)
		sum += weights[i]
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(rnd.Uint32())
	}
	for i, w := range weights {
		dir := filepath.Join(root, fmt.Sprint("d", i%7), fmt.Sprint("d", i/7%12), fmt.Sprint("d", i/84%14))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("file-%d.go", i)))
		if err != nil {
			b.Fatal(err)
		}
		for left := int(w / sum * benchBytes); left > 0; {
			n, err := f.Write(block[:min(left, len(block))])
			if err != nil {
				b.Fatal(err)
			}
			left -= n
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return root
}
