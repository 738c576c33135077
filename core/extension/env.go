package extension

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tegwick/sand-boxer/sdk"
)

// hostEnv is what a plugin gets of the host's environment.
var hostEnv = []string{"PATH", "HOME", "LANG", "TMPDIR"}

// secretEnv begins the names of variables that no plugin ever gets.
const secretEnv = "SANDBOXER_EXEC_TOKEN"

// pluginEnv returns the environment of a plugin: little of the host's, then
// extra ("NAME=VALUE"), then what go-plugin needs. A later one wins.
func pluginEnv(extra, goPlugin []string) []string {
	var env []string
	for _, name := range hostEnv {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, entry := range extra {
		if !strings.HasPrefix(entry, secretEnv) {
			env = append(env, entry)
		}
	}
	return append(env, goPlugin...)
}

// makeWorkDir makes the directory in parent that belongs to one extension. Its
// path can be walked by sandboxes that run as other users, and not be listed.
func makeWorkDir(parent, name string) (string, error) {
	const mode = 0o711
	dir := filepath.Join(parent, name)
	if err := os.MkdirAll(parent, mode); err != nil {
		return "", workDirError(dir, err)
	}
	switch err := os.Mkdir(dir, mode); {
	case err == nil:
		// Mkdir went by the umask.
		if err := os.Chmod(dir, mode); err != nil {
			return "", workDirError(dir, err)
		}
		return dir, nil
	case !errors.Is(err, fs.ErrExist):
		return "", workDirError(dir, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", workDirError(dir, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Geteuid() || info.Mode()&0o022 != 0 {
		return "", sdk.Errorf(sdk.CodeHostUnsupported, "%s is not a directory of this user alone", dir).
			WithHint("remove it, or use another state directory")
	}
	return dir, nil
}

func workDirError(dir string, err error) error {
	code := sdk.CodeHostUnsupported
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = sdk.CodeDiskFull
	}
	return sdk.Errorf(code, "cannot make the extension's work directory %s: %w", dir, err)
}
