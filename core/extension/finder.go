package extension

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/agext/levenshtein"

	"github.com/tegwick/sand-boxer/sdk"
)

const (
	filePrefix = "sandboxer-ext-"
	pathEnv    = "SANDBOXER_EXTENSION_PATH"
)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Finder finds extensions: files sandboxer-ext-NAME in a list of directories.
type Finder struct {
	// Dirs are searched in order; the first that has the file wins. One that
	// does not exist is passed over.
	Dirs []string
}

// DefaultFinder searches, in this order, each directory of the list in
// SANDBOXER_EXTENSION_PATH, the directory of the running program and plugins/
// in it, for an ordinary user $XDG_DATA_HOME/sandboxer/extensions, and last
// sandboxer/extensions in /usr/local/lib and /usr/lib.
func DefaultFinder() Finder {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv(pathEnv)) {
		if abs, err := filepath.Abs(dir); err == nil && dir != "" {
			dirs = append(dirs, abs)
		}
	}
	if exe, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(exe); err == nil {
			exe = resolved
		}
		dir := filepath.Dir(exe)
		dirs = append(dirs, dir, filepath.Join(dir, "plugins"))
	}
	if os.Geteuid() != 0 {
		if dir := userDataDir(); dir != "" {
			dirs = append(dirs, filepath.Join(dir, "sandboxer", "extensions"))
		}
	}
	return Finder{Dirs: append(dirs, "/usr/local/lib/sandboxer/extensions", "/usr/lib/sandboxer/extensions")}
}

func userDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share")
	}
	return ""
}

// Find returns the path of the extension, with or without its "ext." prefix.
// It fails with [sdk.CodeExtensionNotFound], or with [sdk.CodeExtensionInvalid]
// where the file that it finds must not be run.
func (f Finder) Find(name string) (path string, err error) {
	name, err = extensionName(name)
	if err != nil {
		return "", err
	}
	for _, dir := range f.Dirs {
		path := filepath.Join(dir, filePrefix+name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", invalid("cannot look at %s: %w", path, err)
		}
		return path, checkTrusted(dir, path, info)
	}
	return "", f.notFound(name)
}

func extensionName(name string) (string, error) {
	name = strings.TrimPrefix(name, "ext.")
	if !nameForm.MatchString(name) {
		return "", sdk.Errorf(sdk.CodeInvalidRequest, "%q is not the name of an extension", name).
			WithHint("a name has 1 to 63 characters of a-z, 0-9 and -, and does not begin with -")
	}
	return name, nil
}

func (f Finder) notFound(name string) error {
	err := sdk.Errorf(sdk.CodeExtensionNotFound, "there is no extension ext.%s: no file %s%s in %s",
		name, filePrefix, name, strings.Join(f.Dirs, ", "))
	best, distance := "", 3
	for _, e := range f.List() {
		if d := levenshtein.Distance(name, e.Name, nil); d < distance {
			best, distance = e.Name, d
		}
	}
	if best != "" {
		return err.WithHint("did you mean ext.%s?", best)
	}
	return err.WithHint("install it in one of these directories, or name its directory in %s", pathEnv)
}

// Entry is a file that has the name of an extension.
type Entry struct {
	Name string
	Path string
	// Err says why Find refuses it; nil when it does not.
	Err error
}

// List returns what Find finds, sorted by name.
func (f Finder) List() []Entry {
	byName := make(map[string]Entry)
	for _, dir := range f.Dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue // as Find does; most of the directories do not exist
		}
		for _, file := range files {
			name, ok := strings.CutPrefix(file.Name(), filePrefix)
			if _, shadowed := byName[name]; !ok || shadowed || !nameForm.MatchString(name) {
				continue
			}
			path := filepath.Join(dir, file.Name())
			info, err := file.Info()
			if err == nil {
				err = checkTrusted(dir, path, info)
			}
			byName[name] = Entry{Name: name, Path: path, Err: err}
		}
	}
	entries := make([]Entry, 0, len(byName))
	for _, e := range byName {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

// checkTrusted refuses a program that somebody else could replace or change:
// an extension runs with all the rights of the host. info is that of path itself.
func checkTrusted(dir, path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return invalid("%s is a symbolic link", path).WithHint("put the program itself there: cp --remove-destination \"$(readlink -f %s)\" %s", path, path)
	case !mode.IsRegular():
		return invalid("%s is not a regular file", path)
	case mode&0o111 == 0:
		return invalid("%s is not executable", path).WithHint("chmod +x %s", path)
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return invalid("%s is set-user-id or set-group-id", path).WithHint("chmod u-s,g-s %s", path)
	}
	dirInfo, err := os.Stat(dir)
	if err != nil {
		return invalid("cannot look at %s: %w", dir, err)
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	return checkOwner(dir, dirInfo)
}

func checkOwner(path string, info fs.FileInfo) error {
	if info.Mode()&0o022 != 0 {
		return invalid("%s can be written by others, so the extension could be replaced", path).
			WithHint("chmod go-w %s", path)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return invalid("%s belongs neither to root nor to you, so its owner could replace the extension", path).
			WithHint("install the extension again as root, or as yourself")
	}
	return nil
}

func invalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.CodeExtensionInvalid, format, args...)
}
