package extension

import (
	"context"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

// Extension is an extension as its process described it when it was opened.
type Extension struct {
	Info sdk.Info
	// Capabilities are those that the extension offers; one that this host
	// does not know has no func in Features.
	Capabilities []sdk.Capability
	// Digest is the SHA-256 of the program that was run, in hex.
	Digest string
	// Path is where that program was found.
	Path string

	supervisor *supervisor
}

// Features returns what the extension can do. The funcs are safe for concurrent
// use until the Host is closed. A call that is running when the process dies
// fails with [sdk.CodeBackendFailed] and is not made again; the next call starts
// a new process, after a pause of 100 ms to 30 s when it keeps crashing.
func (e *Extension) Features() sdk.Features {
	return sdk.FeaturesOf(&supervised{e.supervisor, e.Info}).Narrow(e.Capabilities)
}

// Usable asks the extension what works on this machine and returns the features
// less what does not. An extension that cannot tell is usable with all it has.
func (e *Extension) Usable(ctx context.Context) (sdk.Features, sdk.Health, error) {
	features := e.Features()
	if features.Health == nil {
		return features, sdk.Health{Usable: true}, nil
	}
	health, err := features.Health(ctx)
	if err != nil {
		return sdk.Features{}, sdk.Health{}, err
	}
	return features.Without(health.Unavailable), health, nil
}

// supervised is a backend whose every call goes to the process that runs then.
// It has every ability: Features narrows it.
type supervised struct {
	*supervisor
	info sdk.Info
}

var (
	_ sdk.Backend         = (*supervised)(nil)
	_ sdk.Execer          = (*supervised)(nil)
	_ sdk.Renewer         = (*supervised)(nil)
	_ sdk.Inspector       = (*supervised)(nil)
	_ sdk.HealthChecker   = (*supervised)(nil)
	_ sdk.ConfigValidator = (*supervised)(nil)
)

func (s *supervised) Info() sdk.Info { return s.info }

func (s *supervised) Create(ctx context.Context, req sdk.CreateRequest, progress sdk.Progress) (sdk.Created, error) {
	return with(ctx, s.supervisor, "", func(f sdk.Features) (sdk.Created, error) { return f.Create(ctx, req, progress) })
}

func (s *supervised) Destroy(ctx context.Context, ref sdk.Ref) (sdk.Destroyed, error) {
	return with(ctx, s.supervisor, "", func(f sdk.Features) (sdk.Destroyed, error) { return f.Destroy(ctx, ref) })
}

func (s *supervised) List(ctx context.Context, hostID string) ([]sdk.Found, error) {
	return with(ctx, s.supervisor, "", func(f sdk.Features) ([]sdk.Found, error) { return f.List(ctx, hostID) })
}

func (s *supervised) Exec(ctx context.Context, req sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
	return with(ctx, s.supervisor, sdk.CapExec, func(f sdk.Features) (sdk.ExecResult, error) { return f.Exec(ctx, req, out) })
}

func (s *supervised) Renew(ctx context.Context, ref sdk.Ref, expiresAt time.Time) error {
	_, err := with(ctx, s.supervisor, sdk.CapRenew, func(f sdk.Features) (struct{}, error) {
		return struct{}{}, f.Renew(ctx, ref, expiresAt)
	})
	return err
}

func (s *supervised) Inspect(ctx context.Context, ref sdk.Ref) (sdk.Status, error) {
	return with(ctx, s.supervisor, sdk.CapInspect, func(f sdk.Features) (sdk.Status, error) { return f.Inspect(ctx, ref) })
}

func (s *supervised) Health(ctx context.Context) (sdk.Health, error) {
	return with(ctx, s.supervisor, sdk.CapHealth, func(f sdk.Features) (sdk.Health, error) { return f.Health(ctx) })
}

func (s *supervised) ValidateConfig(ctx context.Context, config []byte) ([]sdk.Diagnostic, error) {
	return with(ctx, s.supervisor, sdk.CapValidate, func(f sdk.Features) ([]sdk.Diagnostic, error) {
		return f.ValidateConfig(ctx, config)
	})
}
