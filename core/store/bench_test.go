package store

import (
	"testing"
	"time"
)

// BenchmarkOpenGetClose is what one run of the CLI does.
func BenchmarkOpenGetClose(b *testing.B) {
	dir := b.TempDir()
	s := openStore(b, dir)
	insert(b, s, newRecord(sandboxID(1)))
	run := func(b *testing.B) {
		for b.Loop() {
			s, err := Open(b.Context(), dir)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Get(b.Context(), sandboxID(1)); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	}
	b.Run("beside a service", run)
	s.Close()
	b.Run("alone", run)
}

func BenchmarkGet(b *testing.B) {
	s := openStore(b, b.TempDir())
	insert(b, s, newRecord(sandboxID(1)))
	for b.Loop() {
		if _, err := s.Get(b.Context(), sandboxID(1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInsert(b *testing.B) {
	s := openStore(b, b.TempDir())
	for n := 0; b.Loop(); n++ {
		insert(b, s, newRecord(sandboxID(n)))
	}
}

func BenchmarkSetExpiry(b *testing.B) {
	s := openStore(b, b.TempDir())
	r := insert(b, s, newRecord(sandboxID(1)))
	if err := s.SetReady(b.Context(), r.ID, created); err != nil {
		b.Fatal(err)
	}
	t := r.ExpiresAt
	for b.Loop() {
		if t = t.Add(time.Millisecond); t.After(r.MaxExpiresAt) {
			t = r.ExpiresAt
		}
		if _, err := s.SetExpiry(b.Context(), r.ID, t); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList1000(b *testing.B) {
	s := openStore(b, b.TempDir())
	for n := range 1000 {
		insert(b, s, newRecord(sandboxID(n)))
	}
	for b.Loop() {
		if _, err := s.List(b.Context(), Filter{States: []State{Provisioning, Ready}}); err != nil {
			b.Fatal(err)
		}
	}
}
