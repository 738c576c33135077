package sdk

import (
	"context"
	"slices"
	"time"
)

// Capability is a versioned name of an ability, as "exec.v1".
type Capability string

// The capabilities that this version of the SDK knows.
const (
	CapExec     Capability = "exec.v1"
	CapRenew    Capability = "renew.v1"
	CapInspect  Capability = "inspect.v1"
	CapHealth   Capability = "health.v1"
	CapValidate Capability = "validate.v1"
)

// Features is a backend with its optional abilities as funcs; a func is nil
// where the backend lacks the ability. The host holds Features and never
// asserts types: over a wire every stub has every method.
type Features struct {
	Backend
	Exec           func(ctx context.Context, req ExecRequest, out ExecOutput) (ExecResult, error)
	Renew          func(ctx context.Context, ref Ref, expiresAt time.Time) error
	Inspect        func(ctx context.Context, ref Ref) (Status, error)
	Health         func(ctx context.Context) (Health, error)
	ValidateConfig func(ctx context.Context, config []byte) ([]Diagnostic, error)
}

// FeaturesOf derives the features of b from what it implements. Pass the value
// that the author wrote: a wrapper hides the optional interfaces.
func FeaturesOf(b Backend) Features {
	f := Features{Backend: b}
	if v, ok := b.(Execer); ok {
		f.Exec = v.Exec
	}
	if v, ok := b.(Renewer); ok {
		f.Renew = v.Renew
	}
	if v, ok := b.(Inspector); ok {
		f.Inspect = v.Inspect
	}
	if v, ok := b.(HealthChecker); ok {
		f.Health = v.Health
	}
	if v, ok := b.(ConfigValidator); ok {
		f.ValidateConfig = v.ValidateConfig
	}
	return f
}

// abilities is the one table from capability to func.
var abilities = []struct {
	capability Capability
	has        func(*Features) bool
	drop       func(*Features)
}{
	{CapExec, func(f *Features) bool { return f.Exec != nil }, func(f *Features) { f.Exec = nil }},
	{CapRenew, func(f *Features) bool { return f.Renew != nil }, func(f *Features) { f.Renew = nil }},
	{CapInspect, func(f *Features) bool { return f.Inspect != nil }, func(f *Features) { f.Inspect = nil }},
	{CapHealth, func(f *Features) bool { return f.Health != nil }, func(f *Features) { f.Health = nil }},
	{CapValidate, func(f *Features) bool { return f.ValidateConfig != nil }, func(f *Features) { f.ValidateConfig = nil }},
}

// Capabilities lists what f can do, sorted.
func (f Features) Capabilities() []Capability {
	var caps []Capability
	for _, a := range abilities {
		if a.has(&f) {
			caps = append(caps, a.capability)
		}
	}
	slices.Sort(caps)
	return caps
}

// Narrow returns f with only the abilities in caps. It never adds one; names
// it does not know are ignored.
func (f Features) Narrow(caps []Capability) Features {
	for _, a := range abilities {
		if !slices.Contains(caps, a.capability) {
			a.drop(&f)
		}
	}
	return f
}

// Without returns f less the abilities in caps.
func (f Features) Without(caps []Capability) Features {
	for _, a := range abilities {
		if slices.Contains(caps, a.capability) {
			a.drop(&f)
		}
	}
	return f
}
