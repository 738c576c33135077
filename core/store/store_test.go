package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/sdk"
)

func openStore(tb testing.TB, dir string) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func sandboxID(n int) string { return fmt.Sprintf("sbx-%026d", n) }

// newRecord returns a record as a create begins with. Its times are an hour
// around the real now.
func newRecord(id string) Record {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return Record{
		ID:               id,
		HostID:           "host-1",
		State:            Provisioning,
		Profile:          "agent-dev",
		ProfileDigest:    "sha256:aa",
		Extension:        "bwrap",
		ExtensionVersion: "1.2.3",
		Consumer:         Consumer{Actor: "agt", Project: "glas-harness", SessionID: "session-123", RunID: "run-456"},
		CreatedAt:        now,
		ExpiresAt:        now.Add(time.Hour),
		MaxExpiresAt:     now.Add(2 * time.Hour),
		ExecTimeoutMax:   15 * time.Minute,
		Network:          sdk.Network{Posture: sdk.PostureDeny},
	}
}

func insert(tb testing.TB, s *Store, r Record) Record {
	tb.Helper()
	if err := s.Insert(tb.Context(), r); err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestFilesAreForTheirUserAlone(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	insert(t, s, newRecord(sandboxID(1)))
	if _, err := s.HostID(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{FileName, FileName + "-wal", FileName + "-shm", hostIDFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %04o, want 0600", name, got)
		}
	}
}

func TestConnectionsAreDurableAndCheckReferences(t *testing.T) {
	s := openStore(t, t.TempDir())
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000",
	} {
		var got string
		if err := s.db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("PRAGMA %s = %s, want %s", pragma, got, want)
		}
	}
}

func TestDirectoryNameWithURLCharacters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a?mode=memory#b%41 c")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	insert(t, s, newRecord(sandboxID(1)))
	if info, err := os.Stat(filepath.Join(dir, FileName)); err != nil || info.Size() == 0 {
		t.Errorf("the database is not where it should be: %v, %v", info, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := func(content string, mode os.FileMode) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(content), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name    string
		prepare func(t *testing.T, path string)
		code    sdk.Code
		message string
		hint    string
	}{
		{
			"a missing directory",
			func(t *testing.T, path string) { os.Remove(filepath.Dir(path)) },
			sdk.CodeHostUnsupported, "no such file or directory", "SANDBOXER_STATE_DIR",
		},
		{
			"a file that others can read",
			file("", 0o644),
			sdk.CodeHostUnsupported, "open to other users (mode 0644)", "chmod 600 ",
		},
		{
			"a symlink",
			func(t *testing.T, path string) {
				if err := os.Symlink("/etc/passwd", path); err != nil {
					t.Fatal(err)
				}
			},
			sdk.CodeHostUnsupported, "not a regular file", "SANDBOXER_STATE_DIR",
		},
		{
			"a text file",
			file(strings.Repeat("not a database\n", 1000), 0o600),
			sdk.CodeInternal, "is damaged or is not a database", "restore it from a backup",
		},
		{
			"a version from the future",
			func(t *testing.T, path string) {
				s := openStore(t, filepath.Dir(path))
				if _, err := s.db.Exec("PRAGMA user_version = 99"); err != nil {
					t.Fatal(err)
				}
			},
			sdk.CodeVersionMismatch, "has version 99, this program knows 1", "use the newer sandboxer",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			test.prepare(t, filepath.Join(dir, FileName))
			_, err := Open(t.Context(), dir)
			wantError(t, err, test.code, test.message, test.hint)
		})
	}
}

// wantError checks a *sdk.Error by its code and by parts of its texts.
func wantError(t *testing.T, err error, code sdk.Code, message, hint string) {
	t.Helper()
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		t.Fatalf("error is %v, want a *sdk.Error of code %s", err, code)
	}
	if e.Code != code || !strings.Contains(e.Message, message) || !strings.Contains(e.Hint, hint) {
		t.Errorf("got code %s, message %q, hint %q;\nwant code %s, message with %q, hint with %q",
			e.Code, e.Message, e.Hint, code, message, hint)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	for _, name := range []string{"empty", "with a database"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if name == "with a database" {
				openStore(t, dir).Close()
			}
			asOrdinaryUser(t, dir, func() {
				if err := os.Chmod(dir, 0o500); err != nil {
					t.Fatal(err)
				}
				defer os.Chmod(dir, 0o700)
				_, err := Open(t.Context(), dir)
				wantError(t, err, sdk.CodeHostUnsupported, filepath.Join(dir, FileName), "belong to you")
			})
		})
	}
}

// asOrdinaryUser runs fn without root's right to write everywhere. The
// file-system uid is the thread's own; the SQLite of this package runs on the
// thread that calls it.
func asOrdinaryUser(t *testing.T, dir string, fn func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		fn()
		return
	}
	const nobody = 65534
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, dir, filepath.Dir(dir)) {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
	defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	fn()
}

func TestDamagedPagesAreReported(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for i := range 50 {
		insert(t, s, newRecord(sandboxID(i)))
	}
	s.Close()
	path := filepath.Join(dir, FileName)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(content); i++ { // the first page holds the schema
		content[i] = 0xa5
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	_, err = s.List(t.Context(), Filter{})
	wantError(t, err, sdk.CodeInternal, "damaged", "sandboxer reap")
}

func TestFullDisk(t *testing.T) {
	s := openStore(t, t.TempDir())
	s.db.SetMaxOpenConns(1) // the bound below is the connection's own
	if _, err := s.db.Exec("PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
	r := insert(t, s, newRecord(sandboxID(1)))
	handle := sdk.Handle{Version: 1, Data: make([]byte, sdk.MaxHandleBytes)}
	wantError(t, s.SetHandle(t.Context(), r.ID, handle), sdk.CodeDiskFull, "no room", "free some space")

	if _, err := s.db.Exec("PRAGMA max_page_count = 1000"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetHandle(t.Context(), r.ID, handle); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
