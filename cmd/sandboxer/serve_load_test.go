package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// openFiles counts the descriptors of the service and of its extension.
func (s *running) openFiles() int {
	s.t.Helper()
	n := 0
	for _, pid := range append(childrenOf(s.t, s.cmd.Process.Pid), s.cmd.Process.Pid) {
		fds, err := os.ReadDir(procPath(pid, "fd"))
		if err != nil {
			s.t.Fatal(err)
		}
		n += len(fds)
	}
	return n
}

// memory is what the service and its extension hold in memory, in KiB.
func (s *running) memory() int {
	s.t.Helper()
	sum := 0
	for _, pid := range append(childrenOf(s.t, s.cmd.Process.Pid), s.cmd.Process.Pid) {
		b, err := os.ReadFile(procPath(pid, "status"))
		if err != nil {
			s.t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "\nRssAnon:")
		var kib int
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			s.t.Fatal(err)
		}
		sum += kib
	}
	return sum
}

// TestExecsLeakNoDescriptor runs a thousand commands one after the other.
func TestExecsLeakNoDescriptor(t *testing.T) {
	s := startServe(t, newHost(t))
	id := s.create(tree(t, 1, 1), "")
	s.http.Transport = s.raw // the checks of the replies take longer than the execs
	run := func(n int) {
		for i := range n {
			want := fmt.Sprintf("%d\n", i)
			if res := s.exec(id, command("echo", fmt.Sprint(i))); res.Stdout != want || res.StdoutBytes != int64(len(want)) {
				t.Fatalf("exec %d: %s", i, mustJSON(res))
			}
		}
	}
	run(20)
	before := s.openFiles()
	run(1000)
	// Some of what the runtime keeps open comes and goes.
	if after := s.openFiles(); after > before+5 {
		t.Errorf("%d descriptors after 1,000 execs, %d before", after, before)
	}
}

// TestManyClients has 64 clients run 2,000 commands in 64 sandboxes.
func TestManyClients(t *testing.T) {
	const sandboxes, execs = 64, 2000
	s := startServe(t, newHost(t))
	s.http.Transport = s.raw
	source := tree(t, 3, 1000)
	ids := make(chan string, sandboxes)
	var wg sync.WaitGroup
	for range sandboxes {
		wg.Go(func() {
			r, err := s.do("POST", "/v1/sandboxes", createBody(source, ""))
			if err != nil || r.status != http.StatusCreated {
				t.Errorf("create: status %d, %v: %s", r.status, err, r.body)
				return
			}
			ids <- decodeAs[apitype.Sandbox](t, r).SandboxID
		})
	}
	wg.Wait()
	if len(ids) != sandboxes {
		t.Fatal("not every sandbox was made")
	}
	all := make([]string, 0, sandboxes)
	for range sandboxes {
		all = append(all, <-ids)
	}
	defer func() {
		for _, id := range all {
			wg.Go(func() { s.must("DELETE", "/v1/sandboxes/"+id, "") })
		}
		wg.Wait()
	}()
	round := func(n int) {
		work := make(chan int)
		for _, id := range all {
			wg.Go(func() {
				for i := range work {
					r, err := s.do("POST", "/v1/sandboxes/"+id+"/exec", command("sh", "-c", fmt.Sprintf("echo out %d; echo err %d >&2", i, i)))
					if err != nil || r.status != http.StatusOK {
						t.Errorf("exec %d: status %d, %v: %s", i, r.status, err, r.body)
						continue
					}
					res := decodeAs[apitype.ExecResult](t, r)
					if res.Stdout != fmt.Sprintf("out %d\n", i) || res.Stderr != fmt.Sprintf("err %d\n", i) || res.Outcome != "exited" {
						t.Errorf("exec %d: %s", i, r.body)
					}
				}
			})
		}
		for i := range n {
			work <- i
		}
		close(work)
		wg.Wait()
	}
	round(200)
	before, files := s.memory(), s.openFiles()
	round(execs)
	debug.FreeOSMemory() // of the test itself: the machine is small
	// What the collector has not given back yet is not a leak: a leak of one
	// request of each exec would be far more than this.
	const slack = 64 << 10
	eventually(t, fmt.Sprintf("the memory to be back at %d KiB", before), func() bool { return s.memory() < before+slack })
	if after := s.openFiles(); after > files+20 {
		t.Errorf("%d descriptors after %d execs, %d before", after, execs, files)
	}
	t.Logf("memory: %d KiB before, %d KiB after", before, s.memory())
}
