"""The objects of the owner API. Their fields are those of its JSON."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Optional, Tuple

from .errors import BadAnswer


@dataclass(frozen=True)
class Consumer:
    """The identity that a sandbox is bound to: each field 1 to 128 characters
    of A-Z a-z 0-9 . _ : @ / -."""

    actor: str
    project: str
    session_id: str
    run_id: str


@dataclass(frozen=True)
class Execution:
    """How commands get in: mode is "owner-mediated" or "ssh"."""

    mode: str


@dataclass(frozen=True)
class Network:
    """The posture; enforced is False, with the reason, where it is not enforced."""

    posture: str
    enforced: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Limit:
    """One bound, under a name that carries its unit."""

    value: int
    enforced: bool
    reason: str = ""


@dataclass(frozen=True)
class Failure:
    """Why a sandbox failed, or why a command did not start."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True)
class Sandbox:
    """A sandbox. Profile and extension carry their prefix.

    ``reachability`` has the fields of its kind alone: pid and workspace_dir, or
    ssh and remote_dir. It is empty, and ``execution`` None, until the sandbox is
    ready.
    """

    sandbox_id: str
    state: str
    profile: str
    profile_digest: str
    extension: str
    extension_version: str
    consumer: Consumer
    created_at: datetime
    expires_at: datetime
    network: Network
    limits: Dict[str, Limit]
    reachability: Dict[str, Any] = field(default_factory=dict)
    execution: Optional[Execution] = None
    failure: Optional[Failure] = None


@dataclass(frozen=True)
class SandboxList:
    """A page of sandboxes, oldest first; next is "" on the last one."""

    sandboxes: List[Sandbox]
    next: str


@dataclass(frozen=True)
class Tunnel:
    """A port that a sandbox publishes."""

    name: str
    service: str
    remote_host: str
    remote_port: int
    ssh_command: str


@dataclass(frozen=True)
class ReachabilityReport:
    """How to get to a sandbox."""

    sandbox_id: str
    state: str
    execution: Execution
    reachability: Dict[str, Any]
    tunnels: List[Tunnel]
    ssh_command: str = ""


@dataclass(frozen=True)
class Destroyed:
    """What a destroy did; removed is empty when nothing was left."""

    sandbox_id: str
    state: str
    removed: List[str]


@dataclass(frozen=True)
class ExecResult:
    """How a command ended.

    ``outcome`` is "exited", "signaled", "timed_out", "oom_killed", "canceled" or
    "start_failed". ``exit_code`` is None unless it is "exited", ``signal``
    unless "signaled", ``failure`` unless "start_failed". ``stdout_bytes`` and
    ``stderr_bytes`` count what was produced, not what was kept.
    """

    exec_id: str
    sandbox_id: str
    consumer: Consumer
    profile: str
    extension: str
    command_name: str
    outcome: str
    exit_code: Optional[int]
    signal: Optional[str]
    timed_out: bool
    started_at: datetime
    duration_ms: int
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    stdout_truncated: bool
    stderr_truncated: bool
    encoding: str
    survivors_killed: int
    workspace: str
    network: Network
    failure: Optional[Failure] = None

    def streams(self) -> Tuple[bytes, bytes]:
        """Returns what was kept of stdout and stderr, decoded."""
        try:
            if self.encoding == "utf-8":
                return self.stdout.encode("utf-8"), self.stderr.encode("utf-8")
            if self.encoding == "base64":
                return (
                    base64.b64decode(self.stdout, validate=True),
                    base64.b64decode(self.stderr, validate=True),
                )
        except (binascii.Error, UnicodeEncodeError) as exc:
            raise BadAnswer(f"the output of {self.exec_id} cannot be read: {exc}") from exc
        raise BadAnswer(f"the output of {self.exec_id} is in the unknown encoding {self.encoding!r}")


@dataclass(frozen=True)
class InputInfo:
    """An input of a profile; default is None where it is required."""

    name: str
    type: str
    required: bool
    description: str = ""
    default: Optional[str] = None


@dataclass(frozen=True)
class ProfileInfo:
    """A profile. Of one that is not valid only profile and failure are told."""

    profile: str
    inputs: List[InputInfo]
    description: str = ""
    profile_digest: str = ""
    extension: str = ""
    extension_version: str = ""
    ttl_default_seconds: int = 0
    ttl_max_seconds: int = 0
    exec_timeout_max_seconds: int = 0
    network: Optional[Network] = None
    failure: Optional[Failure] = None


@dataclass(frozen=True)
class ExtensionInfo:
    """An extension. Of one that does not start only extension and failure are
    told, and digest where its file could be read."""

    extension: str
    capabilities: List[str]
    extension_version: str = ""
    digest: str = ""
    failure: Optional[Failure] = None
