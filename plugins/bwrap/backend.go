package main

import (
	"sync"

	"github.com/tegwick/sand-boxer/sdk"
)

// backend provisions sandboxes below one directory. It keeps nothing but what
// it learned of the machine.
type backend struct {
	paths paths

	mu   sync.Mutex
	tool tool
}

var (
	_ sdk.Backend       = (*backend)(nil)
	_ sdk.Execer        = (*backend)(nil)
	_ sdk.Renewer       = (*backend)(nil)
	_ sdk.Inspector     = (*backend)(nil)
	_ sdk.HealthChecker = (*backend)(nil)
)

func newBackend(workDir string) *backend {
	return &backend{paths: paths{work: workDir}}
}

// Info implements sdk.Backend.
func (b *backend) Info() sdk.Info {
	return sdk.Info{Name: "bwrap", Version: version}
}
