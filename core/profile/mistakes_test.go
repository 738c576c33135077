package profile_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each file of testdata/mistakes has a mistake; beside it is what the author of
// the profile reads.
func TestMistakesAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no mistakes found: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".hcl")
		t.Run(name, func(t *testing.T) {
			_, err := profile.Load(file)
			golden(t, strings.TrimSuffix(file, ".hcl")+".golden", report(t, err))
		})
	}
}

// The order of hcl's complaints is that of a map; ours is that of the file.
func TestDiagnosticsAreInTheOrderOfTheFile(t *testing.T) {
	src := []byte("profile \"p\" {\n  a = 1\n  b = 1\n  c = 1\n  d = 1\n}\n")
	for range 50 {
		_, err := profile.Parse("p.hcl", src)
		line := 0
		for _, item := range diagnostics(t, err).Items {
			if item.Range.Line < line {
				t.Fatalf("line %d after line %d", item.Range.Line, line)
			}
			line = item.Range.Line
		}
	}
}

func TestManyMistakesAreCounted(t *testing.T) {
	src := "profile \"p\" {\n" + valid + "config {\n" + strings.Repeat("a {\n  x = input.y\n}\n", 500) + "}\n}\n"
	_, err := profile.Parse("p.hcl", []byte(src))
	d := diagnostics(t, err)
	if len(d.Items) != profile.MaxItems || d.Omitted == 0 {
		t.Errorf("%d items, %d omitted", len(d.Items), d.Omitted)
	}
	if !strings.Contains(err.Error(), " more)") {
		t.Errorf("the error does not count: %v", err)
	}
}

func TestALongLineIsShownInPart(t *testing.T) {
	src := `profile "p" { ` + strings.Repeat("/**/ ", 10_000) + `x y z` + strings.Repeat(" /**/", 10_000) + " }\n"
	_, err := profile.Parse("p.hcl", []byte(src))
	var b bytes.Buffer
	if err := diagnostics(t, err).Render(&b, false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)); n > 200 {
			t.Errorf("a line of %d characters", n)
		}
	}
}

func TestRenderColorsTheMark(t *testing.T) {
	_, err := profile.Parse("p.hcl", []byte("profile \"p\" {\n"+valid+"  x = 1\n}\n"))
	var plain, color bytes.Buffer
	d := diagnostics(t, err)
	if err := errors.Join(d.Render(&plain, false), d.Render(&color, true)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(color.String(), "\x1b[31m^\x1b[0m") {
		t.Errorf("plain %q, color %q", &plain, &color)
	}
}

// valid is what each profile needs.
const valid = `
  extension = "ext.bwrap"
  ttl {
    default = "1h"
    max     = "24h"
  }
`

// report is what a person sees of err: in one line, on a terminal, and the hint.
func report(t *testing.T, err error) string {
	t.Helper()
	d := diagnostics(t, err)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%v\n\n", err)
	if err := d.Render(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			t.Errorf("%U reaches the terminal", r)
		}
	}
	return b.String()
}

// diagnostics asserts what is true of every error in a profile.
func diagnostics(t *testing.T, err error) *profile.Diagnostics {
	t.Helper()
	d, ok := errors.AsType[*profile.Diagnostics](err)
	if !ok {
		t.Fatalf("got %T %v, want *Diagnostics", err, err)
	}
	if e := sdk.AsError(err); e.Code != sdk.CodeInvalidProfile || e.Message != err.Error() || e.Hint != d.Items[0].Hint {
		t.Errorf("as *sdk.Error: %+v", e)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
	return d
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
