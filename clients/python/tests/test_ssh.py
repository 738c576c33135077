"""The transport over ssh: to SANDBOXER_TEST_SSH, a target of the system's ssh that
is this machine, where it is set; else through a stand-in that hands the command
to a shell with a PATH of its own, as sshd does."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
import tempfile
from types import SimpleNamespace

from sandboxer_client import Transport, TransportError, transport_from_sandbox

from . import suite

STAND_IN = """#!/bin/sh
[ $# -eq 3 ] && [ "$1" = -- ] && [ "$2" = user@host ] || exit 255
PATH=/usr/local/bin:/usr/bin:/bin
exec sh -c "$3"
"""


class OverSSH(suite.TransportSuite):
    @classmethod
    def setUpClass(cls) -> None:
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        top = pathlib.Path(directory.name)
        target = os.environ.get("SANDBOXER_TEST_SSH")
        if not target:
            target = "user@host"
            stand_in = top / "bin" / "ssh"
            stand_in.parent.mkdir()
            stand_in.write_text(STAND_IN)
            stand_in.chmod(0o755)
            path = os.environ["PATH"]
            os.environ["PATH"] = f"{stand_in.parent}:{path}"
            cls.addClassCleanup(os.environ.__setitem__, "PATH", path)
        workspace = str(top / "a work 'space")
        subprocess.run(["git", "init", "-q", workspace], check=True)
        commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"]
        subprocess.run(["git", "-C", workspace, *commit], check=True)
        cls.transport = transport_from_sandbox(SimpleNamespace(reachability={"ssh": target, "remote_dir": workspace}))

    def test_attributes(self) -> None:
        t = self.transport
        self.assertEqual((t.kind, t.pid, t.client, t.consumer), ("ssh", None, None, None))

    def test_command(self) -> None:
        command = Transport("ssh", "/w s", ssh_target="host").command(["echo", "it's"])
        self.assertEqual(command[:3], ["ssh", "--", "host"])
        self.assertEqual(
            shlex.split(command[3]), ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", "/w s", "echo", "it's"]
        )
        with self.assertRaisesRegex(TransportError, "SSH target must be"):
            Transport("ssh", "/w", ssh_target="-oProxyCommand=id").command(["true"])

    def test_workspace_that_is_gone_runs_nothing(self) -> None:
        gone = Transport("ssh", "/none", ssh_target=self.transport.ssh_target)
        proc = gone.run(["echo", "ran"])
        self.assertNotEqual(proc.returncode, 0)
        self.assertEqual(proc.stdout, "")
