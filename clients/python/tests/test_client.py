"""The client against services that are broken, or none."""

from __future__ import annotations

import ast
import json
import pathlib
import socket
import tempfile
import unittest
from typing import Any, Dict

from sandboxer_client import BadAnswer, Client, Consumer, ExecResult, Problem, ServiceUnreachable

from .fake import Fake, cut, reply

TOKEN = "a-token-of-at-least-32-characters"
ID = "sbx-01arz3ndektsv4rrffq69g5fav"
CONSUMER = Consumer("agt", "demo", "s-1", "r-1")
RESULT: Dict[str, Any] = {
    "exec_id": "exec-1",
    "sandbox_id": ID,
    "consumer": {"actor": "agt", "project": "demo", "session_id": "s-1", "run_id": "r-1"},
    "profile": "profile.p",
    "extension": "ext.e",
    "command_name": "true",
    "outcome": "exited",
    "exit_code": 0,
    "signal": None,
    "timed_out": False,
    "started_at": "2026-01-02T03:04:05.678Z",
    "duration_ms": 7,
    "stdout": "",
    "stderr": "",
    "stdout_bytes": 0,
    "stderr_bytes": 0,
    "stdout_truncated": False,
    "stderr_truncated": False,
    "encoding": "utf-8",
    "survivors_killed": 0,
    "workspace": "/workspace",
    "network": {"posture": "deny"},
}


def result(**changes: Any) -> str:
    return json.dumps({**RESULT, **changes})


def without(name: str) -> str:
    return json.dumps({k: v for k, v in RESULT.items() if k != name})


class Addresses(unittest.TestCase):
    def test_good(self) -> None:
        for addr in ("unix:///run/x.sock", "unix:///a b%20c", "http://127.0.0.1:7040", "https://host", "http://[::1]/"):
            self.assertEqual(Client(addr).addr, addr)

    def test_bad(self) -> None:
        for addr, want in {
            "": "none of unix",
            "ftp://host": "none of unix",
            "/run/x.sock": "write unix:///run/x.sock",
            "unix://run/x": "absolute path",
            "unix:///": "absolute path",
            "unix:///" + "x" * 107: "longer than the 107 bytes",
            "http://": "not a URL",
            "http://h:x": "not a URL",
            "http://h:99999": "not a URL",
            "http://h/v1": "more than a host",
            "http://h?a=b": "more than a host",
            f"https://u:{TOKEN}@h": "a user or a password",
        }.items():
            with self.subTest(addr), self.assertRaisesRegex(ValueError, want) as caught:
                Client(addr)
            self.assertNotIn(TOKEN, str(caught.exception))

    def test_token(self) -> None:
        for token in (TOKEN + "\n", "a b", "é"):
            with self.assertRaises(ValueError) as caught:
                Client("http://h", token=token)
            self.assertNotIn(token, str(caught.exception))
        self.assertNotIn(TOKEN, repr(Client("http://h", token=TOKEN)))

    def test_environment(self) -> None:
        with self.assertRaisesRegex(ValueError, "SANDBOXER_ADDR is not set"):
            Client.from_env({})
        with tempfile.NamedTemporaryFile("w") as f:
            f.write(TOKEN + "\n")
            f.flush()
            with Fake(reply(200, "application/json", "{}")) as fake:
                Client.from_env({"SANDBOXER_ADDR": fake.addr, "SANDBOXER_EXEC_TOKEN_FILE": f.name}).health()
        self.assertEqual(fake.requests[0][2]["Authorization"], "Bearer " + TOKEN)


class Requests(unittest.TestCase):
    def test_exec(self) -> None:
        with Fake(reply(200, "application/json", result(new_field=1))) as fake:
            got = Client(fake.addr, token=TOKEN).exec(ID, ["a", "é"], CONSUMER, stdin_text="in", timeout_seconds=3)
        self.assertEqual((got.exit_code, got.started_at.isoformat()), (0, "2026-01-02T03:04:05.678000+00:00"))
        method, path, headers, body = fake.requests[0]
        self.assertEqual((method, path), ("POST", f"/v1/sandboxes/{ID}/exec"))
        self.assertEqual(headers["Authorization"], "Bearer " + TOKEN)
        self.assertEqual(
            json.loads(body),
            {
                "command": ["a", "é"],
                "consumer": RESULT["consumer"],
                "credential_route_refs": [],
                "stdin_text": "in",
                "timeout_seconds": 3,
            },
        )

    def test_list(self) -> None:
        with Fake(reply(200, "application/json", '{"sandboxes": [], "next": ""}')) as fake:
            Client(fake.addr).list_sandboxes(states=["ready", "failed"], project="a b", cursor="c", limit=2)
        self.assertEqual(fake.requests[0][1], "/v1/sandboxes?state=ready&state=failed&project=a+b&cursor=c&limit=2")

    def test_a_page_that_is_its_own_next_one(self) -> None:
        with Fake(reply(200, "application/json", '{"sandboxes": [], "next": "a"}')) as fake:
            with self.assertRaises(BadAnswer):
                list(Client(fake.addr).iter_sandboxes())
        self.assertEqual(len(fake.requests), 2)

    def test_what_is_never_sent(self) -> None:
        client = Client("unix:///none")
        with self.assertRaisesRegex(TypeError, "argument vector"):
            client.exec(ID, "ls", CONSUMER)
        for bad in ("", "../x", "a/b"):
            with self.assertRaises(Problem):
                client.get_sandbox(bad)


class Answers(unittest.TestCase):
    def exec(self, fake: Fake) -> ExecResult:
        return Client(fake.addr, token=TOKEN).exec(ID, ["true"], CONSUMER)

    def test_problem(self) -> None:
        body = '{"code": "exec_in_progress", "detail": "busy", "hint": "wait", "pointer": "/x", "request_id": "r"}'
        with Fake(reply(409, "application/problem+json", body)) as fake, self.assertRaises(Problem) as caught:
            self.exec(fake)
        p = caught.exception
        self.assertEqual(
            (p.status, p.code, p.detail, p.hint, p.pointer, p.request_id),
            (409, "exec_in_progress", "busy", "wait", "/x", "r"),
        )

    def test_what_is_no_answer(self) -> None:
        media, problem = "application/json", "application/problem+json"
        for status, kind, body, want in (
            (200, "text/html", "<html>", "'text/html' where JSON was due"),
            (200, media, "", "cannot be read"),
            (200, media, result()[:20], "cannot be read"),
            (200, media, result() + "{}", "cannot be read"),
            (200, media, "[" * 100_000, "cannot be read"),
            (200, media, "null", "no object at /"),
            (200, media, "{}", "no /exec_id"),
            (200, media, without("duration_ms"), "no /duration_ms"),
            (200, media, result(exit_code=None), "without exit_code"),
            (200, media, result(exit_code="0"), "wrong type at /exit_code"),
            (200, media, result(exit_code=True), "wrong type at /exit_code"),
            (200, media, result(consumer={}), "no /consumer/actor"),
            (200, media, result(outcome="signaled"), "without signal"),
            (200, media, result(outcome="start_failed"), "without failure"),
            (200, media, result(outcome="done"), "outcome 'done'"),
            (200, media, result(sandbox_id="sbx-2"), "the sandbox 'sbx-2'"),
            (200, media, result(started_at="now"), "no time at /started_at"),
            (200, problem, '{"code": "a", "detail": "b"}', "without code or detail"),
            (500, "text/plain", TOKEN, "500 Internal Server Error, and no problem"),
            (400, problem, "{}", "without code or detail"),
            (400, problem, "<", "a problem that cannot be read"),
            (307, "text/html", "", "307 Temporary Redirect, and no problem"),
            (200, media, '{"stdout": "' + "x" * (6 << 20), "longer than 5242880 bytes"),
        ):
            with self.subTest(body[:60]), Fake(reply(status, kind, body)) as fake:
                with self.assertRaisesRegex(BadAnswer, want) as caught:
                    self.exec(fake)
                self.assertNotIn(TOKEN, str(caught.exception))

    def test_cut_connection_is_not_tried_again(self) -> None:
        for answer in (cut, lambda request: request.connection.shutdown(socket.SHUT_RDWR)):
            with Fake(answer) as fake, self.assertRaisesRegex(BadAnswer, "broke before the answer was complete"):
                self.exec(fake)
            self.assertEqual(len(fake.requests), 1)

    def test_slow_answer(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.05)
            with self.assertRaisesRegex(BadAnswer, "no answer of .* within 0.05 s"):
                client.health()

    def test_unreachable(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            addr = f"unix://{directory}/none"
            with self.assertRaises(ServiceUnreachable) as caught:
                Client(addr).health()
        self.assertEqual(str(caught.exception), f"no service can be reached at {addr}: No such file or directory")

    def test_streams(self) -> None:
        with Fake(reply(200, "application/json", result(encoding="base64", stdout="/w==", stderr="YQ=="))) as fake:
            self.assertEqual(self.exec(fake).streams(), (b"\xff", b"a"))
        for bad in ({"encoding": "base64", "stdout": "/w="}, {"encoding": "latin-1"}):
            with Fake(reply(200, "application/json", result(**bad))) as fake, self.assertRaises(BadAnswer):
                self.exec(fake).streams()


class Source(unittest.TestCase):
    def test_is_of_the_oldest_python(self) -> None:
        for file in pathlib.Path(__file__).parent.parent.glob("src/**/*.py"):
            ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()
