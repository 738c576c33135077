package wire

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// wantLie fails unless err is backend_failed with words in its message.
func wantLie(t *testing.T, err error, words string) {
	t.Helper()
	if sdk.CodeOf(err) != sdk.CodeBackendFailed || !strings.Contains(err.Error(), words) {
		t.Errorf("got %s %q, want %s with %q", sdk.CodeOf(err), err, sdk.CodeBackendFailed, words)
	}
}

func output(stream pluginpb.Stream, n int) *pluginpb.ExecResponse {
	return &pluginpb.ExecResponse{Frame: &pluginpb.ExecResponse_Output{
		Output: &pluginpb.ExecOutput{Stream: stream, Data: bytes.Repeat([]byte("x"), n)},
	}}
}

func exit(e *pluginpb.ExecExit) *pluginpb.ExecResponse {
	return &pluginpb.ExecResponse{Frame: &pluginpb.ExecResponse_Exit{Exit: e}}
}

func TestHostileExec(t *testing.T) {
	const stdout = pluginpb.Stream_STREAM_STDOUT
	ok := &pluginpb.ExecExit{Outcome: "exited"}
	tests := []struct {
		name   string
		frames []*pluginpb.ExecResponse
		want   string
	}{
		{"no exit frame", []*pluginpb.ExecResponse{output(stdout, 5)}, "ended the stream without a result"},
		{"nothing at all", nil, "ended the stream without a result"},
		{"an empty frame", []*pluginpb.ExecResponse{{}}, "unknown frame"},
		{"an unknown stream", []*pluginpb.ExecResponse{output(9, 1)}, "unknown stream"},
		{"a chunk too large", []*pluginpb.ExecResponse{output(stdout, maxChunkBytes+1)}, "chunk"},
		{"more output than asked for", []*pluginpb.ExecResponse{output(stdout, 90), output(stdout, 20), exit(ok)}, "lied about stdout"},
		{"frames after the exit", []*pluginpb.ExecResponse{exit(ok), output(stdout, 1)}, "went on after its result"},
		{"two exits", []*pluginpb.ExecResponse{exit(ok), exit(ok)}, "went on after its result"},
		{"no outcome", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{})}, "unknown outcome"},
		{"an exit code that wraps to 0", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "exited", ExitCode: 256})}, "exit code 256"},
		{"a negative exit code", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "exited", ExitCode: -1})}, "exit code -1"},
		{"a signal without a name", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "signaled"})}, "name of a signal"},
		{"a signal with a forged name", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "signaled", Signal: "SIG\x1b[2J"})}, "name of a signal"},
		{"start_failed without a reason", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "start_failed"})}, "did not say why"},
		{"a negative duration", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "exited", Duration: durationpb.New(-1)})}, "negative"},
		{"negative survivors", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "exited", SurvivorsKilled: -1})}, "negative"},
		{"negative output", []*pluginpb.ExecResponse{exit(&pluginpb.ExecExit{Outcome: "exited", StderrBytes: -1})}, "counted less"},
		{"output not counted", []*pluginpb.ExecResponse{output(stdout, 5), exit(ok)}, "counted less"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, _ := connectHostile(t, &hostile{exec: func(s execStream) error {
				for _, frame := range test.frames {
					if err := s.Send(frame); err != nil {
						return nil
					}
				}
				return nil
			}})
			var got bytes.Buffer
			_, err := f.Exec(t.Context(), sdk.ExecRequest{MaxOutputBytes: 100}, sdk.ExecOutput{Stdout: &got})
			wantLie(t, err, test.want)
			if got.Len() > 100 {
				t.Errorf("%d bytes got through", got.Len())
			}
		})
	}
}

func TestExecOfferedButNotServed(t *testing.T) {
	f, _ := connectHostile(t, &hostile{})
	_, err := f.Exec(t.Context(), sdk.ExecRequest{}, sdk.ExecOutput{})
	wantLie(t, err, "does not serve a call that it offers")
	_, err = f.Inspect(t.Context(), testRef)
	wantLie(t, err, "does not serve a call that it offers")
}

func TestHostileCreate(t *testing.T) {
	event := func(e *pluginpb.CreateResponse) []*pluginpb.CreateResponse { return []*pluginpb.CreateResponse{e} }
	checkpoint := func(seq uint64, n int) *pluginpb.CreateResponse {
		return &pluginpb.CreateResponse{Event: &pluginpb.CreateResponse_Checkpoint{
			Checkpoint: &pluginpb.Checkpoint{Seq: seq, Handle: &pluginpb.Handle{Data: make([]byte, n)}},
		}}
	}
	done := func(c sdk.Created) *pluginpb.CreateResponse {
		if c.Execution == "" {
			c.Execution = sdk.ExecutionSSH
		}
		return &pluginpb.CreateResponse{Event: &pluginpb.CreateResponse_Done{Done: createdToProto(c)}}
	}
	reach := func(r sdk.Reachability) []*pluginpb.CreateResponse {
		return event(done(sdk.Created{Reachability: r}))
	}
	tests := []struct {
		name   string
		events []*pluginpb.CreateResponse
		want   string
	}{
		{"no result", nil, "ended the stream without a result"},
		{"an empty event", event(&pluginpb.CreateResponse{}), "unknown event"},
		{"a checkpoint too large", event(checkpoint(1, sdk.MaxHandleBytes+1)), "handle of 65537 bytes"},
		{"a checkpoint out of order", event(checkpoint(2, 1)), "checkpoint 2 where 1 was due"},
		{"a final handle too large", event(done(sdk.Created{Handle: sdk.Handle{Data: make([]byte, sdk.MaxHandleBytes+1)}})), "handle of"},
		{"done in spite of a refusal", []*pluginpb.CreateResponse{checkpoint(1, 1), done(sdk.Created{})}, "although the host refused"},
		{"two results", []*pluginpb.CreateResponse{done(sdk.Created{}), done(sdk.Created{})}, "went on after its result"},
		{"an unknown execution mode", event(done(sdk.Created{Execution: "yolo"})), "execution mode"},
		{"a negative limit", event(done(sdk.Created{Limits: []sdk.Limit{{Name: "cpus", Value: -1}}})), "negative limit"},
		{"a negative pid", reach(sdk.Reachability{PID: -1}), "negative pid"},
		{"an option as ssh target", reach(sdk.Reachability{SSH: "-oProxyCommand=id"}), "ssh target"},
		{"a relative directory", reach(sdk.Reachability{RemoteDir: "work"}), "absolute directory"},
		{"local and remote", reach(sdk.Reachability{PID: 1, SSH: "host"}), "local and remote"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, _ := connectHostile(t, &hostile{create: func(s createStream) error {
				for _, e := range test.events {
					if err := s.Send(e); err != nil {
						return nil
					}
				}
				return nil
			}})
			_, err := f.Create(t.Context(), sdk.CreateRequest{}, progress{
				checkpoint: func(sdk.Handle) error { return errors.New("refused") },
			})
			wantLie(t, err, test.want)
		})
	}
}

func TestHostileList(t *testing.T) {
	for _, id := range []string{"", "../../etc", "sbx-01J0000000000000000000000A", testID + "\n"} {
		f, _ := connectHostile(t, &hostile{list: &pluginpb.ListResponse{Found: []*pluginpb.Found{{SandboxId: testID}, {SandboxId: id}}}})
		_, err := f.List(t.Context(), "host-1")
		wantLie(t, err, "no sandbox id")
	}
}

func TestHostileHandshake(t *testing.T) {
	info := &pluginpb.Info{Name: "x", Version: "1.0.0"}
	deep := &pluginpb.Schema{}
	for range maxSchemaDepth {
		deep = &pluginpb.Schema{Blocks: []*pluginpb.NestedBlock{{Schema: deep}}}
	}
	tests := []struct {
		name string
		resp *pluginpb.HandshakeResponse
		want string
	}{
		{"no name", &pluginpb.HandshakeResponse{}, "name and version"},
		{"a malformed capability", &pluginpb.HandshakeResponse{Info: info, Capabilities: []string{"exec\x1b"}}, "malformed name"},
		{"too many capabilities", &pluginpb.HandshakeResponse{Info: info, Capabilities: make([]string, 65)}, "65 capabilities"},
		{"a bottomless schema", &pluginpb.HandshakeResponse{Info: &pluginpb.Info{Name: "x", Version: "1", Schema: deep}}, "nested more than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := grpc.NewServer()
			pluginpb.RegisterBackendServiceServer(s, &hostile{handshake: test.resp})
			conn, _ := dial(t, s)
			_, _, err := Connect(t.Context(), conn, HostInfo{})
			wantLie(t, err, test.want)
		})
	}
}

func TestProcessThatEndsDuringACall(t *testing.T) {
	var hangup func()
	f, hangup := connectHostile(t, &hostile{
		exec: func(s execStream) error {
			_ = s.Send(output(pluginpb.Stream_STREAM_STDOUT, 1))
			hangup()
			<-s.Context().Done()
			return nil
		},
		create: func(s createStream) error {
			hangup()
			<-s.Context().Done()
			return nil
		},
	})
	_, err := f.Exec(t.Context(), sdk.ExecRequest{MaxOutputBytes: 9}, sdk.ExecOutput{})
	wantLie(t, err, "the extension process ended during the call")
	if !errors.Is(err, ErrEnded) {
		t.Error("not ErrEnded")
	}
}

func TestPluginThatIgnoresItsCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f, _ := connectHostile(t, &hostile{exec: func(s execStream) error {
			cancel()
			<-s.Context().Done()
			return nil
		}})
		_, err := f.Exec(ctx, sdk.ExecRequest{}, sdk.ExecOutput{})
		wantLie(t, err, "did not end the call within")
	})
}

func TestPluginThatIgnoresTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := connectHostile(t, &hostile{exec: func(s execStream) error {
			<-s.Context().Done()
			return nil
		}})
		begin := time.Now()
		_, err := f.Exec(t.Context(), sdk.ExecRequest{Deadline: begin.Add(time.Minute)}, sdk.ExecOutput{})
		wantLie(t, err, "did not end the call within")
		if took := time.Since(begin); took != time.Minute+overdue+cancelWait {
			t.Errorf("the host waited %v", took)
		}
	})
}

func TestPluginThatHangsAfterItsResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := connectHostile(t, &hostile{exec: func(s execStream) error {
			_ = s.Send(exit(&pluginpb.ExecExit{Outcome: "exited"}))
			<-s.Context().Done()
			return nil
		}})
		_, err := f.Exec(t.Context(), sdk.ExecRequest{}, sdk.ExecOutput{})
		wantLie(t, err, "did not end the stream after its result")
	})
}
