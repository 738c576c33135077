package extension

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// binary is an open program: what was checked and hashed is what is run, even
// when the path comes to name another file.
type binary struct {
	file *os.File
	path string
	// digest returns the SHA-256 in hex. The first call takes a millisecond for
	// each megabyte, others wait for it. It fails once the file is closed.
	digest func() (string, error)
}

// Digest returns the SHA-256 of the program at path in hex, as [Extension] and
// [Config.Verify] have it. It refuses what Find would.
func Digest(path string) (string, error) {
	b, err := openBinary(path)
	if err != nil {
		return "", err
	}
	defer b.close()
	return b.digest()
}

func openBinary(path string) (*binary, error) {
	// O_NONBLOCK: a fifo put here meanwhile must not hang the host.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, invalid("%s is a symbolic link", path)
	}
	if err != nil {
		return nil, invalid("cannot open the extension: %w", err)
	}
	b := &binary{file: f, path: path}
	b.digest = sync.OnceValues(b.hash)
	if err := b.inspect(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *binary) inspect() error {
	info, err := b.file.Stat()
	if err != nil {
		return invalid("cannot look at the extension: %w", err)
	}
	if err := checkTrusted(filepath.Dir(b.path), b.path, info); err != nil {
		return err
	}
	magic := make([]byte, 4)
	if _, err := b.file.ReadAt(magic, 0); err != nil || !bytes.Equal(magic, []byte("\x7fELF")) {
		// A script's interpreter would open the path again, past the hash.
		return invalid("%s is not a compiled program", b.path).
			WithHint("an extension is an ELF executable; a script cannot be one")
	}
	return nil
}

func (b *binary) hash() (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, b.file); err != nil {
		return "", invalid("cannot read the extension: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// execPath names the open file to exec; it is valid until close.
func (b *binary) execPath() string { return fmt.Sprintf("/proc/self/fd/%d", b.file.Fd()) }

func (b *binary) close() { _ = b.file.Close() }
