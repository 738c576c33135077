package profile_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

// Whatever the text and the values are: no panic, no long wait, and either a
// profile or an error with a place in the file.
func FuzzProfile(f *testing.F) {
	for _, pattern := range []string{"../../profiles/*.hcl", "testdata/mistakes/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src, "/repo", "x")
		}
	}
	f.Add([]byte("profile \"p\" {\n"+fourInputs+valid+"config {\n image = \"a\"\n bind {\n source = input.repo\n }\n }\n}\n"), "/repo", "x")
	f.Fuzz(func(t *testing.T, src []byte, path, text string) {
		start := time.Now()
		defer func() {
			if spent := time.Since(start); spent > time.Minute {
				t.Errorf("%d bytes took %v", len(src), spent)
			}
		}()
		p, err := profile.Parse("p.hcl", src)
		if err != nil {
			checkDiagnostics(t, err)
			return
		}
		inputs := map[string]string{}
		for _, in := range p.Inputs {
			inputs[in.Name] = map[profile.InputType]string{
				profile.TypeDirectory: path, profile.TypeString: text, profile.TypeNumber: "1", profile.TypeBool: "true",
			}[in.Type]
		}
		r, err := p.Resolve(inputs)
		if err != nil {
			if code := sdk.CodeOf(err); code != sdk.CodeInvalidRequest && code != sdk.CodeInvalidProfile {
				t.Errorf("code %s: %v", code, err)
			}
			return
		}
		config, err := r.Config(schema)
		switch {
		case err != nil:
			checkDiagnostics(t, err)
		case !json.Valid(config):
			t.Errorf("not JSON: %q", config)
		}
		if at := r.Locate([]string{"bind", "0", text}); at.Line < 1 || at.Column < 1 {
			t.Errorf("no place: %v", at)
		}
	})
}

func checkDiagnostics(t *testing.T, err error) {
	d, ok := errors.AsType[*profile.Diagnostics](err)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	for _, item := range d.Items {
		if item.Range.Line < 1 || item.Range.Column < 1 || item.Message == "" {
			t.Errorf("%+v", item)
		}
	}
	if err := d.Render(io.Discard, true); err != nil {
		t.Error(err)
	}
}
