"""The client and the transport against a real service. SANDBOXER_ADDR, the token
and the consumer are of the environment; SANDBOXER_TEST_SOURCE is a git repository
that the service may copy."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import unittest
import uuid
from typing import Any, Callable, Mapping

from sandboxer_client import Client, Consumer, Problem, Sandbox, TransportError, transport_from_sandbox

from . import suite

CONSUMER = Consumer(*(os.environ.get(f"SANDBOXER_{name}", "") for name in ("ACTOR", "PROJECT", "SESSION_ID", "RUN_ID")))
PROFILE = "bwrap-local"


def new_sandbox(cleanup: Callable[..., Any], client: Client, **options: Any) -> Sandbox:
    sandbox = client.create_sandbox(PROFILE, {"repo": os.environ["SANDBOXER_TEST_SOURCE"]}, CONSUMER, **options)
    cleanup(client.destroy, sandbox.sandbox_id)
    return sandbox


class Calls(unittest.TestCase):
    client: Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.client = Client.from_env()

    def test_life(self) -> None:
        client = self.client
        sandbox = new_sandbox(self.addCleanup, client, ttl_seconds=600)
        self.assertEqual((sandbox.state, sandbox.profile, sandbox.consumer), ("ready", "profile." + PROFILE, CONSUMER))
        self.assertEqual(client.get_sandbox(sandbox.sandbox_id), sandbox)
        report = client.reachability(sandbox.sandbox_id)
        self.assertEqual((report.execution.mode, report.reachability), ("owner-mediated", sandbox.reachability))
        self.assertIn(sandbox.sandbox_id, [s.sandbox_id for s in client.iter_sandboxes(states=["ready"])])
        self.assertGreater(client.renew(sandbox.sandbox_id, 1200).expires_at, sandbox.expires_at)
        result = client.exec(sandbox.sandbox_id, ["printf", "\\377"], CONSUMER, max_output_bytes=10)
        self.assertEqual((result.outcome, result.exit_code, result.streams()), ("exited", 0, (b"\xff", b"")))
        self.assertTrue(client.destroy(sandbox.sandbox_id).removed)
        self.assertEqual(client.destroy(sandbox.sandbox_id).removed, [])
        with self.assertRaises(Problem) as caught:
            client.exec(sandbox.sandbox_id, ["true"], CONSUMER)
        self.assertEqual((caught.exception.status, caught.exception.code), (409, "sandbox_not_ready"))

    def test_pages(self) -> None:
        ids = [new_sandbox(self.addCleanup, self.client).sandbox_id for _ in range(3)]
        page = self.client.list_sandboxes(states=["ready"], project=CONSUMER.project, profile=PROFILE, limit=2)
        self.assertEqual(len(page.sandboxes), 2)
        rest = self.client.list_sandboxes(states=["ready"], cursor=page.next)
        self.assertLessEqual(set(ids), {s.sandbox_id for s in page.sandboxes + rest.sandboxes})

    def test_idempotency_key(self) -> None:
        key = uuid.uuid4().hex
        first = new_sandbox(self.addCleanup, self.client, idempotency_key=key)
        self.assertEqual(new_sandbox(self.addCleanup, self.client, idempotency_key=key), first)
        with self.assertRaises(Problem) as caught:
            new_sandbox(self.addCleanup, self.client, idempotency_key=key, ttl_seconds=61)
        self.assertEqual((caught.exception.status, caught.exception.code), (409, "idempotency_conflict"))

    def test_catalogs_and_probes(self) -> None:
        self.assertIn("profile." + PROFILE, [p.profile for p in self.client.profiles()])
        self.assertIn("ext.bwrap", [e.extension for e in self.client.extensions()])
        self.client.health()
        self.client.ready()
        self.assertIn("# TYPE ", self.client.metrics())
        self.assertIn("openapi: ", self.client.openapi())

    def test_refusals(self) -> None:
        with self.assertRaises(Problem) as caught:
            self.client.get_sandbox("sbx-01arz3ndektsv4rrffq69g5fav")
        self.assertEqual((caught.exception.status, caught.exception.code), (404, "sandbox_not_found"))
        with self.assertRaises(Problem) as caught:
            self.client.create_sandbox(PROFILE, {}, Consumer("a b", "p", "s", "r"))
        self.assertEqual((caught.exception.code, caught.exception.pointer), ("invalid_request", "/consumer/actor"))
        with self.assertRaises(Problem) as caught:
            self.client.exec("sbx-01arz3ndektsv4rrffq69g5fav", ["\udcff"], CONSUMER)
        self.assertEqual((caught.exception.code, caught.exception.pointer), ("invalid_request", "/command/0"))
        with self.assertRaises(Problem) as caught:
            stranger = Client(self.client.addr)
            stranger.exec("sbx-01arz3ndektsv4rrffq69g5fav", ["true"], CONSUMER, stdin_text="x" * 1_000_000)
        self.assertEqual((caught.exception.status, caught.exception.code), (401, "unauthenticated"))

    def test_tls(self) -> None:
        token = os.environ["SANDBOXER_EXEC_TOKEN"]
        addr, ca_file = os.environ["SANDBOXER_TEST_TLS_ADDR"], os.environ["SANDBOXER_TEST_CA_FILE"]
        Client(addr, token=token, ca_file=ca_file).ready()
        with self.assertRaises(Problem):
            Client(addr, ca_file=ca_file).ready()
        with self.assertRaisesRegex(Exception, "certificate"):
            Client(addr, token=token).ready()


class OverTheOwner(suite.TransportSuite):
    sandbox: Sandbox

    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = new_sandbox(cls.addClassCleanup, Client.from_env())
        # As a harness calls it that knows of no client.
        cls.transport = transport_from_sandbox(cls.sandbox)

    def test_attributes(self) -> None:
        t = self.transport
        self.assertEqual((t.kind, t.workspace, t.ssh_target), ("owner-mediated", "/workspace", None))
        self.assertEqual(t.pid, self.sandbox.reachability["pid"])

    def test_signals(self) -> None:
        for name in ("KILL", "TERM", "RTMIN+3"):
            proc = self.transport.run(["bash", "-c", f"kill -{name} $$"])
            base, _, offset = name.partition("+")
            self.assertEqual(proc.returncode, -(signal.Signals["SIG" + base] + int(offset or 0)))

    def test_cut_is_told(self) -> None:
        with self.assertLogs("sandboxer_client", "WARNING") as logs:
            proc = self.transport.run(["head", "-c", "16777217", "/dev/zero"])
        self.assertEqual(len(proc.stdout), 16 << 20)
        self.assertIn("stdout of head is cut at 16777216 of 16777217 bytes", logs.output[0])

    def test_input_that_is_too_long(self) -> None:
        self.assertEqual(self.transport.run(["wc", "-c"], input_text="x" * 1_000_000).stdout, "1000000\n")
        with self.assertRaises(TransportError) as caught:
            self.transport.run(["true"], input_text="x" * 1_000_001)
        cause = caught.exception.__cause__
        self.assertEqual(isinstance(cause, Problem) and cause.code, "stdin_too_large")

    def test_refusal(self) -> None:
        other = {"actor": "x", "project": "x", "session_id": "x", "run_id": "x"}
        stranger = transport_from_sandbox(self.sandbox, consumer=other)
        with self.assertRaises(TransportError) as caught:
            stranger.run(["true"])
        cause = caught.exception.__cause__
        self.assertEqual(isinstance(cause, Problem) and cause.code, "identity_mismatch")
        with self.assertRaisesRegex(TransportError, "^cannot create sandbox task file: .*identity"):
            stranger.write_task_file({})

    def test_descriptor_is_one_that_a_harness_accepts(self) -> None:
        self.assertEqual(kind_for_a_harness(self.sandbox.reachability), "local")


def kind_for_a_harness(reachability: Mapping[str, Any]) -> str:
    """The conditions under which a harness takes a descriptor, written anew."""
    local = {name for name in ("pid", "workspace_dir") if reachability.get(name) is not None}
    remote = {name for name in ("ssh", "remote_dir") if reachability.get(name) is not None}
    if len(local) == 2 and not remote:
        number = int(str(reachability["pid"]))
        return "local" if number > 0 and reachability["workspace_dir"].startswith("/") else "bad local"
    if len(remote) == 2 and not local:
        target = r"^(?:[A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*$"
        good = re.fullmatch(target, reachability["ssh"]) and reachability["remote_dir"].startswith("/")
        return "remote" if good else "bad remote"
    return "neither"


class Interrupted(unittest.TestCase):
    def test_timeout_kills_the_tree(self) -> None:
        transport = transport_from_sandbox(new_sandbox(self.addCleanup, Client.from_env()))
        with self.assertRaises(subprocess.TimeoutExpired):
            transport.run(["sh", "-c", "setsid -f sleep 60; sleep 60"], timeout=1)
        self.assertEqual(len(transport.run(["sh", "-c", "echo /proc/[0-9]*"]).stdout.split()), 2)
