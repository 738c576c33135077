package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tegwick/sand-boxer/sdk"
)

const (
	tokenEnv     = "SANDBOXER_EXEC_TOKEN"
	tokenFileEnv = "SANDBOXER_EXEC_TOKEN_FILE"
	// credentialsEnv names the directory in which systemd puts the credentials
	// of a service.
	credentialsEnv = "CREDENTIALS_DIRECTORY"

	minToken = 32
	maxToken = 4096
)

const tokenHint = "make one with: (umask 077; openssl rand -hex 32 >FILE); then set " + tokenFileEnv + "=FILE"

// readToken returns the bearer, "" for none, and takes it out of the environment,
// which children would inherit. No error repeats any of it.
func readToken() (string, error) {
	value := os.Getenv(tokenEnv)
	if err := os.Unsetenv(tokenEnv); err != nil {
		return "", err
	}
	file := os.Getenv(tokenFileEnv)
	credential := ""
	if dir := os.Getenv(credentialsEnv); filepath.IsAbs(dir) {
		path := filepath.Join(dir, tokenEnv)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			credential = path
		}
	}
	var given []string
	for _, place := range []struct{ name, value string }{
		{"the variable " + tokenEnv, value}, {"the file of " + tokenFileEnv, file}, {"the systemd credential " + tokenEnv, credential},
	} {
		if place.value != "" {
			given = append(given, place.name)
		}
	}
	if len(given) > 1 {
		return "", sdk.Errorf(sdk.CodeInvalidRequest, "the exec token is given more than once: by %s", strings.Join(given, " and by ")).
			WithHint("keep one of them; the file is the one that no process listing shows")
	}
	var err error
	switch {
	case file != "":
		value, err = readTokenFile(file, true)
	case credential != "":
		// Its mode is systemd's, which may let a group of one user read it.
		value, err = readTokenFile(credential, false)
	}
	if err != nil || len(given) == 0 {
		return "", err
	}
	return value, checkToken(value, given[0])
}

// readTokenFile reads a token without the line break at its end. A private file
// is one that only its owner may read.
func readTokenFile(path string, private bool) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", sdk.Errorf(sdk.CodeHostUnsupported, "cannot read the exec token: %w", err).WithHint("%s", tokenHint)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !fi.Mode().IsRegular():
		return "", sdk.Errorf(sdk.CodeHostUnsupported, "the exec token file %s is not a regular file", path).WithHint("%s", tokenHint)
	case private && fi.Mode().Perm()&0o077 != 0:
		return "", sdk.Errorf(sdk.CodeHostUnsupported, "the exec token file %s is open to other users (mode %04o)", path, fi.Mode().Perm()).
			WithHint("chmod 600 %s", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", sdk.Errorf(sdk.CodeHostUnsupported, "cannot read the exec token: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}

func checkToken(token, place string) error {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case len(token) < minToken:
		return sdk.Errorf(sdk.CodeInvalidRequest, "the exec token of %s is shorter than %d characters", place, minToken).WithHint("%s", tokenHint)
	case len(token) > maxToken:
		return sdk.Errorf(sdk.CodeInvalidRequest, "the exec token of %s is longer than %d characters", place, maxToken).WithHint("%s", tokenHint)
	case strings.ContainsFunc(token, unfit):
		return sdk.Errorf(sdk.CodeInvalidRequest, "the exec token of %s has a space, a line break or a character that is not ASCII, which no header carries", place).
			WithHint("%s", tokenHint)
	}
	return nil
}
