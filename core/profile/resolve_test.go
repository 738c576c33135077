package profile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

const fourInputs = `
  input "repo" {
    type = directory
  }
  input "name" {
    type    = string
    default = "nobody"
  }
  input "count" {
    type    = number
    default = 1.50
  }
  input "debug" {
    type    = bool
    default = false
  }
  workspace {
    source  = input.repo
    exclude = ["*.log", "${input.name}-${input.count}"]
  }
`

func TestResolveFillsInDefaults(t *testing.T) {
	r, err := parse(t, fourInputs).Resolve(map[string]string{"repo": "a/../b", "debug": "true"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"repo": "a/../b", "name": "nobody", "count": "1.5", "debug": "true"}
	if diff := cmp.Diff(want, r.Inputs); diff != "" {
		t.Errorf("inputs: %s", diff)
	}
	source := sdk.WorkspaceSource{Path: "a/../b", Exclude: []string{"*.log", "nobody-1.5"}}
	if diff := cmp.Diff(source, r.Workspace); diff != "" {
		t.Errorf("workspace: %s", diff)
	}
}

func TestALiteralSourceIsKept(t *testing.T) {
	r, err := parse(t, "  workspace {\n    source = \"/srv/$${a}/../b\"\n  }\n").Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "/srv/${a}/../b"; r.Workspace.Path != want {
		t.Errorf("got %q, want %q", r.Workspace.Path, want)
	}
}

// A path is bytes to the file system: hcl would compose its characters.
func TestAPathIsNotNormalized(t *testing.T) {
	const decomposed = "/srv/cafe\u0301"
	r, err := parse(t, fourInputs).Resolve(map[string]string{"repo": decomposed})
	if err != nil {
		t.Fatal(err)
	}
	if r.Workspace.Path != decomposed {
		t.Errorf("got %+q, want %+q", r.Workspace.Path, decomposed)
	}
}

func TestWrongInputsAreRefusedByName(t *testing.T) {
	two := parse(t, fourInputs+"  input \"ref\" {\n    type = string\n  }\n")
	for name, c := range map[string]struct {
		p      *profile.Profile
		inputs map[string]string
		want   sdk.Error
	}{
		"missing": {parse(t, fourInputs), nil,
			sdk.Error{Message: `profile.p needs a value for input "repo"`, Field: "/inputs/repo", Hint: "add --input repo=PATH"}},
		"two missing": {two, nil,
			sdk.Error{Message: `profile.p needs a value for input "repo", "ref"`, Field: "/inputs/repo", Hint: "add --input repo=PATH --input ref=TEXT"}},
		"misspelt": {two, map[string]string{"rep": "x"},
			sdk.Error{Message: `profile.p has no input "rep"`, Field: "/inputs/rep", Hint: "did you mean --input repo=PATH?"}},
		"unknown": {two, map[string]string{"a/b~c": "x"},
			sdk.Error{Message: `profile.p has no input "a/b~c"`, Field: "/inputs/a~1b~0c", Hint: "its inputs are: repo, name, count, debug, ref"}},
		"none declared": {parse(t, ""), map[string]string{"repo": "x"},
			sdk.Error{Message: `profile.p has no input "repo"`, Field: "/inputs/repo", Hint: "leave it out: the profile takes no inputs"}},
		"no path": {parse(t, fourInputs), map[string]string{"repo": ""},
			sdk.Error{Message: `input "repo" must be the path of a directory`, Field: "/inputs/repo", Hint: "use --input repo=PATH"}},
		"no number": {parse(t, fourInputs), map[string]string{"repo": "x", "count": "1e600000000"},
			sdk.Error{Message: `input "count" must be a number`, Field: "/inputs/count", Hint: "use --input count=NUMBER"}},
		"infinity": {parse(t, fourInputs), map[string]string{"repo": "x", "count": "Inf"},
			sdk.Error{Message: `input "count" must be a number`, Field: "/inputs/count", Hint: "use --input count=NUMBER"}},
		"no bool": {parse(t, fourInputs), map[string]string{"repo": "x", "debug": "yes"},
			sdk.Error{Message: `input "debug" must be true or false`, Field: "/inputs/debug", Hint: "use --input debug=true|false"}},
		"NUL": {parse(t, fourInputs), map[string]string{"repo": "a\x00b"},
			sdk.Error{Message: `input "repo" must be UTF-8 text without NUL`, Field: "/inputs/repo", Hint: "use --input repo=PATH"}},
		"not UTF-8": {parse(t, fourInputs), map[string]string{"repo": "a\xff"},
			sdk.Error{Message: `input "repo" must be UTF-8 text without NUL`, Field: "/inputs/repo", Hint: "use --input repo=PATH"}},
		"too long": {parse(t, fourInputs), map[string]string{"repo": strings.Repeat("x", profile.MaxInputBytes+1)},
			sdk.Error{Message: `input "repo" must be at most 4096 bytes long`, Field: "/inputs/repo", Hint: "use --input repo=PATH"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.p.Resolve(c.inputs)
			if err == nil {
				t.Fatal("accepted")
			}
			got := sdk.AsError(err)
			if got.Code != sdk.CodeInvalidRequest || got.Message != c.want.Message || got.Field != c.want.Field || got.Hint != c.want.Hint {
				t.Errorf("got %s %q %q %q\nwant %q %q %q", got.Code, got.Message, got.Field, got.Hint, c.want.Message, c.want.Field, c.want.Hint)
			}
		})
	}
}

func TestAPatternThatAnInputMakesEmptyIsRefused(t *testing.T) {
	p := parse(t, strings.Replace(fourInputs, `"${input.name}-${input.count}"`, "input.name", 1))
	_, err := p.Resolve(map[string]string{"repo": "x", "name": ""})
	golden(t, "testdata/empty-pattern.golden", report(t, err))
}

func TestInputsCannotMakeASmallProfileLarge(t *testing.T) {
	uses := strings.Repeat("    \"${input.name}\",\n", 999)
	p := parse(t, fourInputs+"  config {\n    words = [\n"+uses+"    ]\n  }\n")
	_, err := p.Resolve(map[string]string{"repo": "x", "name": strings.Repeat("x", 2000)})
	if e := sdk.AsError(err); err == nil || e.Code != sdk.CodeInvalidRequest || e.Field != "/inputs" {
		t.Errorf("got %v", err)
	}
	if _, err := p.Resolve(map[string]string{"repo": "x", "name": strings.Repeat("x", 500)}); err != nil {
		t.Errorf("half a megabyte: %v", err)
	}
}
