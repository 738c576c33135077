package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Some promises hold under limits that a process cannot take back, or for a
// user who is not root. Such a test runs one of the scenarios in a child.
var scenarios = map[string]func(dir string) error{
	"deep":       deepScenario,
	"ordinary":   ordinaryScenario,
	"unreadable": unreadableScenario,
	"full":       fullScenario,
}

const scenarioEnv = "WORKSPACE_TEST_SCENARIO"

func TestMain(m *testing.M) {
	if run := scenarios[os.Getenv(scenarioEnv)]; run != nil {
		if err := run(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// nobody is the user of a child that must not be root.
const nobody = 65534

// runChild runs a scenario with an empty directory that it may write to, as an
// ordinary user unless attr says otherwise.
func runChild(t *testing.T, scenario string, attr *syscall.SysProcAttr) {
	t.Helper()
	dir := t.TempDir()
	if attr == nil && os.Getuid() == 0 {
		attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		chmod(t, filepath.Dir(dir), ".", 0o755)
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", dir)
	cmd.Dir = "/"
	cmd.Env = []string{scenarioEnv + "=" + scenario, "GOCOVERDIR=" + dir}
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", scenario, err, out)
	}
}

// makeDeep makes a chain of n directories named d in dir.
func makeDeep(dir string, n int) error {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range n {
		if err != nil {
			return err
		}
		if err = unix.Mkdirat(at, "d", 0o755); err != nil {
			break
		}
		var next int
		next, err = unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	return err
}
