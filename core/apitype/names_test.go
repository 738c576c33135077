package apitype_test

import (
	"testing"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/store"
	"github.com/tegwick/sand-boxer/sdk"
)

// The package imports nothing of the repository, so that a client can use it
// alone. Here its names are held to those they stand for.
func TestNamesAreThoseOfTheHost(t *testing.T) {
	for _, test := range []struct {
		api  string
		host string
	}{
		{apitype.StateProvisioning, string(store.Provisioning)},
		{apitype.StateReady, string(store.Ready)},
		{apitype.StateFailed, string(store.Failed)},
		{apitype.StateExpired, string(store.Expired)},
		{apitype.StateDestroying, string(store.Destroying)},
		{apitype.StateDestroyed, string(store.Destroyed)},
		{apitype.ModeOwnerMediated, sdk.ExecutionOwnerMediated},
		{apitype.ModeSSH, sdk.ExecutionSSH},
		{apitype.OutcomeExited, string(sdk.OutcomeExited)},
		{apitype.OutcomeSignaled, string(sdk.OutcomeSignaled)},
		{apitype.OutcomeTimedOut, string(sdk.OutcomeTimedOut)},
		{apitype.OutcomeOOMKilled, string(sdk.OutcomeOOMKilled)},
		{apitype.OutcomeCanceled, string(sdk.OutcomeCanceled)},
		{apitype.OutcomeStartFailed, string(sdk.OutcomeStartFailed)},
		{apitype.CodeIdentityMismatch, string(sdk.CodeIdentityMismatch)},
		{apitype.CodeSandboxNotFound, string(sdk.CodeSandboxNotFound)},
		{apitype.CodeSandboxNotReady, string(sdk.CodeSandboxNotReady)},
		{apitype.CodeSandboxExpired, string(sdk.CodeSandboxExpired)},
		{apitype.CodeExecInProgress, string(sdk.CodeExecInProgress)},
		{apitype.CodeExecUnsupported, string(sdk.CodeExecUnsupported)},
		{apitype.CodeInvalidRequest, string(sdk.CodeInvalidRequest)},
		{apitype.CodeBackendFailed, string(sdk.CodeBackendFailed)},
	} {
		if test.api != test.host {
			t.Errorf("the API says %q, the host %q", test.api, test.host)
		}
	}
}
