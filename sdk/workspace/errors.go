package workspace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/tegwick/sand-boxer/sdk"
)

// maxShown bounds a path in a message: a tree may be nested without limit, and
// a message has to fit on the wire.
const maxShown = 400

// show returns a path for a message: quoted where a terminal or the wire could
// not take it as it is, and shortened in the middle when it is very long.
func show(path string) string {
	if len(path) > maxShown {
		path = path[:maxShown/2] + "..." + path[len(path)-maxShown/2:]
	}
	if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// sourceError says that something of the source cannot be read.
func sourceError(path string, err error) error {
	e := sdk.Errorf(sdk.CodeSourceInvalid, "cannot read %s: %w", show(path), err)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return e.WithHint("make it readable (chmod u+rX), or add it to the workspace's exclude list")
	}
	return e.WithHint("add it to the workspace's exclude list if the sandbox does not need it")
}

// destError says that path, below dest, cannot be written.
func destError(dest, path string, err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return sdk.Errorf(sdk.CodeDiskFull, "the file system of %s is full: %w", show(dest), err).
			WithHint("free space there (df -h and df -i), or add large directories to the workspace's exclude list")
	}
	return fmt.Errorf("write %s: %w", show(path), err)
}

// gone reports whether err, of an open or a read by name, says that the entry
// is no longer what the directory listing said: live trees change.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) ||
		errors.Is(err, unix.ENXIO) || errors.Is(err, errChanged)
}

var (
	// errChanged is a file that is not of the kind that the listing said.
	errChanged = errors.New("it is not a regular file or directory any more")
	// errGone is an entry to skip, because gone says so.
	errGone = errors.New("it is gone")
)
