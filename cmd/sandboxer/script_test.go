package main

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs each script against the real bwrap: those of testdata/script
// as the local owner and over a service, those of the directories below it in the
// one mode that they are about. Every script has a state directory of its own,
// and must leave nothing behind.
func TestScripts(t *testing.T) {
	for mode, setup := range map[string]func(*testing.T, *testscript.Env) error{
		"local":  func(*testing.T, *testscript.Env) error { return nil },
		"remote": setupService,
	} {
		for _, dir := range []string{"", mode} {
			t.Run(path.Join(mode, dir), func(t *testing.T) { runScripts(t, filepath.Join("testdata/script", dir), setup) })
		}
	}
}

func runScripts(t *testing.T, dir string, setup func(*testing.T, *testscript.Env) error) {
	ext := extensionDir(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			setupEnv(t, env, ext)
			return setup(t, env)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitCode,
			"setid":    setID,
		},
		Condition: condition,
	})
}

// setupService has the sandboxer of a script ask a service that may copy what
// the script holds.
func setupService(t *testing.T, env *testscript.Env) error {
	socket := filepath.Join(env.Getenv("SANDBOXER_STATE_DIR"), "service.sock")
	env.Setenv("SANDBOXER_EXEC_TOKEN", testToken)
	env.Setenv("NOT_UTF8", "\xff")
	_, stop, err := startService(env.Vars, "--socket", socket, "--source-root", env.WorkDir)
	if err != nil {
		return err
	}
	env.Setenv("SANDBOXER_ADDR", "unix://"+socket)
	env.Defer(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return nil
}

func condition(name string) (bool, error) {
	return name == "root" && os.Geteuid() == 0, nil
}

func setupEnv(t *testing.T, env *testscript.Env, ext string) {
	state := newStateDir(t)
	profiles, err := filepath.Abs("../../profiles")
	if err != nil {
		t.Fatal(err)
	}
	env.Setenv("SANDBOXER_STATE_DIR", state)
	env.Setenv("SANDBOXER_EXTENSION_PATH", ext)
	env.Setenv("SANDBOXER_PROFILE_PATH", profiles)
	env.Setenv("EXT", ext)
	env.Setenv("PROFILES", profiles)
	for _, v := range []string{"ACTOR=agt", "PROJECT=demo", "SESSION_ID=s-1", "RUN_ID=r-1"} {
		k, v, _ := strings.Cut(v, "=")
		env.Setenv("SANDBOXER_"+k, v)
	}
	env.Defer(func() { mustBeEmpty(t, state) })
}

// exitCode runs a command and compares its exit code: exitcode 3 sandboxer …
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE COMMAND [ARG]...")
	}
	want := args[0]
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if e, ok := err.(*exec.ExitError); ok {
		got = strconv.Itoa(e.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %s, want %s", got, want)
	}
}

// setID keeps the last output, an id, in a variable: setid ID
func setID(ts *testscript.TestScript, _ bool, args []string) {
	id := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(args) != 1 || !strings.HasPrefix(id, "sbx-") {
		ts.Fatalf("setid %v: %q is no id", args, id)
	}
	ts.Setenv(args[0], id)
}

// newStateDir is a directory that the uids of sandboxes may enter.
func newStateDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "sandboxer-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mustBeEmpty fails when a sandbox of the state directory is left in any form,
// and removes it.
func mustBeEmpty(t testing.TB, state string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(state, "ext/bwrap/sandboxes/*"))
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob(filepath.Join(state, "ext/bwrap/uids/*"))
	locks, _ := filepath.Glob(filepath.Join(state, "locks/*"))
	if left = append(append(left, more...), locks...); len(left) > 0 {
		t.Errorf("left in the state directory: %v", left)
	}
	if procs := processesIn(t, state); len(procs) > 0 {
		t.Errorf("processes that have files of %s open: %v", state, procs)
		for _, p := range procs {
			exec.CommandContext(context.Background(), "kill", "-9", p).Run()
		}
	}
}

// processesIn lists the processes whose mounts, descriptors or arguments name
// the directory.
func processesIn(t testing.TB, dir string) (pids []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid := e.Name()
		if strings.Trim(pid, "0123456789") != "" || pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		if mounts, err := os.ReadFile("/proc/" + pid + "/mountinfo"); err == nil && strings.Contains(string(mounts), dir) {
			pids = append(pids, pid)
			continue
		}
		fds, _ := filepath.Glob("/proc/" + pid + "/fd/*")
		for _, fd := range fds {
			if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, dir+"/") {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
