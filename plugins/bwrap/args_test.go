package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestArgs pins the whole confinement: a change of it is a change of these
// files.
func TestArgs(t *testing.T) {
	full := map[string]bool{"--disable-userns": true, "--size": true}
	v := view{
		source: "/usr/src/app",
		dir:    "/state/sandboxes/sbx-1", broker: "/state/broker-1", firstFD: 5, infoFD: 7,
		system: []mount{{path: "/usr"}, {path: "/bin", link: "usr/bin"}, {path: "/etc/ld.so.cache"}},
		files:  []string{"/etc/passwd", "/etc/group"},
	}
	for name, options := range map[string]map[string]bool{"args-full": full, "args-old": nil} {
		t.Run(name, func(t *testing.T) {
			v := v
			if v.options = options; options == nil {
				v.source = "/home/me/app"
			}
			got := strings.ReplaceAll(strings.Join(v.args(), "\n"), "\n--", "\n\n--") + "\n"
			golden(t, name+".golden", got)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it anew:\n%s", path, diff)
	}
}

func TestNoOptionIsATry(t *testing.T) {
	v := view{system: systemMounts(topLevel, etcDirs), files: etcFiles, options: map[string]bool{"--disable-userns": true, "--size": true}}
	for _, a := range v.args() {
		if strings.HasSuffix(a, "-try") || a == "--share-net" || a == "--die-with-parent" || a == "--setenv" || a == "--dev-bind" {
			t.Errorf("option %s weakens the sandbox", a)
		}
	}
}

func TestSystemMounts(t *testing.T) {
	root := t.TempDir()
	usr, bin, etc := filepath.Join(root, "usr"), filepath.Join(root, "bin"), filepath.Join(root, "etc")
	for _, d := range []string{usr, etc} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("usr/bin", bin); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"a-1-x", "a-2-x"} {
		if err := os.Mkdir(filepath.Join(etc, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(etc, "a-3-x"), "no directory", 0o644)
	got := systemMounts([]string{usr, bin, filepath.Join(root, "lib")}, []string{filepath.Join(etc, "a-*-x"), filepath.Join(etc, "none")})
	want := []mount{{path: usr}, {path: bin, link: "usr/bin"}, {path: filepath.Join(etc, "a-1-x")}, {path: filepath.Join(etc, "a-2-x")}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mount{})); diff != "" {
		t.Error(diff)
	}
}

func TestBelongsTo(t *testing.T) {
	tests := []struct {
		argv []string
		want bool
	}{
		{append([]string{"bwrap", "--args", "9", "--"}, command(testID, 1)...), true},
		{command(testID, 1), true},
		{command("sbx-01arz3ndektsv4rrffq69g5faw", 1), false},
		{[]string{"vi", testID}, false},
		{[]string{"grep", "sandboxer-broker", testID}, false},
		{[]string{"sandboxer-broker", testID}, false},
		{nil, false},
	}
	for _, tt := range tests {
		if got := belongsTo(tt.argv, testID); got != tt.want {
			t.Errorf("belongsTo(%q) = %v", tt.argv, got)
		}
	}
}

func TestSystemFilesArePublic(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "public"), "x", 0o644)
	writeFile(t, filepath.Join(dir, "private"), "x", 0o640)
	files := openSystemFiles([]string{filepath.Join(dir, "*"), "/etc", "/no/such/file"})
	if len(files) != 1 || files[0].Name() != filepath.Join(dir, "public") {
		t.Errorf("opened %v", files)
	}
	for _, f := range files {
		f.Close()
	}
}
