package profile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

func TestShippedProfilesLoad(t *testing.T) {
	list, errs := profile.Finder{Dirs: []string{"../../profiles"}}.List()
	if len(errs) > 0 || len(list) == 0 {
		t.Fatalf("%d profiles, errors %v", len(list), errs)
	}
}

func TestShippedBwrapLocal(t *testing.T) {
	p, err := profile.Load("../../profiles/bwrap-local.hcl")
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Input{{Name: "repo", Type: profile.TypeDirectory, Required: true, Description: "The directory to copy into the workspace."}}
	if diff := cmp.Diff(want, p.Inputs); diff != "" {
		t.Error(diff)
	}
	if p.Address() != "profile.bwrap-local" || p.ExtensionAddress() != "ext.bwrap" || p.ExtensionVersion != "~> 0.1" {
		t.Errorf("%s on %s %s", p.Address(), p.ExtensionAddress(), p.ExtensionVersion)
	}
	if p.TTL != (profile.TTL{Default: time.Hour, Max: 24 * time.Hour}) || p.Exec.TimeoutMax != 4*time.Hour {
		t.Errorf("ttl %v, exec %v", p.TTL, p.Exec)
	}
	if p.Network != (sdk.NetworkRequest{Posture: sdk.PostureDeny}) {
		t.Errorf("network %+v", p.Network)
	}
	r, err := p.Resolve(map[string]string{"repo": "./somewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sdk.WorkspaceSource{Path: "./somewhere"}, r.Workspace); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsAreTheSafeOnes(t *testing.T) {
	p := parse(t, "")
	if p.Network != (sdk.NetworkRequest{Posture: sdk.PostureDeny}) || p.Exec.TimeoutMax != time.Hour {
		t.Errorf("network %+v, exec %+v", p.Network, p.Exec)
	}
	r, err := p.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sdk.WorkspaceSource{}, r.Workspace); diff != "" {
		t.Errorf("without a workspace block: %s", diff)
	}
}

func TestDigestIsOfTheBytes(t *testing.T) {
	// sha256sum of the text, by coreutils.
	const text = "profile \"p\" {\n  extension = \"e\"\n  ttl {\n    default = \"1s\"\n    max = \"30d\"\n  }\n}\n"
	p, err := profile.Parse("p.hcl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := "sha256:5a03b04d7bd302dc20f4228b419aa2c4565109a995b36789acd121aad84535d5"; p.Digest != want {
		t.Errorf("got %s, want %s", p.Digest, want)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1s": time.Second, "90m": 90 * time.Minute, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "30d": 720 * time.Hour,
		"0s": 0, "0d": 0, "999ms": 0, "31d": 0, "30d1s": 0, "1d-1h": 0, "d": 0, "": 0, "1": 0, "1.5d": 0, "9999d": 0,
		"9999d2562047h": 0, "99999999999d": 0, "99999999999h": 0, "-1h": 0, "1h ": 0,
	} {
		src := fmt.Sprintf("profile \"p\" {\n  extension = \"e\"\n  ttl {\n    default = %q\n    max = \"30d\"\n  }\n}\n", text)
		p, err := profile.Parse("p.hcl", []byte(src))
		switch {
		case want == 0 && err == nil:
			t.Errorf("%q is accepted", text)
		case want != 0 && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != 0 && p.TTL.Default != want:
			t.Errorf("%q: got %v, want %v", text, p.TTL.Default, want)
		}
	}
}

func TestTextThatNoParserShouldSee(t *testing.T) {
	big := valid + "#" + strings.Repeat("x", profile.MaxBytes)
	for name, c := range map[string]struct{ src, want string }{
		"empty":                {"", "p.hcl:1:1: the file is empty"},
		"blank":                {" \n\t\n", "p.hcl:1:1: the file is empty"},
		"a byte too large":     {big[:profile.MaxBytes+1], "p.hcl:1:1: the file is too large"},
		"byte order mark":      {"\xef\xbb\xbfprofile \"p\" {}\n", "p.hcl:1:1: the file starts with a byte order mark"},
		"not UTF-8":            {"# é\n# é\xff\n", "p.hcl:2:4: this is not valid UTF-8"},
		"UTF-16":               {"\xff\xfep\x00r\x00", "p.hcl:1:1: this is not valid UTF-8"},
		"NUL":                  {"a = \"\x00\"\n", "p.hcl:1:"},
		"60,000 brackets":      {"a = " + strings.Repeat("[", 60_000), "p.hcl:1:105: this is nested too deep"},
		"blocks":               {strings.Repeat("a {\n", 30_000), "p.hcl:101:3: this is nested too deep"},
		"templates":            {"a = " + strings.Repeat(`"${`, 30_000), "p.hcl:1:155: this is nested too deep"},
		"heredocs":             {"a = " + strings.Repeat("<<A\n${", 30_000), "p.hcl:51:3: this is nested too deep"},
		"mismatched brackets":  {"a = " + strings.Repeat("[)", 30_000), "p.hcl:1:205: this is nested too deep"},
		"a chain of negations": {"a = " + strings.Repeat("!", 60_000), "p.hcl:1:5: the operator"},
		"signs":                {"a = " + strings.Repeat("-", 60_000) + "1\n", "p.hcl:1:5: the operator"},
		"conditionals":         {"a = " + strings.Repeat("1?1:", 900) + "1\n", "p.hcl:1:6: the operator"},
		"sums":                 {"a = 1" + strings.Repeat("+1", 40_000) + "\n", "p.hcl:1:6: the operator"},
		"indexes":              {"a = b" + strings.Repeat("[b]", 30_000) + "\n", "p.hcl:1:6: an index"},
		"indexes on lines":     {"a = (b" + strings.Repeat("\n[b]", 20_000) + ")\n", "p.hcl:2:1: an index"},
		"splats":               {"a = b" + strings.Repeat(".*", 40_000) + "\n", "p.hcl:1:7: the operator"},
		"directives":           {"a = \"" + strings.Repeat("%{if 1}", 2_000) + "\"\n", "p.hcl:1:6: the directive"},
		"loops":                {"a = " + strings.Repeat("[for\nx in [1,2] : ", 40), "p.hcl:1:6: a \"for\" expression"},
		"loops after comments": {"a = " + strings.Repeat("[ # why\n for # so\n x in [1,2] : ", 40), "p.hcl:2:2: a \"for\" expression"},
		"a long heredoc":       {"a = <<A\n" + strings.Repeat("x\n", 90_000) + "A\n", "p.hcl:4098:1: this string is too long"},
		"a long template":      {"a = \"" + strings.Repeat("$$${a}", 15_000) + "\"\n", "p.hcl:1:"},
		"a long list":          {"a = [" + strings.Repeat("1,", 2_000) + "]\n", "p.hcl:1:2007: this is too long"},
		"a long object":        {"a = {\n" + strings.Repeat("b = 1\n", 2_000) + "}\n", "p.hcl:1002:3: this is too long"},
		"words":                {strings.Repeat("a\n", 60_000), "p.hcl:50001:1: the file is too large"},
		"digits":               {"a = " + strings.Repeat("9", 65) + "\n", "p.hcl:1:5: this number is out of range"},
		"a small exponent":     {"a = 1e-600000000\n", "p.hcl:1:5: this number is out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := profile.Parse("p.hcl", []byte(c.src))
			report(t, err)
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %.200q, want %q", err, c.want)
			}
		})
	}
}

func TestAFileOfTheLargestSizeLoads(t *testing.T) {
	src := "profile \"p\" {\n" + valid + "}\n#"
	src += strings.Repeat("x", profile.MaxBytes-len(src))
	file := filepath.Join(t.TempDir(), "p.hcl")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := profile.Load(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(src+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := profile.Load(file)
	report(t, err)
}

func TestListsOfOneElementPerLineAreNotDeep(t *testing.T) {
	list := strings.Repeat("  -1,\n  [\"a\"],\n", 500)
	parse(t, "config {\n  a = [\n"+list+"  ]\n  b = <<-EOT\n"+strings.Repeat("    x\n", 4000)+"  EOT\n}\n")
}

func TestWhatIsNotAFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo.hcl")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		code       sdk.Code
	}{
		{dir, "is a directory", sdk.CodeInvalidProfile},
		{fifo, "is not a regular file", sdk.CodeInvalidProfile},
		{"/dev/null", "is not a regular file", sdk.CodeInvalidProfile},
		{filepath.Join(dir, "none.hcl"), "no such file", sdk.CodeProfileNotFound},
		{filepath.Join(fifo, "below.hcl"), "not a directory", sdk.CodeInvalidProfile},
	} {
		_, err := profile.Load(c.path)
		if sdk.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), c.path) != 1 {
			t.Errorf("%s: %v (%s)", c.path, err, sdk.CodeOf(err))
		}
	}
	if _, err := profile.Load(filepath.Join(dir, "none.hcl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestCheckVersion(t *testing.T) {
	for _, c := range []struct {
		constraint, found string
		want              sdk.Code
	}{
		{"~> 0.1", "0.1.0", ""},
		{"~> 0.1", "0.9.3", ""},
		{"~> 0.1", "1.0.0", sdk.CodeVersionMismatch},
		{"~> 0.1", "0.2.0-dev", sdk.CodeVersionMismatch},
		{">= 1.2, < 2", "1.9.0", ""},
		{"", "7.0.0", ""},
		{"", "newest", sdk.CodeExtensionInvalid},
		{"~> 0.1", "", sdk.CodeExtensionInvalid},
	} {
		body := ""
		if c.constraint != "" {
			body = fmt.Sprintf("  extension_version = %q\n", c.constraint)
		}
		err := parse(t, body).CheckVersion(c.found)
		if sdk.CodeOf(err) != c.want {
			t.Errorf("%q and %q: %v", c.constraint, c.found, err)
		}
	}
	err := parse(t, "  extension_version = \"~> 0.1\"\n").CheckVersion("1.2.3")
	want := `p.hcl:2:23: profile.p needs ext.bwrap ~> 0.1, but version 1.2.3 was found`
	if err.Error() != want || sdk.AsError(err).Hint == "" {
		t.Errorf("got %v, want %s", err, want)
	}
}

// parse parses a profile named p with what is always needed, and body.
func parse(t testing.TB, body string) *profile.Profile {
	t.Helper()
	p, err := profile.Parse("p.hcl", []byte("profile \"p\" {\n"+body+valid+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
