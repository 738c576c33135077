package wire

import (
	"context"
	"io"
	"testing"

	"github.com/tegwick/sand-boxer/sdk"
)

// BenchmarkExecTrue is the cost of the wire around a command that does nothing.
func BenchmarkExecTrue(b *testing.B) {
	f := connect(b, execer(func(context.Context, sdk.ExecRequest, sdk.ExecOutput) (sdk.ExecResult, error) {
		return exited(0, 0), nil
	}))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Exec(b.Context(), sdk.ExecRequest{Ref: testRef, Argv: []string{"true"}}, sdk.ExecOutput{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExecOutput moves 16 MiB of stdout an iteration.
func BenchmarkExecOutput(b *testing.B) {
	chunk := make([]byte, maxChunkBytes)
	f := connect(b, execer(func(_ context.Context, _ sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
		for range sdk.MaxOutputBytes / len(chunk) {
			if _, err := out.Stdout.Write(chunk); err != nil {
				return sdk.ExecResult{}, err
			}
		}
		return exited(sdk.MaxOutputBytes, 0), nil
	}))
	b.SetBytes(sdk.MaxOutputBytes)
	b.ReportAllocs()
	for b.Loop() {
		_, err := f.Exec(b.Context(), sdk.ExecRequest{MaxOutputBytes: sdk.MaxOutputBytes}, sdk.ExecOutput{Stdout: io.Discard})
		if err != nil {
			b.Fatal(err)
		}
	}
}
