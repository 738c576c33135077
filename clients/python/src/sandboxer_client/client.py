"""A call for each route of the owner API."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar
from urllib.parse import urlencode

from ._decode import decode
from ._http import Address, Answer
from .errors import BadAnswer, Problem
from .models import (
    Consumer,
    Destroyed,
    ExecResult,
    ExtensionInfo,
    ProfileInfo,
    ReachabilityReport,
    Sandbox,
    SandboxList,
)

T = TypeVar("T")

_MAX_ANSWER = 16 << 20
_MAX_OUTPUT = 16 << 20
_DEFAULT_OUTPUT = 256 << 10
# The owner's timeout where a request has none, in seconds; a profile may have less.
_DEFAULT_EXEC_TIMEOUT = 900
# What an answer may take beyond the timeout of its command, in seconds.
_EXEC_GRACE = 60.0

_SEGMENT = re.compile(r"[A-Za-z0-9_-]{1,128}")
_TOKEN = re.compile(r"[!-~]*")


class Client:
    """Calls one service, at unix:///path, http://host:port or https://host:port.

    A refusal raises Problem, any other failure ServiceUnreachable or BadAnswer.
    No call is made twice, no redirect is followed and no proxy is used. Calls may
    be made from several threads. ``ca_file`` names a PEM file of the authorities
    that may vouch for an https service, in place of those of the system;
    ``timeout`` bounds, in seconds, a call that has no work to wait for.
    """

    def __init__(
        self,
        addr: str,
        *,
        token: Optional[str] = None,
        ca_file: Optional[str] = None,
        timeout: float = 30.0,
    ) -> None:
        if token and not _TOKEN.fullmatch(token):
            raise ValueError("the token holds a space, a line break or another character that no bearer has")
        self._address = Address(addr, ca_file)
        self._token = token
        self._timeout = timeout

    @classmethod
    def from_env(cls, environ: Optional[Mapping[str, str]] = None) -> "Client":
        """Makes the client that SANDBOXER_ADDR and SANDBOXER_EXEC_TOKEN_FILE, or
        SANDBOXER_EXEC_TOKEN, name."""
        env = os.environ if environ is None else environ
        addr = env.get("SANDBOXER_ADDR")
        if not addr:
            raise ValueError("SANDBOXER_ADDR is not set: 'sandboxer serve' prints what to set it to")
        token = env.get("SANDBOXER_EXEC_TOKEN")
        file = env.get("SANDBOXER_EXEC_TOKEN_FILE")
        if file:
            with open(file, encoding="ascii") as f:
                token = f.read().rstrip("\r\n")
        return cls(addr, token=token or None)

    def __repr__(self) -> str:
        return f"Client({self._address.addr!r})"

    @property
    def addr(self) -> str:
        """The address of the service."""
        return self._address.addr

    def create_sandbox(
        self,
        profile: str,
        inputs: Mapping[str, str],
        consumer: Consumer,
        *,
        ttl_seconds: Optional[int] = None,
        idempotency_key: Optional[str] = None,
    ) -> Sandbox:
        """Provisions a sandbox and returns it when it is ready. The same request
        with the same idempotency key is answered with the same sandbox."""
        body: Dict[str, Any] = {
            "profile": profile,
            "inputs": dict(inputs),
            "consumer": dataclasses.asdict(consumer),
        }
        if ttl_seconds is not None:
            body["ttl_seconds"] = ttl_seconds
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return self._object(Sandbox, "POST", "/v1/sandboxes", body=body, headers=headers, timeout=None)

    def get_sandbox(self, sandbox_id: str) -> Sandbox:
        """Returns a sandbox."""
        return self._of(sandbox_id, self._object(Sandbox, "GET", _path(sandbox_id)))

    def list_sandboxes(
        self,
        *,
        states: Sequence[str] = (),
        project: Optional[str] = None,
        profile: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> SandboxList:
        """Returns one page of sandboxes, oldest first; cursor is the next of the
        page before."""
        query = [("state", state) for state in states]
        named = {"project": project, "profile": profile, "cursor": cursor, "limit": limit}
        query += [(name, str(value)) for name, value in named.items() if value is not None]
        path = "/v1/sandboxes" + ("?" + urlencode(query) if query else "")
        return self._object(SandboxList, "GET", path)

    def iter_sandboxes(
        self, *, states: Sequence[str] = (), project: Optional[str] = None, profile: Optional[str] = None
    ) -> Iterator[Sandbox]:
        """Goes through the sandboxes of all pages."""
        cursor: Optional[str] = None
        while True:
            page = self.list_sandboxes(states=states, project=project, profile=profile, cursor=cursor)
            yield from page.sandboxes
            if not page.next:
                return
            if page.next == cursor:
                raise BadAnswer(f"{self.addr} answered with a page that is its own next one")
            cursor = page.next

    def reachability(self, sandbox_id: str) -> ReachabilityReport:
        """Says how to get to a sandbox."""
        return self._of(sandbox_id, self._object(ReachabilityReport, "GET", _path(sandbox_id, "/reachability")))

    def exec(
        self,
        sandbox_id: str,
        command: Sequence[str],
        consumer: Consumer,
        *,
        credential_route_refs: Sequence[str] = (),
        stdin_text: Optional[str] = None,
        timeout_seconds: Optional[int] = None,
        max_output_bytes: Optional[int] = None,
    ) -> ExecResult:
        """Runs one argument vector in a sandbox and returns how it ended; a
        command that fails is a result too. It is never run twice. When the
        connection ends before the command does, the service ends the command."""
        if isinstance(command, str):
            raise TypeError("the command is an argument vector, not a string: give each argument its own element")
        body: Dict[str, Any] = {
            "command": list(command),
            "consumer": dataclasses.asdict(consumer),
            "credential_route_refs": list(credential_route_refs),
            "stdin_text": stdin_text,
        }
        if timeout_seconds is not None:
            body["timeout_seconds"] = timeout_seconds
        if max_output_bytes is not None:
            body["max_output_bytes"] = max_output_bytes
        kept = _DEFAULT_OUTPUT if max_output_bytes is None else min(max(max_output_bytes, 0), _MAX_OUTPUT)
        seconds = _DEFAULT_EXEC_TIMEOUT if timeout_seconds is None else max(timeout_seconds, 0)
        result = self._object(
            ExecResult,
            "POST",
            _path(sandbox_id, "/exec"),
            body=body,
            timeout=seconds + _EXEC_GRACE,
            limit=2 * 6 * kept + (2 << 20),  # JSON writes a control character as six
        )
        _check_result(result)
        return self._of(sandbox_id, result)

    def renew(self, sandbox_id: str, ttl_seconds: int) -> Sandbox:
        """Moves the expiry of a sandbox to this time from now: never earlier than
        it is, never beyond the maximum of the profile."""
        path = _path(sandbox_id, "/renew")
        return self._of(sandbox_id, self._object(Sandbox, "POST", path, body={"ttl_seconds": ttl_seconds}))

    def destroy(self, sandbox_id: str) -> Destroyed:
        """Removes everything of a sandbox and returns when nothing is left. It may
        be called again."""
        return self._of(sandbox_id, self._object(Destroyed, "DELETE", _path(sandbox_id), timeout=None))

    def profiles(self) -> List[ProfileInfo]:
        """Lists the profiles that the service knows."""
        return self._items(ProfileInfo, "/v1/profiles", "profiles")

    def extensions(self) -> List[ExtensionInfo]:
        """Lists the extensions that the service knows."""
        return self._items(ExtensionInfo, "/v1/extensions", "extensions")

    def health(self) -> None:
        """Returns when the service is alive. It needs no token."""
        self._call("GET", "/healthz")

    def ready(self) -> None:
        """Returns when the service takes requests."""
        self._call("GET", "/readyz")

    def metrics(self) -> str:
        """Returns the metrics in the text format of Prometheus."""
        return self._call("GET", "/metrics").body.decode("utf-8")

    def openapi(self) -> str:
        """Returns the description of the API, a YAML text."""
        return self._call("GET", "/v1/openapi.yaml").body.decode("utf-8")

    def _object(self, cls: Type[T], method: str, path: str, **options: Any) -> T:
        return decode(cls, self._json(self._call(method, path, **options)))

    def _items(self, cls: Type[T], path: str, name: str) -> List[T]:
        answer = self._json(self._call("GET", path))
        items = answer.get(name) if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise BadAnswer(f"the answer has no list at /{name}")
        return [decode(cls, item, f"/{name}/{i}") for i, item in enumerate(items)]

    def _json(self, answer: Answer) -> Any:
        if answer.media != "application/json":
            raise self._strange(f"the media type {answer.media!r} where JSON was due")
        return self._parse(answer, "JSON")

    def _parse(self, answer: Answer, what: str) -> Any:
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as exc:
            raise self._strange(f"{what} that cannot be read") from exc

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Optional[Dict[str, Any]] = None,
        headers: Optional[Dict[str, str]] = None,
        timeout: Optional[float] = -1,
        limit: int = _MAX_ANSWER,
    ) -> Answer:
        sent = dict(headers or {})
        payload = None
        if body is not None:
            payload = json.dumps(body).encode("ascii")
            sent["Content-Type"] = "application/json"
        if self._token:
            sent["Authorization"] = "Bearer " + self._token
        wait = self._timeout if timeout == -1 else timeout
        answer = self._address.request(method, path, body=payload, headers=sent, timeout=wait, limit=limit)
        if answer.media == "application/problem+json":
            raise self._problem(answer)
        if not 200 <= answer.status <= 299:
            raise self._strange(f"{answer.status} {answer.reason}, and no problem in a form that sandboxer writes")
        return answer

    def _problem(self, answer: Answer) -> Exception:
        told = self._parse(answer, "a problem")
        fields = told if isinstance(told, dict) else {}
        text = {name: value for name, value in fields.items() if isinstance(value, str) and value}
        if "code" not in text or "detail" not in text or answer.status < 400:
            return self._strange(f"{answer.status} {answer.reason}, and a problem without code or detail")
        return Problem(
            answer.status,
            text["code"],
            text["detail"],
            hint=text.get("hint"),
            pointer=text.get("pointer"),
            request_id=text.get("request_id"),
        )

    def _strange(self, what: str) -> BadAnswer:
        return BadAnswer(f"{self.addr} does not answer as a sandboxer service does: it sent {what}")

    def _of(self, sandbox_id: str, answer: T) -> T:
        """Holds an answer to the sandbox that was asked for."""
        got = getattr(answer, "sandbox_id")
        if got != sandbox_id:
            raise self._strange(f"the sandbox {got!r} where {sandbox_id!r} was due")
        return answer


def _path(sandbox_id: str, below: str = "") -> str:
    # Whether it is the id of a sandbox is the service's to say.
    if not _SEGMENT.fullmatch(sandbox_id):
        raise Problem(
            400,
            "invalid_request",
            f"{sandbox_id!r} is not a sandbox id",
            hint="'sandboxer list' shows the ids",
            pointer="/sandbox_id",
        )
    return f"/v1/sandboxes/{sandbox_id}{below}"


def _check_result(result: ExecResult) -> None:
    needs = {"exited": "exit_code", "signaled": "signal", "start_failed": "failure"}
    if result.outcome in needs:
        if getattr(result, needs[result.outcome]) is None:
            raise BadAnswer(f"the answer is a result without {needs[result.outcome]}")
    elif result.outcome not in ("timed_out", "oom_killed", "canceled"):
        raise BadAnswer(f"the answer is a result with the outcome {result.outcome!r}")
