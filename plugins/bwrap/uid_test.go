package main

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

func TestOwnerOfAnOrdinaryUserIsThatUser(t *testing.T) {
	who, err := paths{t.TempDir()}.claimOwner(testID, 1234)
	if err != nil || who.uid != 1234 || who.switched {
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
			if owners[i], err = p.claimOwner(fmt.Sprintf("id-%d", i), 0); err != nil {
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
