package store

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// children are what this test binary does when it is started again as another
// process, with a state directory and its number.
var children = map[string]func(ctx context.Context, s *Store, number int) error{
	"insert": func(ctx context.Context, s *Store, number int) error {
		host, err := s.HostID()
		if err != nil {
			return err
		}
		for i := range 10 {
			r := newRecord(sandboxID(number*100 + i))
			r.HostID = host
			if err := s.Insert(ctx, r); err != nil {
				return err
			}
		}
		fmt.Println(host)
		return nil
	},
	"contend": func(ctx context.Context, s *Store, number int) error {
		for i := range 20 {
			id := sandboxID(i)
			err := s.Transition(ctx, id, []State{Ready}, Destroying, nil)
			if _, lost := errors.AsType[*StateError](err); lost {
				continue
			}
			if err != nil {
				return err
			}
			fmt.Println(id)
		}
		return nil
	},
	"insert for ever": func(ctx context.Context, s *Store, number int) error {
		for i := 0; ; i++ {
			if err := s.Insert(ctx, newRecord(sandboxID(i))); err != nil {
				return err
			}
			fmt.Println(sandboxID(i))
		}
	},
	"stop in a transaction": func(ctx context.Context, s *Store, number int) error {
		return s.transact(ctx, func(tx *sql.Tx) error {
			for i := range 2000 { // more than the page cache holds back
				r := newRecord(sandboxID(1000 + i))
				r.Handle.Data = make([]byte, 4000)
				if err := s.insert(ctx, tx, r); err != nil {
					return err
				}
			}
			fmt.Println("in the transaction")
			select {}
		})
	},
}

const childEnv = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := runChild(children[name], os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runChild begins when its stdin ends, so that many begin at once.
func runChild(child func(context.Context, *Store, int) error, dir, number string) error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	s, err := Open(context.Background(), dir)
	if err != nil {
		return err
	}
	defer s.Close()
	return child(context.Background(), s, n)
}

func childCommand(t *testing.T, name, dir string, number int) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dir, strconv.Itoa(number))
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// runChildren runs eight processes at once and returns the lines they print.
func runChildren(t *testing.T, name, dir string) []string {
	t.Helper()
	start, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	var cmds []*exec.Cmd
	var outputs []*strings.Builder
	for i := range 8 {
		cmd, output := childCommand(t, name, dir, i+1), &strings.Builder{}
		cmd.Stdin, cmd.Stdout = start, output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, outputs = append(cmds, cmd), append(outputs, output)
	}
	start.Close()
	hold.Close()
	var lines []string
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		lines = append(lines, strings.Fields(outputs[i].String())...)
	}
	return lines
}

func TestManyProcessesMakeOneDatabase(t *testing.T) {
	dir := t.TempDir()
	hosts := runChildren(t, "insert", dir)
	s := openStore(t, dir)
	want, err := s.HostID()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range hosts {
		if host != want {
			t.Errorf("a process has host id %s, another %s", host, want)
		}
	}
	if page, err := s.List(t.Context(), Filter{}); err != nil || len(page.Records) != 80 {
		t.Errorf("%d records (%v), want 80", len(page.Records), err)
	}
}

func TestOneOfManyProcessesWins(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for i := range 20 {
		in(t, s, sandboxID(i), Ready)
	}
	won := map[string]int{}
	for _, id := range runChildren(t, "contend", dir) {
		won[id]++
	}
	for i := range 20 {
		if n := won[sandboxID(i)]; n != 1 {
			t.Errorf("%s was won %d times, want once", sandboxID(i), n)
		}
	}
}

// startAndKill starts a child, waits for n lines of its output, kills it, and
// returns all the lines that it printed.
func startAndKill(t *testing.T, name, dir string, n int) []string {
	t.Helper()
	cmd := childCommand(t, name, dir, 1)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if lines = append(lines, scan.Text()); len(lines) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(lines) < n {
		t.Fatalf("the process ended by itself (%v) after %d lines", err, len(lines))
	}
	return lines
}

func checkIntegrity(t *testing.T, s *Store) {
	t.Helper()
	var result string
	if err := s.db.QueryRow("PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		t.Errorf("integrity check says %q, %v", result, err)
	}
}

func TestWhatWasPromisedSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	promised := startAndKill(t, "insert for ever", dir, 20)
	s := openStore(t, dir)
	checkIntegrity(t, s)
	for _, id := range promised {
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

func TestKillInATransactionLeavesNothingOfIt(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	insert(t, s, newRecord(sandboxID(1)))
	startAndKill(t, "stop in a transaction", dir, 1)
	checkIntegrity(t, s)
	insert(t, s, newRecord(sandboxID(2))) // the lock died with its holder
	s.Close()

	s = openStore(t, dir)
	checkIntegrity(t, s)
	if page, err := s.List(t.Context(), Filter{}); err != nil || len(page.Records) != 2 {
		t.Errorf("%d records (%v), want the 2 that were stored", len(page.Records), err)
	}
}
