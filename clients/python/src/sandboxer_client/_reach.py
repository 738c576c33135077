"""What a descriptor, a client and a consumer must be to execute by."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, Tuple, Union

from .client import Client
from .errors import TransportError
from .models import Consumer

SSH_TARGET = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9._-]*")
BAD_TARGET = "must be a single non-option host or user@host target"


def check_local(pid: Any, workspace: Any) -> Tuple[int, str]:
    if not pid or not workspace:
        raise TransportError("incomplete local sandbox reachability: pid and workspace_dir are required")
    try:
        number = int(str(pid))
    except ValueError as exc:
        raise TransportError("local sandbox reachability pid must be an integer") from exc
    if number <= 0 or not str(workspace).startswith("/"):
        raise TransportError("local sandbox reachability has invalid pid or workspace_dir")
    return number, str(workspace)


def check_remote(target: Any, directory: Any) -> Tuple[str, str]:
    if not target or not directory:
        raise TransportError("incomplete remote sandbox reachability: ssh and remote_dir are required")
    if not SSH_TARGET.fullmatch(str(target)):
        raise TransportError("SSH reachability " + BAD_TARGET)
    if not str(directory).startswith("/"):
        raise TransportError("remote sandbox workspace must be an absolute path")
    return str(target), str(directory)


def client_of_env() -> Client:
    try:
        return Client.from_env()
    except (OSError, ValueError) as exc:
        raise TransportError(f"owner-mediated execution needs a client: {exc}") from exc


def consumer_of(given: Union[Consumer, Mapping[str, str], None]) -> Consumer:
    if isinstance(given, Consumer):
        return given
    fields = ("actor", "project", "session_id", "run_id")
    found = {name: os.environ.get("SANDBOXER_" + name.upper(), "") for name in fields} if given is None else given
    missing = [name for name in fields if not found.get(name)]
    if missing:
        raise TransportError(
            f"owner-mediated execution needs the consumer that the sandbox is bound to: {', '.join(missing)} missing"
        )
    return Consumer(**{name: found[name] for name in fields})
