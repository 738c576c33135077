package sandbox

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tegwick/sand-boxer/sdk"
)

// resolveSource returns the directory to copy with all links resolved, or says
// why it is not one.
func (o *Owner) resolveSource(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", sdk.Errorf(sdk.CodeSourceInvalid, "the source %q is not an absolute path", path).
			WithHint("write it from / on: %s", filepath.Join("/path/to", path))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		// Outside the roots not even that it does not exist is told.
		if rerr := o.checkRoots(path, filepath.Clean(path)); rerr != nil {
			return "", rerr
		}
		return "", sourceError(path, err)
	}
	if err := o.checkRoots(path, real); err != nil {
		return "", err
	}
	fi, err := os.Stat(real)
	if err != nil {
		return "", sourceError(path, err)
	}
	if !fi.IsDir() {
		return "", sdk.Errorf(sdk.CodeSourceInvalid, "the source %s is not a directory", path).
			WithHint("name the directory that holds it: %s", filepath.Dir(path))
	}
	return real, o.checkForbidden(real)
}

func sourceError(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return sdk.Errorf(sdk.CodeSourceInvalid, "the source %s does not exist", path).
			WithHint("check the spelling, and that the path is one of this machine")
	case errors.Is(err, os.ErrPermission):
		return sdk.Errorf(sdk.CodeSourceInvalid, "the source %s cannot be read by this user", path).
			WithHint("let this user read it, or run sandboxer as the user who owns it")
	}
	return sdk.Errorf(sdk.CodeSourceInvalid, "the source %s: %w", path, err)
}

// checkForbidden refuses the directories that nobody means to copy.
func (o *Owner) checkForbidden(real string) error {
	forbidden := func(what string) error {
		return sdk.Errorf(sdk.CodeSourceForbidden, "%s is %s, which is never copied into a sandbox", real, what).
			WithHint("name the repository itself")
	}
	if real == "/" {
		return forbidden("the root of the file system")
	}
	state := o.StateDir
	if r, err := filepath.EvalSymlinks(state); err == nil {
		state = r
	}
	if within(state, real) || within(real, state) {
		return forbidden("or holds the state directory of sandboxer, or lies in it")
	}
	for _, home := range homes() {
		if real == home {
			return forbidden("a home directory")
		}
		if within(home, real) {
			return forbidden("the parent of a home directory")
		}
	}
	return nil
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// homes lists the home directories of people: that of the environment, and
// those of root and of the ordinary users in /etc/passwd, where the ids of
// people start at 1000 on Debian, Fedora and their kin.
func homes() []string {
	var found []string
	add := func(dir string) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(real) && real != "/" {
			found = append(found, real)
		}
	}
	add(os.Getenv("HOME"))
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return found
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), ":")
		if len(fields) < 7 {
			continue
		}
		if uid, err := strconv.Atoi(fields[2]); err == nil && (uid == 0 || uid >= 1000) {
			add(fields[5])
		}
	}
	return found
}

// checkRoots holds a source to the configured roots. real is path, resolved as
// far as it can be.
func (o *Owner) checkRoots(path, real string) error {
	if len(o.SourceRoots) == 0 && !o.OnlySourceRoots {
		return nil
	}
	for _, root := range o.SourceRoots {
		if r, err := filepath.EvalSymlinks(root); err == nil && within(real, r) {
			return nil
		}
	}
	return sdk.Errorf(sdk.CodeSourceForbidden, "the source %s lies under no source root of this service", path).
		WithHint("start the service with --source-root for a directory that holds it")
}
