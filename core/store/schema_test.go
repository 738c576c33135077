package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEmptyFileIsMigrated(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	insert(t, s, newRecord(sandboxID(1)))
	if got := userVersion(t, s); got != len(migrations) {
		t.Errorf("version is %d, want %d", got, len(migrations))
	}
}

func TestMigrationKeepsWhatIsThere(t *testing.T) {
	s := openStore(t, t.TempDir())
	want := insert(t, s, newRecord(sandboxID(1)))
	steps := append(migrations[:len(migrations):len(migrations)], "CREATE TABLE later (n INTEGER) STRICT")
	for range 2 { // the second finds nothing to do
		if err := s.migrate(t.Context(), steps); err != nil {
			t.Fatal(err)
		}
	}
	if got := userVersion(t, s); got != len(steps) {
		t.Errorf("version is %d, want %d", got, len(steps))
	}
	if got, err := s.Get(t.Context(), want.ID); err != nil || got.Profile != want.Profile {
		t.Errorf("after the migration the record is %+v, %v", got, err)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	s := openStore(t, t.TempDir())
	steps := append(migrations[:len(migrations):len(migrations)],
		"CREATE TABLE later (n INTEGER) STRICT", "INSERT INTO nowhere VALUES (1)")
	err := s.migrate(t.Context(), steps)
	if err == nil || !strings.Contains(err.Error(), "migrate to version 3") {
		t.Fatalf("error is %v, want one that names version 3", err)
	}
	if got := userVersion(t, s); got != len(migrations) {
		t.Errorf("version is %d, want %d", got, len(migrations))
	}
	var n int
	if err := s.db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d tables of the failed migration are left (%v)", n, err)
	}
	insert(t, s, newRecord(sandboxID(1))) // no transaction is left open
}

func userVersion(t *testing.T, s *Store) int {
	t.Helper()
	var version int
	if err := s.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}
