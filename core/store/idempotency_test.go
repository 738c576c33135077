package store

import (
	"context"
	"sync"
	"testing"
	"time"
)

func TestKeyLeadsToItsFirstSandbox(t *testing.T) {
	s := openStore(t, t.TempDir())
	now := time.Now()
	s.now = func() time.Time { return now }
	key := Key{Scope: "glas-harness", Name: "k1"}
	want := Reservation{SandboxID: sandboxID(1), BodyHash: "h1"}

	if got, ok, err := s.Reserved(t.Context(), key); ok || err != nil {
		t.Fatalf("an unused key gave %+v, %t, %v", got, ok, err)
	}
	got, inserted, err := s.InsertOnce(t.Context(), newRecord(sandboxID(1)), key, "h1")
	if got != want || !inserted || err != nil {
		t.Fatalf("first use gave %+v, %t, %v; want %+v, inserted", got, inserted, err, want)
	}
	got, inserted, err = s.InsertOnce(t.Context(), newRecord(sandboxID(2)), key, "h2")
	if got != want || inserted || err != nil {
		t.Errorf("second use gave %+v, %t, %v; want %+v, not inserted", got, inserted, err, want)
	}
	if got, ok, err := s.Reserved(t.Context(), key); got != want || !ok || err != nil {
		t.Errorf("lookup gave %+v, %t, %v; want %+v", got, ok, err, want)
	}
	if _, err := s.Get(t.Context(), sandboxID(2)); err == nil {
		t.Error("the second use left a record")
	}

	elsewhere := Key{Scope: "other", Name: "k1"}
	if _, inserted, err := s.InsertOnce(t.Context(), newRecord(sandboxID(3)), elsewhere, "h1"); !inserted || err != nil {
		t.Errorf("the same name in another scope: %t, %v; want inserted", inserted, err)
	}

	now = now.Add(KeyLifetime)
	if got, ok, err := s.Reserved(t.Context(), key); ok || err != nil {
		t.Errorf("a lapsed key gave %+v, %t, %v", got, ok, err)
	}
	if _, inserted, err := s.InsertOnce(t.Context(), newRecord(sandboxID(4)), key, "h4"); !inserted || err != nil {
		t.Errorf("reuse of a lapsed key: %t, %v; want inserted", inserted, err)
	}
}

func TestRefusedInsertReservesNothing(t *testing.T) {
	s := openStore(t, t.TempDir())
	insert(t, s, newRecord(sandboxID(1)))
	key := Key{Scope: "s", Name: "k"}
	if _, _, err := s.InsertOnce(t.Context(), newRecord(sandboxID(1)), key, "h"); err == nil {
		t.Fatal("inserted an id twice")
	}
	if _, ok, err := s.Reserved(t.Context(), key); ok || err != nil {
		t.Errorf("the key is reserved: %t, %v", ok, err)
	}
}

func TestPurgeForgetsTheKeysOfItsRecords(t *testing.T) {
	s := openStore(t, t.TempDir())
	key := Key{Scope: "s", Name: "k"}
	if _, _, err := s.InsertOnce(t.Context(), newRecord(sandboxID(1)), key, "h"); err != nil {
		t.Fatal(err)
	}
	if err := s.Transition(t.Context(), sandboxID(1), []State{Provisioning}, Destroyed, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(t.Context(), time.Now().Add(time.Minute)); n != 1 || err != nil {
		t.Fatalf("purged %d, %v; want 1", n, err)
	}
	if _, ok, err := s.Reserved(t.Context(), key); ok || err != nil {
		t.Errorf("the key is still reserved: %t, %v", ok, err)
	}
}

func TestConcurrentRetriesMakeOneSandbox(t *testing.T) {
	s := openStore(t, t.TempDir())
	var mu sync.Mutex
	inserts, sandboxes := 0, map[string]bool{}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			got, inserted, err := s.InsertOnce(context.Background(), newRecord(sandboxID(i)), Key{Name: "k"}, "h")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if inserted {
				inserts++
			}
			sandboxes[got.SandboxID] = true
		})
	}
	wg.Wait()
	if inserts != 1 || len(sandboxes) != 1 {
		t.Errorf("%d inserts, answers %v; want one of each", inserts, sandboxes)
	}
}
