package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
)

// Find returns the processes whose argument vector satisfies match. Processes
// that end meanwhile, or that the caller may not see, are left out.
func Find(match func(argv []string) bool) ([]ID, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []ID
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		// Taken before the argument vector is read: if the pid is recycled
		// in between, the ID is that of a process which has ended.
		id, err := Of(pid)
		if errors.Is(err, ErrGone) || errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if match(argv(pid)) {
			found = append(found, id)
		}
	}
	return found, nil
}

func argv(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(b) == 0 {
		return nil
	}
	var args []string
	for a := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{0}), []byte{0}) {
		args = append(args, string(a))
	}
	return args
}
