package client

import (
	"os/exec"
	"strings"
	"testing"
)

// FuzzQuote has a shell read what was quoted.
func FuzzQuote(f *testing.F) {
	for _, arg := range []string{"", "plain", "a b", "it's", "'", "''", `"$x"`, "-n", "two\nlines\n", "\\", "é🙂", "\xff", "~/*", "a=b"} {
		f.Add(arg)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		if strings.Contains(arg, "\x00") {
			return // no argument holds one
		}
		out, err := exec.Command("sh", "-c", `printf '%s.' `+quote(arg)).Output()
		if want := arg + "."; err != nil || string(out) != want {
			t.Errorf("%q is read as %q, %v", arg, out, err)
		}
	})
}
