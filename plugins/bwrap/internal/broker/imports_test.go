package broker

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImportsAreFew holds what reexec.go rests on. A package such as net or
// runtime/debug is initialized late, and this one after it.
func TestImportsAreFew(t *testing.T) {
	allowed := []string{
		"encoding/binary", "encoding/json", "errors", "fmt", "io", "os", "os/signal", "strconv", "strings",
		"sync", "sync/atomic", "syscall", "time",
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s: measure the start of a broker before you allow it", f.Name(), path)
			}
		}
	}
}
