package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/tegwick/sand-boxer/sdk"
)

// hostIDFile is beside the database, not in it: with it, what a lost database
// knew can still be told from the sandboxes of other hosts, and reaped.
const hostIDFile = "host_id"

var hostIDPattern = regexp.MustCompile(`^host-[0-9a-f]{32}$`)

// HostID returns the id of this state directory: "host-" and 32 hexadecimal
// digits, made at random by the first call.
func (s *Store) HostID() (string, error) {
	path := filepath.Join(s.dir, hostIDFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = writeHostID(path); err == nil {
			content, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return "", sdk.Errorf(sdk.CodeHostUnsupported, "cannot read or make the host id: %w", err).
			WithHint("%s", directoryHint(s.dir))
	}
	if !hostIDPattern.Match(content) {
		return "", sdk.Errorf(sdk.CodeInternal, "%s does not hold a host id", path).
			WithHint("restore it from a backup: sandboxes are found by it")
	}
	return string(content), nil
}

// writeHostID makes the file whole or not at all; of several processes at once
// the first wins.
func writeHostID(path string) error {
	var id [16]byte
	rand.Read(id[:])
	temp, err := os.CreateTemp(filepath.Dir(path), hostIDFile+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	if _, err := fmt.Fprintf(temp, "host-%s", hex.EncodeToString(id[:])); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
