package wire

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire/pluginpb"
)

func TestServicesMatchCapabilities(t *testing.T) {
	everything := []sdk.Capability{sdk.CapExec, sdk.CapHealth, sdk.CapInspect, sdk.CapRenew, sdk.CapValidate}
	tests := []struct {
		name     string
		backend  sdk.Backend
		caps     []sdk.Capability
		services []string
	}{
		{"bare", &bare{}, nil, []string{"BackendService"}},
		{"full", &full{}, everything, []string{
			"BackendService", "ExecService", "HealthService", "InspectService", "RenewService", "ValidateService",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := NewServer(test.backend)
			var services []string
			for name := range s.GetServiceInfo() {
				services = append(services, name[len("sandboxer.plugin.v1."):])
			}
			slices.Sort(services)
			if diff := cmp.Diff(test.services, services); diff != "" {
				t.Errorf("registered services:\n%s", diff)
			}
			conn, _ := dial(t, s)
			f, h, err := Connect(t.Context(), conn, HostInfo{})
			if err != nil {
				t.Fatal(err)
			}
			want := Handshake{Info: sdk.Info{Name: "fake", Version: "1.2.3"}, Minor: ProtocolMinor, Capabilities: test.caps}
			if diff := cmp.Diff(want, h); diff != "" {
				t.Errorf("handshake:\n%s", diff)
			}
			if diff := cmp.Diff(test.caps, f.Capabilities()); diff != "" {
				t.Errorf("features:\n%s", diff)
			}
		})
	}
}

func TestServicesCoverEveryCapability(t *testing.T) {
	var caps []sdk.Capability
	for _, s := range services {
		caps = append(caps, s.capability)
	}
	slices.Sort(caps)
	if diff := cmp.Diff(sdk.FeaturesOf(&full{}).Capabilities(), caps); diff != "" {
		t.Errorf("the table and package sdk differ:\n%s", diff)
	}
}

func TestUnknownCapabilitiesAreKeptAndIgnored(t *testing.T) {
	s := grpc.NewServer()
	pluginpb.RegisterBackendServiceServer(s, &hostile{handshake: &pluginpb.HandshakeResponse{
		Info:         &pluginpb.Info{Name: "newer", Version: "9.0.0"},
		Minor:        7,
		Capabilities: []string{"exec.v1", "snapshot.v3"},
	}})
	conn, _ := dial(t, s)
	f, h, err := Connect(t.Context(), conn, HostInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if h.Minor != 7 || !slices.Contains(h.Capabilities, "snapshot.v3") {
		t.Errorf("handshake = %+v", h)
	}
	if diff := cmp.Diff([]sdk.Capability{sdk.CapExec}, f.Capabilities()); diff != "" {
		t.Errorf("features:\n%s", diff)
	}
}

var testRef = sdk.Ref{SandboxID: testID, HostID: "host-1", Handle: sdk.Handle{Version: 3, Data: []byte("h")}}

func TestUnaryCalls(t *testing.T) {
	at := time.Unix(1_800_000_000, 5).UTC()
	refuse := sdk.Errorf(sdk.CodeSandboxGone, "the sandbox is gone").WithHint("make a new one")
	var fail error // what the backend answers
	var got any    // what the backend was asked
	f := connect(t, &full{
		bare: bare{
			destroy: func(_ context.Context, ref sdk.Ref) (sdk.Destroyed, error) {
				got = ref
				return sdk.Destroyed{Removed: []string{"process 1", "workspace"}}, fail
			},
			list: func(_ context.Context, hostID string) ([]sdk.Found, error) {
				got = hostID
				return []sdk.Found{{SandboxID: testID, Alive: true}}, fail
			},
		},
		renew: func(_ context.Context, ref sdk.Ref, expiresAt time.Time) error {
			got = []any{ref, expiresAt}
			return fail
		},
		inspect: func(_ context.Context, ref sdk.Ref) (sdk.Status, error) {
			got = ref
			return sdk.Status{Reason: "its TTL passed"}, fail
		},
		health: func(context.Context) (sdk.Health, error) {
			return sdk.Health{Usable: true, Unavailable: []sdk.Capability{sdk.CapExec}}, fail
		},
		validate: func(_ context.Context, config []byte) ([]sdk.Diagnostic, error) {
			got = string(config)
			return []sdk.Diagnostic{{Summary: "bad image", Path: []string{"image"}}}, fail
		},
	})
	tests := []struct {
		name   string
		call   func(context.Context) (any, error)
		asked  any
		answer any
	}{
		{"Destroy", func(ctx context.Context) (any, error) { return f.Destroy(ctx, testRef) },
			testRef, sdk.Destroyed{Removed: []string{"process 1", "workspace"}}},
		{"List", func(ctx context.Context) (any, error) { return f.List(ctx, "host-1") },
			"host-1", []sdk.Found{{SandboxID: testID, Alive: true}}},
		{"Renew", func(ctx context.Context) (any, error) { return nil, f.Renew(ctx, testRef, at) },
			[]any{testRef, at}, nil},
		{"Inspect", func(ctx context.Context) (any, error) { return f.Inspect(ctx, testRef) },
			testRef, sdk.Status{Reason: "its TTL passed"}},
		{"Health", func(ctx context.Context) (any, error) { return f.Health(ctx) },
			nil, sdk.Health{Usable: true, Unavailable: []sdk.Capability{sdk.CapExec}}},
		{"ValidateConfig", func(ctx context.Context) (any, error) { return f.ValidateConfig(ctx, []byte(`{"a":1}`)) },
			`{"a":1}`, []sdk.Diagnostic{{Summary: "bad image", Path: []string{"image"}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, fail = nil, nil
			answer, err := test.call(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.asked, got); diff != "" {
				t.Errorf("the backend was asked (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.answer, answer); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			fail = refuse
			_, err = test.call(t.Context())
			if e := sdk.AsError(err); err == nil || e.Code != refuse.Code || e.Message != refuse.Message || e.Hint != refuse.Hint {
				t.Errorf("the backend's error arrived as %#v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := test.call(ctx); sdk.CodeOf(err) != sdk.CodeCanceled {
				t.Errorf("canceled call: %v", err)
			}
		})
	}
}
