package main

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestOwnerOfAnOrdinaryUserIsThatUser(t *testing.T) {
	who, err := paths{t.TempDir()}.claimOwner(testID, false)
	if err != nil || who.uid != os.Geteuid() || who.switched {
		t.Errorf("owner %+v, %v", who, err)
	}
	if uid, gid := who.copyIDs(); uid != -1 || gid != -1 {
		t.Errorf("files are given to %d:%d", uid, gid)
	}
}

func TestOwnersAreDistinctAndReleased(t *testing.T) {
	p := paths{t.TempDir()}
	const n = 50
	owners := make([]owner, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var err error
			if owners[i], err = p.claimOwner(fmt.Sprintf("id-%d", i), true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for _, o := range owners {
		if seen[o.uid] || o.uid < firstUID || o.uid >= firstUID+uidCount || !o.switched {
			t.Errorf("owner %+v", o)
		}
		seen[o.uid] = true
	}
	if err := p.releaseOwner("id-7"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(p.uids())
	if err != nil || len(left) != n-1 {
		t.Errorf("%d claims are left, %v", len(left), err)
	}
	if err := p.releaseOwner("unknown"); err != nil {
		t.Error(err)
	}
}

func TestMustSwitch(t *testing.T) {
	tests := []struct {
		name, uidMap string
		euid         int
		want         bool
		code         sdk.Code
	}{
		{"root", "         0          0 4294967295", 0, true, ""},
		{"user", "         0          0 4294967295", 1000, false, ""},
		{"root of a user's namespace", "         0       1000          1", 0, false, ""},
		{"root of a container of a user's", "0 1000 1\n1 100000 65536", 0, false, ""},
		{"root of a namespace with all the uids", "0 1000 1\n1 100000 2000000000", 0, true, ""},
		{"host root by another name", "0 0 1", 0, false, sdk.CodeHostUnsupported},
		{"no map", "", 0, false, sdk.CodeHostUnsupported},
		{"no numbers", "x y z", 0, false, sdk.CodeInternal},
	}
	for _, tt := range tests {
		got, err := mustSwitch(tt.euid, tt.uidMap)
		if got != tt.want || sdk.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}
