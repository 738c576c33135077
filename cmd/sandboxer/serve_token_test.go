package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	credentials := filepath.Join(dir, "credentials")
	if err := os.Mkdir(credentials, 0o700); err != nil {
		t.Fatal(err)
	}
	file("credentials/SANDBOXER_EXEC_TOKEN", testToken+"\n", 0o440)
	good := file("good", testToken+"\n", 0o600)
	for _, test := range []struct {
		name, env, file, credentials string
		want, problem                string
	}{
		{"nothing", "", "", "", "", ""},
		{"the variable", testToken, "", "", testToken, ""},
		{"a file", "", good, "", testToken, ""},
		{"a file without a line break", "", file("bare", testToken, 0o400), "", testToken, ""},
		{"a file of DOS", "", file("dos", testToken+"\r\n", 0o600), "", testToken, ""},
		{"a credential", "", "", credentials, testToken, ""},
		{"an empty directory of credentials", "", "", dir, "", ""},
		{"variable and file", testToken, good, "", "", "given more than once"},
		{"file and credential", "", good, credentials, "", "given more than once"},
		{"variable and credential", testToken, "", credentials, "", "given more than once"},
		{"31 characters", testToken[:31], "", "", "", "shorter than 32"},
		{"a short file", "", file("short", "x\n", 0o600), "", "", "shorter than 32"},
		{"an empty file", "", file("empty", "", 0o600), "", "", "shorter than 32"},
		{"a long file", "", file("long", strings.Repeat("a", 5000), 0o600), "", "", "longer than"},
		{"a space", testToken + " x", "", "", "", "a space"},
		{"two lines", "", file("lines", testToken+"\n"+testToken+"\n", 0o600), "", "", "a line break"},
		{"not ASCII", testToken + "é", "", "", "", "not ASCII"},
		{"a file that the group reads", "", file("group", testToken, 0o640), "", "", "open to other users"},
		{"a file that all read", "", file("all", testToken, 0o604), "", "", "open to other users"},
		{"no file", "", filepath.Join(dir, "none"), "", "", "cannot read"},
		{"a directory", "", dir, "", "", "not a regular file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("SANDBOXER_EXEC_TOKEN", test.env)
			t.Setenv("SANDBOXER_EXEC_TOKEN_FILE", test.file)
			t.Setenv("CREDENTIALS_DIRECTORY", test.credentials)
			got, err := readToken()
			if _, there := os.LookupEnv("SANDBOXER_EXEC_TOKEN"); there {
				t.Error("the variable is still in the environment")
			}
			if test.problem == "" {
				if err != nil || got != test.want {
					t.Errorf("%d characters, %v", len(got), err)
				}
				return
			}
			e := sdk.AsError(err)
			if err == nil || !strings.Contains(e.Message, test.problem) || e.Hint == "" {
				t.Fatalf("error %v, want one with %q and a hint", err, test.problem)
			}
			if strings.Contains(e.Message+e.Hint, testToken[:20]) {
				t.Errorf("the error repeats the token: %s", e.Message)
			}
		})
	}
}

// TestWithoutToken has a service that was given none.
func TestWithoutToken(t *testing.T) {
	h := newHost(t)
	s := startServeWith(t, h, nil, "--source-root", os.TempDir())
	id := s.create(tree(t, 1, 1), "")
	r := s.must("POST", "/v1/sandboxes/"+id+"/exec", command("true"))
	wantRefusal(t, r, 403, "exec_disabled", "")
	if !strings.Contains(s.log.String(), "exec is disabled") {
		t.Error("the log does not say so")
	}
}

func TestShortTokenKeepsTheServiceFromStarting(t *testing.T) {
	h := newHost(t)
	h.env = append(h.env, "SANDBOXER_EXEC_TOKEN=short-secret")
	_, stderr := h.run(2, "serve", "--socket", filepath.Join(h.state, "s.sock"))
	if !strings.Contains(stderr, "shorter than 32 characters") || strings.Contains(stderr, "short-secret") {
		t.Errorf("stderr: %s", stderr)
	}
}
