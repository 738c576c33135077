package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

// schema has one of everything.
var schema = sdk.Schema{
	Attributes: []sdk.Attribute{
		{Name: "image", Type: "string", Required: true},
		{Name: "memory", Type: "number", Default: []byte("512")},
		{Name: "env", Type: "map(string)", Default: []byte(`{"LANG":"C"}`)},
		{Name: "level", Type: "string", OneOf: []string{"low", "high"}, Default: []byte(`"low"`)},
		{Name: "words", Type: "list(string)"},
	},
	Blocks: []sdk.NestedBlock{
		{Type: "bind", Repeated: true, Schema: sdk.Schema{Attributes: []sdk.Attribute{
			{Name: "source", Type: "string", Required: true},
			{Name: "writable", Type: "bool", Default: []byte("false")},
		}}},
		{Type: "limits", Schema: sdk.Schema{Attributes: []sdk.Attribute{{Name: "pids", Type: "number"}}}},
	},
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"the least": {`image = "a"`,
			`{"bind":[],"env":{"LANG":"C"},"image":"a","level":"low","limits":null,"memory":512,"words":null}`},
		"everything": {`
			image  = "base:${input.name}"
			memory = input.count
			env    = { A = input.name, "B.c" = 1 }
			level  = "high"
			words  = ["x", input.debug]
			bind {
			  source   = input.repo
			  writable = true
			}
			bind {
			  source = "/b"
			}
			limits {
			  pids = -1
			}`,
			`{"bind":[{"source":"SRC","writable":true},{"source":"/b","writable":false}],"env":{"A":"nobody","B.c":"1"},` +
				`"image":"base:nobody","level":"high","limits":{"pids":-1},"memory":1.5,"words":["x","false"]}`},
		"null is absent": {"image = \"a\"\nmemory = null\nlevel = null\nwords = null",
			`{"bind":[],"env":{"LANG":"C"},"image":"a","level":"low","limits":null,"memory":512,"words":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resolve(t, c.config).Config(schema)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoConfigAndNoSchemaIsAnEmptyObject(t *testing.T) {
	for _, body := range []string{"", "  config {\n  }\n"} {
		r, err := parse(t, body).Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Config(sdk.Schema{}); err != nil || string(got) != "{}" {
			t.Errorf("%q: %s, %v", body, got, err)
		}
	}
}

func TestConfigMistakesAreExplained(t *testing.T) {
	var b strings.Builder
	for _, config := range []string{
		"memory = 1",
		"image = null",
		"image = \"a\"\nmemory = input.name",
		"image = \"a\"\nlevel = \"medium\"",
		"image = \"a\"\nlevel = input.name",
		"image = \"a\"\nmemry = 1",
		"image = \"a\"\nbnd {\n}",
		"image = \"a\"\nbind {\n  writable = true\n}",
		"image = \"a\"\nbind \"label\" {\n  source = \"/a\"\n}",
		"image = \"a\"\nlimits {\n}\nlimits {\n}",
		"image = \"a\"\nenv = { a = [1] }",
	} {
		_, err := resolve(t, config).Config(schema)
		if err == nil {
			t.Fatalf("accepted: %s", config)
		}
		b.WriteString(report(t, err) + "\n")
	}
	r, err := parse(t, "").Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Config(schema)
	b.WriteString(report(t, err))
	golden(t, "testdata/config.golden", b.String())
}

func TestABadSchemaIsTheExtensionsFault(t *testing.T) {
	deep := sdk.Schema{}
	for range 20 {
		deep = sdk.Schema{Blocks: []sdk.NestedBlock{{Type: "a", Schema: deep}}}
	}
	one := func(a sdk.Attribute) sdk.Schema { return sdk.Schema{Attributes: []sdk.Attribute{a}} }
	for name, s := range map[string]sdk.Schema{
		"too deep":           deep,
		"no name":            one(sdk.Attribute{Type: "string"}),
		"no type":            one(sdk.Attribute{Name: "a"}),
		"unknown type":       one(sdk.Attribute{Name: "a", Type: "text"}),
		"any":                one(sdk.Attribute{Name: "a", Type: "list(any)"}),
		"a bomb of a type":   one(sdk.Attribute{Name: "a", Type: strings.Repeat("list(", 200) + "string" + strings.Repeat(")", 200)}),
		"a long type":        one(sdk.Attribute{Name: "a", Type: strings.Repeat(" ", 10_000) + "string"}),
		"default not JSON":   one(sdk.Attribute{Name: "a", Type: "string", Default: []byte("x")}),
		"default of another": one(sdk.Attribute{Name: "a", Type: "number", Default: []byte(`"x"`)}),
		"default not listed": one(sdk.Attribute{Name: "a", Type: "string", OneOf: []string{"b"}, Default: []byte(`"c"`)}),
		"values of a number": one(sdk.Attribute{Name: "a", Type: "number", OneOf: []string{"1"}}),
		"twice":              {Attributes: []sdk.Attribute{{Name: "a", Type: "string"}}, Blocks: []sdk.NestedBlock{{Type: "a"}}},
	} {
		_, err := resolve(t, "").Config(s)
		if sdk.CodeOf(err) != sdk.CodeExtensionInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLocate(t *testing.T) {
	r := resolve(t, `image = "a"
env = {
  A   = "1"
  "B" = "2"
}
words = [
  "x",
  "y",
]
bind {
  source = "/a"
}
bind {
  source = "/b"
}`)
	first := r.Locate([]string{"image"}).Line
	for _, c := range []struct {
		path      string
		line, col int
	}{
		{"", -1, 1},
		{"image", 0, 9},
		{"env", 1, 7},
		{"env B", 3, 9},
		{"env C", 1, 7},
		{"words 1", 7, 3},
		{"words 9", 5, 9},
		{"bind", 9, 1},
		{"bind 1", 12, 1},
		{"bind 1 source", 13, 12},
		{"bind 1 writable", 12, 1},
		{"bind 2 source", -1, 1},
		{"bind source", 10, 12},
		{"memory", -1, 1},
		{"nothing at all", -1, 1},
	} {
		want := profile.Range{File: "p.hcl", Line: first + c.line, Column: c.col}
		if got := r.Locate(strings.Fields(c.path)); got != want {
			t.Errorf("%q: got %v, want %v", c.path, got, want)
		}
	}
	none, err := parse(t, "").Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := none.Locate([]string{"image"}); got.String() != "p.hcl:1:1" {
		t.Errorf("without a config block: %v", got)
	}
}

func TestDiagnose(t *testing.T) {
	r := resolve(t, "image = \"a\"\nbind {\n  source = input.repo\n}")
	warning := sdk.Diagnostic{Severity: sdk.SeverityWarning, Summary: "image is old", Detail: "use b", Path: []string{"image"}}
	if err := r.Diagnose(nil); err != nil {
		t.Errorf("nothing found: %v", err)
	}
	if err := r.Diagnose([]sdk.Diagnostic{warning}); err != nil {
		t.Errorf("a warning: %v", err)
	}
	err := r.Diagnose([]sdk.Diagnostic{
		warning,
		{Summary: "The directory does not exist.", Detail: "Give one that does.", Path: []string{"bind", "0", "source"}},
		{Summary: "\x1b[2Jevil\n" + strings.Repeat("long ", 1000), Path: []string{"none"}},
		{},
	})
	golden(t, "testdata/diagnose.golden", report(t, err))
}

// resolve resolves a profile with fourInputs and config in its config block.
func resolve(t testing.TB, config string) *profile.Resolved {
	t.Helper()
	r, err := parse(t, fmt.Sprintf("%s\nconfig {\n%s\n}\n", fourInputs, config)).Resolve(map[string]string{"repo": "SRC"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
