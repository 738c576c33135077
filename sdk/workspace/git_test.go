package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/workspace"
)

func TestGitWorksInTheCopyOfAWorktree(t *testing.T) {
	for name, bare := range map[string]bool{"of a checkout": false, "of a bare repository": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			main := newRepo(t, dir, "main")
			if bare {
				git(t, dir, "clone", "-q", "--bare", "main", "bare.git")
				main = filepath.Join(dir, "bare.git")
			}
			tree := filepath.Join(dir, "feature")
			git(t, main, "worktree", "add", "-q", "-b", "feature", tree)
			git(t, main, "worktree", "add", "-q", "-b", "other", filepath.Join(dir, "other"))
			write(t, tree, "more", "of the feature")
			git(t, tree, "add", "more")
			git(t, tree, "commit", "-qm", "in the worktree")
			write(t, tree, "staged", "x")
			git(t, tree, "add", "staged")
			write(t, tree, "untracked", "x")
			git(t, tree, "update-ref", "refs/worktree/mine", "HEAD")
			want := gitState(t, tree)

			dest := filepath.Join(t.TempDir(), "copy")
			mustCopy(t, tree, dest, keepOwner)
			rename(t, dir, dir+"-away") // the copy needs nothing of it
			if diff := cmp.Diff(want, gitState(t, dest)); diff != "" {
				t.Errorf("git in the copy (-source +copy):\n%s", diff)
			}
			if got := git(t, dest, "rev-parse", "--show-toplevel", "refs/worktree/mine"); got != dest+"\n"+git(t, dest, "rev-parse", "HEAD") {
				t.Errorf("rev-parse: %s", got)
			}
			git(t, dest, "commit", "-qm", "in the copy")
			git(t, dest, "checkout", "-q", "other") // no other worktree holds it
			if got := git(t, dest, "worktree", "list"); strings.Count(got, "\n") != 0 {
				t.Errorf("worktrees in the copy:\n%s", got)
			}
			git(t, dest, "fsck", "--strict")
		})
	}
}

func TestGitWorksInTheCopyOfAnInterruptedWorktree(t *testing.T) {
	dir := t.TempDir()
	main := newRepo(t, dir, "main")
	tree := filepath.Join(dir, "feature")
	git(t, main, "worktree", "add", "-q", "-b", "feature", tree)
	git(t, main, "config", "extensions.worktreeConfig", "true")
	git(t, tree, "config", "--worktree", "user.name", "Of This Worktree")
	write(t, tree, "file", "theirs")
	git(t, tree, "commit", "-qam", "conflict")
	write(t, main, "file", "ours")
	git(t, main, "commit", "-qam", "conflict")
	if out, err := gitCommand(tree, "merge", "main").CombinedOutput(); err == nil {
		t.Fatalf("the merge did not stop:\n%s", out)
	}
	want := gitState(t, tree)
	dest := filepath.Join(t.TempDir(), "copy")
	mustCopy(t, tree, dest, keepOwner)
	if diff := cmp.Diff(want, gitState(t, dest)); diff != "" {
		t.Errorf("git in the copy (-source +copy):\n%s", diff)
	}
	if got := git(t, dest, "config", "user.name"); got != "Of This Worktree" {
		t.Errorf("user.name: %s", got)
	}
	write(t, dest, "file", "resolved")
	git(t, dest, "commit", "-qam", "merged")
	if got := git(t, dest, "rev-list", "--parents", "-1", "HEAD"); len(strings.Fields(got)) != 3 {
		t.Errorf("the merge went lost: %s", got)
	}
}

func TestGitWorksInTheCopyOfASubmodule(t *testing.T) {
	dir := t.TempDir()
	newRepo(t, dir, "library")
	super := newRepo(t, dir, "super")
	git(t, super, "submodule", "--quiet", "add", filepath.Join(dir, "library"), "sub")
	git(t, super, "commit", "-qm", "with a submodule")

	var warned warnings
	sub, whole := filepath.Join(t.TempDir(), "sub"), filepath.Join(t.TempDir(), "super")
	mustCopy(t, filepath.Join(super, "sub"), sub, warned.options())
	mustCopy(t, super, whole, warned.options())
	if len(warned.list) > 0 {
		t.Errorf("warnings: %q", warned.list)
	}
	rename(t, dir, dir+"-away")
	for _, at := range []string{sub, whole, filepath.Join(whole, "sub")} {
		if got := git(t, at, "status", "--porcelain"); got != "" {
			t.Errorf("%s: git status:\n%s", at, got)
		}
		if got := git(t, at, "rev-parse", "--show-toplevel"); got != at {
			t.Errorf("%s: the top is %s", at, got)
		}
		write(t, at, "file", "changed")
		git(t, at, "commit", "-qam", "in the copy")
	}
}

func TestGitWorksInSubmodulesOfTheCopy(t *testing.T) {
	dir := t.TempDir()
	newRepo(t, dir, "inner")
	library := newRepo(t, dir, "library")
	git(t, library, "submodule", "--quiet", "add", filepath.Join(dir, "inner"), "in ner")
	git(t, library, "commit", "-qm", "with a submodule")
	super := newRepo(t, dir, "super")
	git(t, super, "submodule", "--quiet", "add", filepath.Join(dir, "library"), "deps/sub")
	git(t, super, "submodule", "--quiet", "update", "--init", "--recursive")
	git(t, super, "commit", "-qm", "with a submodule")
	git(t, super, "worktree", "add", "-q", filepath.Join(dir, "tree"))
	git(t, filepath.Join(dir, "tree"), "submodule", "--quiet", "update", "--init", "--recursive")

	var warned warnings
	tree, sub := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "sub")
	mustCopy(t, filepath.Join(dir, "tree"), tree, warned.options())
	mustCopy(t, filepath.Join(super, "deps/sub"), sub, warned.options())
	if len(warned.list) > 0 {
		t.Errorf("warnings: %q", warned.list)
	}
	rename(t, dir, dir+"-away")
	for _, at := range []string{tree, tree + "/deps/sub", tree + "/deps/sub/in ner", sub, sub + "/in ner"} {
		if got := git(t, at, "status", "--porcelain"); got != "" {
			t.Errorf("%s: git status:\n%s", at, got)
		}
		if got := git(t, at, "rev-parse", "--show-toplevel"); got != at {
			t.Errorf("%s: the top is %s", at, got)
		}
	}
}

func TestGitFileIsBelievedOnlyWithProof(t *testing.T) {
	for name, forge := range map[string]func(t *testing.T, dir, source string) (gitdir string){
		"nothing there": func(*testing.T, string, string) string { return "/no/such" },
		"a private directory": func(t *testing.T, dir, _ string) string {
			write(t, dir, "ssh/id_ed25519", "key")
			write(t, dir, "ssh/config", "Host *\n")
			return filepath.Join(dir, "ssh")
		},
		"a foreign repository": func(t *testing.T, dir, _ string) string {
			return filepath.Join(newRepo(t, dir, "victim"), ".git")
		},
		"a foreign worktree": func(t *testing.T, dir, _ string) string {
			git(t, newRepo(t, dir, "victim"), "worktree", "add", "-q", filepath.Join(dir, "wt"))
			return filepath.Join(dir, "victim/.git/worktrees/wt")
		},
		"a foreign worktree whose .git file is linked": func(t *testing.T, dir, source string) string {
			git(t, newRepo(t, dir, "victim"), "worktree", "add", "-q", filepath.Join(dir, "wt"))
			if err := os.Link(filepath.Join(dir, "wt/.git"), filepath.Join(source, ".git")); err != nil {
				t.Fatal(err)
			}
			return ""
		},
		"a foreign submodule": func(t *testing.T, dir, _ string) string {
			newRepo(t, dir, "library")
			super := newRepo(t, dir, "victim")
			git(t, super, "submodule", "--quiet", "add", filepath.Join(dir, "library"), "sub")
			return filepath.Join(super, ".git/modules/sub")
		},
		"a forged worktree of a foreign repository": func(t *testing.T, dir, source string) string {
			write(t, dir, "forged/gitdir", filepath.Join(source, ".git")+"\n")
			write(t, dir, "forged/commondir", filepath.Join(newRepo(t, dir, "victim"), ".git")+"\n")
			write(t, dir, "forged/HEAD", "ref: refs/heads/main\n")
			return filepath.Join(dir, "forged")
		},
		"a forged worktree with the name of a real one": func(t *testing.T, dir, source string) string {
			git(t, newRepo(t, dir, "victim"), "worktree", "add", "-q", filepath.Join(dir, "wt"))
			write(t, dir, "forged/wt/gitdir", filepath.Join(source, ".git")+"\n")
			write(t, dir, "forged/wt/commondir", filepath.Join(dir, "victim/.git")+"\n")
			return filepath.Join(dir, "forged/wt")
		},
		"a fifo for a config": func(t *testing.T, dir, _ string) string {
			mkdir(t, dir, "pipes")
			if out, err := exec.Command("mkfifo", filepath.Join(dir, "pipes/config")).CombinedOutput(); err != nil {
				t.Fatalf("mkfifo: %v\n%s", err, out)
			}
			return filepath.Join(dir, "pipes")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, source := t.TempDir(), t.TempDir()
			write(t, source, "file", "x")
			if gitdir := forge(t, dir, source); gitdir != "" {
				write(t, source, ".git", "gitdir: "+gitdir+"\n")
			}
			dest := filepath.Join(t.TempDir(), "copy")
			e := wantCode(t, copyError(t, source, dest), sdk.CodeSourceInvalid)
			if !strings.Contains(e.Message, filepath.Join(source, ".git")) || !strings.Contains(e.Hint, "git worktree repair") {
				t.Errorf("message %q, hint %q", e.Message, e.Hint)
			}
			wantAbsent(t, dest)
			mustCopy(t, source, dest, workspace.Options{UID: -1, GID: -1, Exclude: []string{".git"}})
			wantAbsent(t, filepath.Join(dest, ".git"))
		})
	}
}

func TestCopyOfAMovedWorktreeAsksForARepair(t *testing.T) {
	dir := t.TempDir()
	main := newRepo(t, dir, "main")
	tree, moved := filepath.Join(dir, "tree"), filepath.Join(dir, "moved")
	git(t, main, "worktree", "add", "-q", tree)
	rename(t, tree, moved)
	dest := filepath.Join(t.TempDir(), "copy")
	wantCode(t, copyError(t, moved, dest), sdk.CodeSourceInvalid)
	git(t, moved, "worktree", "repair")
	mustCopy(t, moved, dest, keepOwner)
}

func TestCopyLeavesOtherKindsOfGitAlone(t *testing.T) {
	for name, make := range map[string]func(source string) error{
		"a symlink":        func(source string) error { return os.Symlink("/etc", filepath.Join(source, ".git")) },
		"a file of no git": func(source string) error { return os.WriteFile(filepath.Join(source, ".git"), []byte("hello"), 0o644) },
		"a link to the inside": func(source string) error {
			return os.WriteFile(filepath.Join(source, ".git"), []byte("gitdir: ./.bare\n"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			source, dest := t.TempDir(), filepath.Join(t.TempDir(), "copy")
			if err := make(source); err != nil {
				t.Fatal(err)
			}
			mustCopy(t, source, dest, keepOwner)
			if diff := cmp.Diff(snapshot(t, source), snapshot(t, dest)); diff != "" {
				t.Errorf("the copy differs (-source +copy):\n%s", diff)
			}
		})
	}
}

func TestCopyWarnsOfGitFilesThatPointOut(t *testing.T) {
	dir := t.TempDir()
	newRepo(t, dir, "origin")
	git(t, dir, "clone", "-q", "--shared", "origin", "shared")
	source := filepath.Join(dir, "shared")
	write(t, source, "vendor/absolute/.git", "gitdir: /elsewhere\n")
	write(t, source, "vendor/escaping/.git", "gitdir: ../../../elsewhere\n")
	write(t, source, "vendor/inside/.git", "gitdir: ../../.git/modules/inside\n")
	write(t, source, ".git/modules/inside/objects/info/alternates", "# a comment\n../../../objects\n")
	var warned warnings
	mustCopy(t, source, filepath.Join(t.TempDir(), "copy"), warned.options())
	got := warned.sorted()
	want := []string{".git/objects/info/alternates names objects outside", "vendor/absolute/.git points out", "vendor/escaping/.git points out"}
	if len(got) != len(want) {
		t.Fatalf("warnings: %q", got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("warning %q, want one of %q", got[i], want[i])
		}
	}
}

func TestCopyRefusesAReftableWorktree(t *testing.T) {
	dir := t.TempDir()
	main := newRepo(t, dir, "main")
	tree := filepath.Join(dir, "tree")
	git(t, main, "worktree", "add", "-q", tree)
	config := filepath.Join(main, ".git")
	write(t, config, "config", read(t, config, "config")+"[extensions]\n\trefStorage = reftable\n")
	e := wantCode(t, copyError(t, tree, filepath.Join(t.TempDir(), "copy")), sdk.CodeSourceInvalid)
	if !strings.Contains(e.Message, "reftable") {
		t.Errorf("message %q", e.Message)
	}
}
