package proc

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

func TestKillAndWait(t *testing.T) {
	cmd := start(t, "sleep", "300")
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := id.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Wait(0); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("wait for a live process: %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(time.Minute); err != nil {
		t.Fatal(err)
	}
	// Not reaped yet: a zombie counts as gone.
	if id.Alive() {
		t.Error("a zombie is alive")
	}
	cmd.Wait()
	if _, err := id.Open(); !errors.Is(err, ErrGone) {
		t.Errorf("open of an ended process: %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("kill of an ended process: %v", err)
	}
}

func TestOnlyTheVeryProcessOpens(t *testing.T) {
	id, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Error("this process is not alive")
	}
	for name, other := range map[string]ID{
		"zero":  {},
		"start": {PID: id.PID, Start: id.Start + 1, Boot: id.Boot},
		"boot":  {PID: id.PID, Start: id.Start, Boot: "x"},
		"pid":   {PID: 1 << 30, Start: id.Start, Boot: id.Boot},
	} {
		if other.Alive() {
			t.Errorf("%s: alive", name)
		}
		if p, err := other.Open(); !errors.Is(err, ErrGone) {
			t.Errorf("%s: open returned %v", name, err)
			if err == nil {
				p.Close()
			}
		}
	}
}

// TestNameThatLooksLikeFields has a process whose name would end the name's
// parentheses early.
func TestNameThatLooksLikeFields(t *testing.T) {
	dir := t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	name := dir + "/a) R 1 (b"
	if err := os.Symlink(sleep, name); err != nil {
		t.Fatal(err)
	}
	cmd := start(t, name, "300")
	ids, err := Find(func(argv []string) bool { return len(argv) > 0 && argv[0] == name })
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(ids, func(id ID) bool { return id.PID == cmd.Process.Pid }); i < 0 || !ids[i].Alive() {
		t.Errorf("found %v, want pid %d", ids, cmd.Process.Pid)
	}
}
