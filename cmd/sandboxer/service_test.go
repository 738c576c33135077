package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

const testToken = "a-token-of-at-least-32-characters"

// startService starts sandboxer serve and returns its addresses when it is ready.
// Stop ends it as an operator does, and fails when it did not end well.
func startService(env []string, args ...string) (addrs []string, stop func() error, err error) {
	var log bytes.Buffer
	cmd := exec.Command("sandboxer", append([]string{"serve"}, args...)...)
	cmd.Env, cmd.Stderr = env, &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	ready, ok := strings.CutPrefix(line, "ready on ")
	if err != nil || !ok {
		cmd.Process.Kill()
		return nil, nil, fmt.Errorf("the service said %q; %w\n%s", line, cmd.Wait(), log.String())
	}
	return strings.Fields(ready), func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("the service ended with %w\n%s", err, log.String())
		}
		return nil
	}, nil
}
