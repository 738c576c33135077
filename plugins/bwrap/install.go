package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// installBroker puts this very program where every sandbox's uid can read it,
// once for each version, and returns its path. The program's own path may lie
// in a directory that only its owner can enter.
func (b *backend) installBroker() (string, error) {
	name, err := brokerName()
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.paths.work, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer src.Close()
	// Written aside and renamed: a concurrent create sees all of it or none.
	tmp, err := os.CreateTemp(b.paths.work, "."+name+"-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(tmp, src)
	err = errors.Join(err, tmp.Chmod(0o755), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return "", err
	}
	return path, nil
}

// brokerName is made from the content of the running program.
var brokerName = sync.OnceValues(func() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "broker-" + hex.EncodeToString(h.Sum(nil)[:8]), nil
})
