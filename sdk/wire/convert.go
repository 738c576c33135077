package wire

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

// The translations of what the host asks and of what both sides share. Each
// pair keeps every field. The answers of a plugin are in answers.go.

func timeToProto(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timeFromProto(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func durationToProto(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func handleToProto(h sdk.Handle) *pluginpb.Handle {
	return &pluginpb.Handle{Version: h.Version, Data: h.Data}
}

func handleFromProto(h *pluginpb.Handle) sdk.Handle {
	return sdk.Handle{Version: h.GetVersion(), Data: h.GetData()}
}

func refToProto(r sdk.Ref) *pluginpb.SandboxRef {
	return &pluginpb.SandboxRef{SandboxId: r.SandboxID, HostId: r.HostID, Handle: handleToProto(r.Handle)}
}

func refFromProto(r *pluginpb.SandboxRef) sdk.Ref {
	return sdk.Ref{SandboxID: r.GetSandboxId(), HostID: r.GetHostId(), Handle: handleFromProto(r.GetHandle())}
}

func createToProto(r sdk.CreateRequest) *pluginpb.CreateStart {
	return &pluginpb.CreateStart{
		SandboxId: r.SandboxID,
		HostId:    r.HostID,
		Workspace: &pluginpb.WorkspaceSource{Path: []byte(r.Workspace.Path), Exclude: r.Workspace.Exclude},
		Network:   &pluginpb.NetworkRequest{Posture: r.Network.Posture, BestEffort: r.Network.BestEffort},
		ExpiresAt: timeToProto(r.ExpiresAt),
		Config:    r.Config,
	}
}

func createFromProto(r *pluginpb.CreateStart) sdk.CreateRequest {
	return sdk.CreateRequest{
		SandboxID: r.GetSandboxId(),
		HostID:    r.GetHostId(),
		Workspace: sdk.WorkspaceSource{
			Path:    string(r.GetWorkspace().GetPath()),
			Exclude: r.GetWorkspace().GetExclude(),
		},
		Network: sdk.NetworkRequest{
			Posture:    r.GetNetwork().GetPosture(),
			BestEffort: r.GetNetwork().GetBestEffort(),
		},
		ExpiresAt: timeFromProto(r.GetExpiresAt()),
		Config:    r.GetConfig(),
	}
}

func execToProto(r sdk.ExecRequest) *pluginpb.ExecStart {
	return &pluginpb.ExecStart{
		Sandbox:        refToProto(r.Ref),
		ExecId:         r.ExecID,
		Argv:           convertAll(r.Argv, func(a string) []byte { return []byte(a) }),
		Env:            r.Env,
		Stdin:          r.Stdin,
		Deadline:       timeToProto(r.Deadline),
		MaxOutputBytes: r.MaxOutputBytes,
	}
}

func execFromProto(r *pluginpb.ExecStart) sdk.ExecRequest {
	return sdk.ExecRequest{
		Ref:            refFromProto(r.GetSandbox()),
		ExecID:         r.GetExecId(),
		Argv:           convertAll(r.GetArgv(), func(a []byte) string { return string(a) }),
		Env:            r.GetEnv(),
		Stdin:          r.Stdin, // not GetStdin: nil and empty differ
		Deadline:       timeFromProto(r.GetDeadline()),
		MaxOutputBytes: r.GetMaxOutputBytes(),
	}
}

func schemaToProto(s sdk.Schema) *pluginpb.Schema {
	out := &pluginpb.Schema{}
	for _, a := range s.Attributes {
		out.Attributes = append(out.Attributes, &pluginpb.Attribute{
			Name:        a.Name,
			Type:        a.Type,
			Required:    a.Required,
			Description: text(a.Description),
			DefaultJson: a.Default,
			OneOf:       a.OneOf,
		})
	}
	for _, b := range s.Blocks {
		out.Blocks = append(out.Blocks, &pluginpb.NestedBlock{
			Type:        b.Type,
			Description: text(b.Description),
			Repeated:    b.Repeated,
			Required:    b.Required,
			Schema:      schemaToProto(b.Schema),
		})
	}
	return out
}

// schemaFromProto expects a schema that checkSchema let pass.
func schemaFromProto(s *pluginpb.Schema) sdk.Schema {
	var out sdk.Schema
	for _, a := range s.GetAttributes() {
		out.Attributes = append(out.Attributes, sdk.Attribute{
			Name:        a.GetName(),
			Type:        a.GetType(),
			Required:    a.GetRequired(),
			Description: text(a.GetDescription()),
			Default:     a.GetDefaultJson(),
			OneOf:       a.GetOneOf(),
		})
	}
	for _, b := range s.GetBlocks() {
		out.Blocks = append(out.Blocks, sdk.NestedBlock{
			Type:        b.GetType(),
			Description: text(b.GetDescription()),
			Repeated:    b.GetRepeated(),
			Required:    b.GetRequired(),
			Schema:      schemaFromProto(b.GetSchema()),
		})
	}
	return out
}

func infoToProto(i sdk.Info) *pluginpb.Info {
	return &pluginpb.Info{Name: i.Name, Version: i.Version, Schema: schemaToProto(i.Schema)}
}

func infoFromProto(i *pluginpb.Info) sdk.Info {
	return sdk.Info{Name: i.GetName(), Version: i.GetVersion(), Schema: schemaFromProto(i.GetSchema())}
}

// text is for words of a plugin that a person will read. Both sides call it: the
// sender because gRPC refuses what is not UTF-8, the host because it trusts no
// sender.
func text(s string) string { return clean(s, maxTextBytes) }

func texts(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, text(s))
	}
	return out
}

// convertAll applies f to each element; an empty list becomes nil.
func convertAll[A, B any](list []A, f func(A) B) []B {
	var out []B
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}
