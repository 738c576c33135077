"""Which descriptors make a transport."""

from __future__ import annotations

import os
import unittest
from types import SimpleNamespace
from typing import Any, Dict, Tuple
from unittest import mock

from sandboxer_client import Client, Consumer, Transport, TransportError, transport_from_sandbox

CLIENT = Client("unix:///none")
CONSUMER = Consumer("agt", "demo", "s-1", "r-1")

AMBIGUOUS = "ambiguous sandbox reachability: local and SSH fields coexist"
HALF_LOCAL = "incomplete local sandbox reachability: pid and workspace_dir are required"
BAD_LOCAL = "local sandbox reachability has invalid pid or workspace_dir"
HALF_REMOTE = "incomplete remote sandbox reachability: ssh and remote_dir are required"
BAD_TARGET = "SSH reachability must be a single non-option host or user@host target"

REFUSED: Tuple[Tuple[Dict[str, Any], str], ...] = (
    ({}, "sandbox exposes no supported execution reachability"),
    ({"pid": 1, "workspace_dir": "/w", "ssh": "h"}, AMBIGUOUS),
    ({"pid": 1, "remote_dir": "/w"}, AMBIGUOUS),
    ({"pid": 1}, HALF_LOCAL),
    ({"workspace_dir": "/w"}, HALF_LOCAL),
    ({"pid": 0, "workspace_dir": "/w"}, HALF_LOCAL),
    ({"pid": 1, "workspace_dir": ""}, HALF_LOCAL),
    ({"pid": "x", "workspace_dir": "/w"}, "local sandbox reachability pid must be an integer"),
    ({"pid": 1.5, "workspace_dir": "/w"}, "local sandbox reachability pid must be an integer"),
    ({"pid": -1, "workspace_dir": "/w"}, BAD_LOCAL),
    ({"pid": 1, "workspace_dir": "w"}, BAD_LOCAL),
    ({"ssh": "h"}, HALF_REMOTE),
    ({"remote_dir": "/w"}, HALF_REMOTE),
    ({"ssh": "", "remote_dir": "/w"}, HALF_REMOTE),
    ({"ssh": "-oProxyCommand=id", "remote_dir": "/w"}, BAD_TARGET),
    ({"ssh": "a@-b", "remote_dir": "/w"}, BAD_TARGET),
    ({"ssh": "h -p 1", "remote_dir": "/w"}, BAD_TARGET),
    ({"ssh": "h:22", "remote_dir": "/w"}, BAD_TARGET),
    ({"ssh": "h\n", "remote_dir": "/w"}, BAD_TARGET),
    ({"ssh": "h", "remote_dir": "w"}, "remote sandbox workspace must be an absolute path"),
)


def make(reachability: Dict[str, Any], **options: Any) -> Transport:
    sandbox = SimpleNamespace(sandbox_id="sbx-1", reachability=reachability)
    return transport_from_sandbox(sandbox, **options)


class Descriptors(unittest.TestCase):
    def test_refused(self) -> None:
        for reachability, want in REFUSED:
            with self.subTest(reachability), self.assertRaises(TransportError) as caught:
                make(reachability, client=CLIENT, consumer=CONSUMER)
            self.assertEqual(str(caught.exception), want)

    def test_local(self) -> None:
        t = make({"pid": "12", "workspace_dir": "/workspace"}, client=CLIENT, consumer=CONSUMER)
        self.assertEqual((t.kind, t.pid, t.workspace, t.ssh_target), ("owner-mediated", 12, "/workspace", None))
        with self.assertRaisesRegex(TransportError, "has no local command"):
            t.command(["true"])

    def test_remote(self) -> None:
        t = make({"ssh": "user.a@sbx-01.b_c", "remote_dir": "/w"})
        self.assertEqual((t.kind, t.pid, t.workspace, t.ssh_target), ("ssh", None, "/w", "user.a@sbx-01.b_c"))

    def test_environment(self) -> None:
        local = {"pid": 1, "workspace_dir": "/w"}
        names = ("ADDR", "ACTOR", "PROJECT", "SESSION_ID", "RUN_ID")
        values = ("unix:///x", "agt", "demo", "s-1", "r-1")
        environ = {f"SANDBOXER_{name}": value for name, value in zip(names, values)}
        with mock.patch.dict(os.environ, environ, clear=True):
            t = make(local)
            self.assertEqual(t.consumer, CONSUMER)
            self.assertEqual(t.client and t.client.addr, "unix:///x")
            given = {"actor": "other", "project": "p", "session_id": "s", "run_id": "r"}
            self.assertEqual(make(local, consumer=given).consumer, Consumer(**given))
        with mock.patch.dict(os.environ, {}, clear=True):
            with self.assertRaisesRegex(TransportError, "SANDBOXER_ADDR is not set"):
                make(local)
            with self.assertRaisesRegex(TransportError, "consumer .*: actor, project, session_id, run_id missing"):
                make(local, client=CLIENT)
        with self.assertRaisesRegex(TransportError, "needs the sandbox_id"):
            transport_from_sandbox(SimpleNamespace(reachability=local), client=CLIENT, consumer=CONSUMER)
