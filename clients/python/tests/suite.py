"""What a transport promises, whatever the boundary that it crosses."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import time
import unittest
from typing import List

from sandboxer_client import Transport, TransportError

HARD_ARGUMENTS = [
    "", " ", "a b", "it's", '"', "'\"'\"'", "two\nlines", "\ttab", "-rf", "--", "$HOME", "`id`", "$(id)", "*", "~",
    "\\", "\\n", "a;b|c&d", "é 漢字 🙂", "!", "#", "\x01\x7f", "=", "a=b", "[x]", "{a,b}",
]  # fmt: skip


class TransportSuite(unittest.TestCase):
    """A subclass sets transport. Its workspace is a git repository with one commit
    and nothing to commit."""

    transport: Transport

    def sh(self, script: str, *args: str) -> str:
        proc = self.transport.run(["sh", "-c", script, "sh", *args])
        self.assertEqual(proc.returncode, 0, proc.stderr)
        return proc.stdout

    def test_arguments_arrive_as_they_are(self) -> None:
        proc = self.transport.run(["printf", "%s\\0", *HARD_ARGUMENTS])
        self.assertEqual(proc.stdout.split("\0")[:-1], HARD_ARGUMENTS)
        with self.assertRaisesRegex(TransportError, "cannot execute an empty command"):
            self.transport.run([])
        number = pathlib.PurePosixPath("/a/b")
        self.assertEqual(self.transport.run(["echo", number]).stdout, "/a/b\n")  # type: ignore[list-item]

    def test_directory(self) -> None:
        self.assertEqual(self.sh("pwd"), self.transport.workspace + "\n")

    def test_completed_process(self) -> None:
        proc = self.transport.run(["sh", "-c", "echo out; echo err >&2; exit 42"])
        self.assertIsInstance(proc, subprocess.CompletedProcess)
        self.assertEqual((proc.returncode, proc.stdout, proc.stderr), (42, "out\n", "err\n"))
        with self.assertRaises(subprocess.CalledProcessError):
            proc.check_returncode()

    def test_command_that_does_not_start(self) -> None:
        self.sh("echo text >plain; chmod 644 plain")
        for name, want in (("no-such-program", 127), ("./plain", 126)):
            proc = self.transport.run([name])
            self.assertEqual(proc.returncode, want)
            self.assertIn(name.strip("./"), proc.stderr)
        self.sh("rm plain")

    def test_text(self) -> None:
        proc = self.transport.run(["printf", "\\377a\\r\\nb\\rc"])
        self.assertEqual(proc.stdout, "\ufffda\nb\nc")

    def test_input(self) -> None:
        text = "é\n" * 100_000
        self.assertEqual(self.transport.run(["cat"], input_text=text).stdout, text)
        self.assertEqual(self.transport.run(["true"], input_text=text).returncode, 0)
        self.assertEqual(self.transport.run(["cat"]).stdout, "")

    def test_timeout(self) -> None:
        begin = time.monotonic()
        with self.assertRaises(subprocess.TimeoutExpired) as caught:
            # Long enough for a busy machine to begin with the command.
            self.transport.run(["sh", "-c", "echo before; exec sleep 60"], timeout=1.5)
        self.assertLess(time.monotonic() - begin, 20)
        exc = caught.exception
        self.assertEqual((exc.output, exc.stderr, exc.timeout), (b"before\n", None, 1.5))

    def test_executables(self) -> None:
        self.assertRegex(self.transport.resolve_executable("git"), "^/.*/git$")
        for name, want in (
            ("", "rein executable must be a command name, not a host path"),
            ("/bin/sh", "rein executable must be a command name, not a host path"),
            ("no-such-program", "'no-such-program' is not installed inside the selected sandbox transport"),
        ):
            with self.assertRaisesRegex(TransportError, re.escape(want)):
                self.transport.resolve_executable(name)

    def test_git_head(self) -> None:
        head = self.transport.git_head()
        self.assertRegex(head, "^[0-9a-f]{40}")
        self.assertEqual(head, self.sh("git rev-parse HEAD").strip())
        self.sh("mv .git .away")
        try:
            with self.assertRaisesRegex(TransportError, "cannot read git HEAD inside the selected sandbox transport"):
                self.transport.git_head()
        finally:
            self.sh("mv .away .git")

    def test_task_file(self) -> None:
        payload = {"prompt": "it's \"a\" secret\n$(id)é"}
        path = self.transport.write_task_file(payload)
        directory, _, name = path.rpartition("/")
        self.assertEqual(directory, self.transport.workspace + "/.git")
        self.assertRegex(name, r"^\.glas-harness-task-[0-9a-f]{32}\.json$")
        self.assertEqual(json.loads(self.sh('cat -- "$1"', path)), payload)
        self.assertEqual(self.sh('stat -c %a -- "$1"', path), "600\n")
        self.assertEqual(self.sh("git add -A && git status --porcelain"), "")
        for _ in range(2):  # again is no error
            self.transport.remove_file(path)
        self.assertEqual(self.sh("ls -A .git | grep -c task || true"), "0\n")

    def test_strange_git_takes_no_task_file(self) -> None:
        self.sh("mv .git .away")
        try:
            for make, want in (
                ("true", "/.git does not exist"),
                ("ln -s .away .git", "/.git is a symbolic link, not a directory"),
                ("echo gitdir: .away >.git", "/.git is not a directory"),
            ):
                self.sh("rm -rf .git; " + make)
                with self.assertRaisesRegex(TransportError, "cannot create .*sandbox task file: .*" + re.escape(want)):
                    self.transport.write_task_file({})
        finally:
            self.sh("rm -rf .git; mv .away .git")
        self.assertEqual(self.sh("ls -A .git | grep -c task || true"), "0\n")

    def test_remove_file(self) -> None:
        top = self.transport.workspace
        self.sh("mkdir -- -d && echo x >\"-d/it's\" && ln -s / out && ln -s -- -d in")
        outside: List[str] = ["", "relative", "/etc/hostname", top, top + "-other/x", top + "/out/etc/hostname"]
        for path in [*outside, top + "/", top + "/../x", top + "/./x", top + "/-d"]:
            with self.subTest(path), self.assertRaisesRegex(TransportError, "cannot remove"):
                self.transport.remove_file(path)
        for path in ("in/it's", "-d/it's", "none/x"):
            self.transport.remove_file(f"{top}/{path}")
        self.assertEqual(self.sh("ls -A -- -d; rm -rf -- -d out in"), "")
