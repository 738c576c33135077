package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tegwick/sand-boxer/sdk"
)

// children are what this test binary does when it is started again as another
// process on a state directory.
var children = map[string]func(l *Log) error{
	"append 200": func(l *Log) error {
		for range 200 {
			if err := l.Append(context.Background(), event); err != nil {
				return err
			}
		}
		return nil
	},
	"append for ever": func(l *Log) error {
		for {
			if err := l.Append(context.Background(), event); err != nil {
				return err
			}
			fmt.Println("appended")
		}
	},
	"append with no room": func(l *Log) error {
		signal.Ignore(syscall.SIGXFSZ)
		info, err := l.file.Stat()
		if err != nil {
			return err
		}
		limit := syscall.Rlimit{Cur: uint64(info.Size()) + 100, Max: uint64(info.Size()) + 100}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		err = l.Append(context.Background(), event)
		if e, ok := errors.AsType[*sdk.Error](err); ok {
			fmt.Println(e.Code)
			return nil
		}
		return err
	},
}

const childEnv = "AUDIT_TEST_CHILD"

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	// Begin when stdin ends, so that many begin at once.
	_, err := io.Copy(io.Discard, os.Stdin)
	if err == nil {
		var l *Log
		if l, err = Open(os.Args[1]); err == nil {
			err = children[name](l)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childCommand(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcessesAppendToOneChain(t *testing.T) {
	dir := t.TempDir()
	start, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	var cmds []*exec.Cmd
	for range 8 {
		cmd := childCommand(t, "append 200", dir)
		cmd.Stdin = start
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	start.Close()
	hold.Close()
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	r, err := openLog(t, dir).Verify(t.Context())
	if err != nil || r.Bad != nil || len(r.Torn) > 0 || r.Entries != 1600 {
		t.Errorf("report is %+v (bad %+v), %v; want 1600 entries", r, r.Bad, err)
	}
}

func TestChainSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	cmd := childCommand(t, "append for ever", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	promised := 0
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if promised++; promised == 20 {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	l := openLog(t, dir)
	appendTo(t, l, event) // the lock died with its holder
	r, err := l.Verify(t.Context())
	if err != nil || r.Bad != nil || r.Entries < promised+1 {
		t.Errorf("report is %+v (bad %+v), %v; want at least %d entries", r, r.Bad, err, promised+1)
	}
}

func TestNoRoomLeavesNoPiece(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir)
	appendTo(t, l, event)
	before, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	out, err := childCommand(t, "append with no room", dir).Output()
	if err != nil || strings.TrimSpace(string(out)) != string(sdk.CodeDiskFull) {
		t.Errorf("the append gave %q, %v; want %s", out, err, sdk.CodeDiskFull)
	}
	after, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil || string(after) != string(before) {
		t.Errorf("the file changed (%v)", err)
	}
	appendTo(t, l, event)
}
