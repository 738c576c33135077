package sdk

import (
	"context"
	"slices"
	"testing"
	"time"
)

type bare struct{}

func (bare) Info() Info { return Info{} }
func (bare) Create(context.Context, CreateRequest, Progress) (Created, error) {
	return Created{}, nil
}
func (bare) Destroy(context.Context, Ref) (Destroyed, error) { return Destroyed{}, nil }
func (bare) List(context.Context, string) ([]Found, error)   { return nil, nil }

type withExec struct{ bare }

func (withExec) Exec(context.Context, ExecRequest, ExecOutput) (ExecResult, error) {
	return ExecResult{}, nil
}

type withAll struct{ withExec }

func (withAll) Renew(context.Context, Ref, time.Time) error                  { return nil }
func (withAll) Inspect(context.Context, Ref) (Status, error)                 { return Status{}, nil }
func (withAll) Health(context.Context) (Health, error)                       { return Health{}, nil }
func (withAll) ValidateConfig(context.Context, []byte) ([]Diagnostic, error) { return nil, nil }

func TestCapabilitiesAreWhatIsImplemented(t *testing.T) {
	all := []Capability{CapExec, CapHealth, CapInspect, CapRenew, CapValidate}
	for _, tt := range []struct {
		backend Backend
		want    []Capability
	}{
		{bare{}, nil},
		{withExec{}, []Capability{CapExec}},
		{withAll{}, all},
		{struct{ Backend }{withAll{}}, nil}, // a wrapper hides them
	} {
		if got := FeaturesOf(tt.backend).Capabilities(); !slices.Equal(got, tt.want) {
			t.Errorf("%T: capabilities %v, want %v", tt.backend, got, tt.want)
		}
	}
}

func TestNarrowNeverAdds(t *testing.T) {
	f := FeaturesOf(withExec{}).Narrow([]Capability{CapExec, CapRenew, "tty.v9"})
	if got := f.Capabilities(); !slices.Equal(got, []Capability{CapExec}) || f.Renew != nil {
		t.Errorf("capabilities %v", got)
	}
	if f = FeaturesOf(withAll{}).Narrow(nil); f.Capabilities() != nil || f.Exec != nil {
		t.Errorf("narrowed to nothing: %v", f.Capabilities())
	}
	if f = FeaturesOf(withAll{}).Without([]Capability{CapExec}); f.Exec != nil || f.Renew == nil {
		t.Errorf("without exec: %v", f.Capabilities())
	}
}
