package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// writeScript writes its standard input to a new file $2 in the directory $1. It
// follows no link, overwrites nothing and leaves no half of a file.
const writeScript = `set -C; umask 077
if [ -L "$1" ]; then echo "$1 is a symbolic link, not a directory" >&2; exit 1; fi
if [ ! -e "$1" ]; then echo "$1 does not exist" >&2; exit 1; fi
if [ ! -d "$1" ]; then echo "$1 is not a directory" >&2; exit 1; fi
exec 3>"$1/$2" || exit 1
cat >&3 || { rm -f -- "$1/$2"; exit 1; }`

// removeScript removes the file $3 of the directory $2 when that lies in the
// directory $1 with all links resolved.
const removeScript = `[ -d "$2" ] || exit 0
cd -P -- "$1" || exit 1
top=${PWD%/}
cd -P -- "$2" || exit 1
case "$PWD/" in
"$top"/*) rm -f -- "./$3" ;;
*) echo "$2 leads out of the workspace" >&2; exit 1 ;;
esac`

// WriteTaskFile writes payload as JSON to a new file that only its owner may read
// and returns its path. The file lies in the workspace's .git directory, so that
// "git add -A" does not find it. Nothing of payload is in an argument.
func (t *Transport) WriteTaskFile(ctx context.Context, payload any) (string, error) {
	content, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("write the task as JSON: %w", err)
	}
	var unique [16]byte
	rand.Read(unique[:]) // never fails
	name := ".glas-harness-task-" + hex.EncodeToString(unique[:]) + ".json"
	dir := path.Join(t.workspace, ".git")
	done, err := t.Run(ctx, []string{"sh", "-c", writeScript, "sh", dir, name}, RunOptions{Input: content, Timeout: shortTimeout})
	if err == nil {
		err = done.failure()
	}
	if err != nil {
		return "", fmt.Errorf("cannot create %s task file: %w", t.whose(), err)
	}
	return path.Join(dir, name), nil
}

// RemoveFile removes a file of the workspace. One that does not exist is no error.
func (t *Transport) RemoveFile(ctx context.Context, file string) error {
	outside := path.Clean(file) != file || !strings.HasPrefix(file, strings.TrimSuffix(path.Clean(t.workspace), "/")+"/")
	if outside {
		return fmt.Errorf("cannot remove %q: it is not the plain path of a file below %s", file, t.workspace)
	}
	dir, name := path.Split(file)
	done, err := t.Run(ctx, []string{"sh", "-c", removeScript, "sh", t.workspace, dir, name}, RunOptions{Timeout: shortTimeout})
	if err == nil {
		err = done.failure()
	}
	if err != nil {
		return fmt.Errorf("cannot remove %s task file: %w", t.whose(), err)
	}
	return nil
}

// whose says in messages whose file it is.
func (t *Transport) whose() string {
	if t.kind == KindSSH {
		return "remote sandbox"
	}
	return "sandbox"
}

// failure is why a command failed; nil when it did not.
func (c Completed) failure() error {
	switch said := strings.TrimSpace(string(c.Stderr)); {
	case c.ExitCode == 0:
		return nil
	case c.TimedOut:
		return errors.New("it took too long")
	case said != "":
		return errors.New(said)
	case c.Signal != "":
		return errors.New("ended by " + c.Signal)
	}
	return fmt.Errorf("exit %d", c.ExitCode)
}
