"""How a harness runs its commands in one sandbox.

Every command crosses exactly one boundary: the owner service, or ssh. None is
run twice.
"""

from __future__ import annotations

import json
import logging
import math
import os
import shlex
import signal
import subprocess
import uuid
from dataclasses import dataclass, field
from typing import Any, List, Literal, Mapping, Optional, Sequence, Tuple, Union

from ._reach import BAD_TARGET, SSH_TARGET, check_local, check_remote, client_of_env, consumer_of
from .client import Client
from .errors import SandboxerError, TransportError
from .models import Consumer, ExecResult

_log = logging.getLogger(__name__)

_SHORT_TIMEOUT = 15.0
_MAX_OUTPUT = 16 << 20

# Writes standard input to a new file $2 in the directory $1. It follows no link,
# overwrites nothing and leaves no half of a file.
_WRITE_SCRIPT = """set -C; umask 077
if [ -L "$1" ]; then echo "$1 is a symbolic link, not a directory" >&2; exit 1; fi
if [ ! -e "$1" ]; then echo "$1 does not exist" >&2; exit 1; fi
if [ ! -d "$1" ]; then echo "$1 is not a directory" >&2; exit 1; fi
exec 3>"$1/$2" || exit 1
cat >&3 || { rm -f -- "$1/$2"; exit 1; }"""

# Removes the file $3 of the directory $2 when that lies in the directory $1 with
# all links resolved.
_REMOVE_SCRIPT = """[ -d "$2" ] || exit 0
cd -P -- "$1" || exit 1
top=${PWD%/}
cd -P -- "$2" || exit 1
case "$PWD/" in
"$top"/*) rm -f -- "./$3" ;;
*) echo "$2 leads out of the workspace" >&2; exit 1 ;;
esac"""


@dataclass(frozen=True)
class Transport:
    """Runs commands in the workspace of one sandbox.

    ``workspace`` is the directory as the commands see it. ``pid`` is evidence
    only: nothing is attached to. transport_from_sandbox makes one.
    """

    kind: Literal["owner-mediated", "ssh"]
    workspace: str
    pid: Optional[int] = None
    ssh_target: Optional[str] = None
    sandbox_id: Optional[str] = None
    client: Optional[Client] = field(default=None, repr=False, compare=False)
    consumer: Optional[Consumer] = None

    def command(self, argv: Sequence[str]) -> List[str]:
        """Returns what to run on this machine to run argv in the sandbox. There is
        such a command over ssh alone."""
        command = _checked(argv)
        if self.kind != "ssh":
            raise TransportError("an owner-mediated sandbox has no local command: the owner service runs it")
        if not self.ssh_target or not SSH_TARGET.fullmatch(self.ssh_target):
            raise TransportError("SSH target " + BAD_TARGET)
        scoped = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.workspace, *command]
        return ["ssh", "--", self.ssh_target, shlex.join(scoped)]

    def run(
        self,
        argv: Sequence[str],
        *,
        input_text: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Runs one argument vector as subprocess.run would with text=True.

        A command that a signal ended has returncode -N; one that could not be
        started has 127 or 126, with the reason in stderr. A timeout raises
        subprocess.TimeoutExpired with the output so far; owner-mediated it is
        rounded up to whole seconds, and None is the default of the owner (15
        minutes, or less where the profile says so). What is not UTF-8 becomes
        U+FFFD. Without input_text the command reads /dev/null.

        Owner-mediated, input_text is at most 1,000,000 bytes and of each stream
        the first 16 MiB are returned; what is cut is logged as a warning.
        """
        if self.kind == "ssh":
            return self._run_ssh(self.command(argv), input_text, timeout)
        return self._run_mediated(_checked(argv), input_text, timeout)

    def resolve_executable(self, name: str, *, timeout: float = _SHORT_TIMEOUT) -> str:
        """Finds the program that a command name stands for inside."""
        if not name or "/" in name:
            raise TransportError("rein executable must be a command name, not a host path")
        return self._line(
            ["sh", "-c", 'command -v -- "$1"', "sh", name],
            timeout,
            f"'{name}' is not installed inside the selected sandbox transport",
        )

    def git_head(self, *, timeout: float = _SHORT_TIMEOUT) -> str:
        """Returns the commit that HEAD of the workspace is at."""
        return self._line(
            ["git", "-C", self.workspace, "rev-parse", "HEAD"],
            timeout,
            "cannot read git HEAD inside the selected sandbox transport",
        )

    def write_task_file(self, payload: Mapping[str, Any]) -> str:
        """Writes payload as JSON to a new file that only its owner may read, and
        returns its path. It lies in the .git directory of the workspace, so that
        ``git add -A`` does not find it; nothing of payload is in an argument."""
        name = f".glas-harness-task-{uuid.uuid4().hex}.json"
        directory = self.workspace.rstrip("/") + "/.git"
        script = ["sh", "-c", _WRITE_SCRIPT, "sh", directory, name]
        self._change("create", script, json.dumps(payload))
        return f"{directory}/{name}"

    def remove_file(self, path: str) -> None:
        """Removes a file of the workspace. One that does not exist is no error."""
        if os.path.normpath(path) != path or not path.startswith(self.workspace.rstrip("/") + "/"):
            raise TransportError(f"cannot remove {path!r}: it is not the plain path of a file below {self.workspace}")
        directory, name = os.path.split(path)
        self._change("remove", ["sh", "-c", _REMOVE_SCRIPT, "sh", self.workspace, directory, name], None)

    def _change(self, verb: str, argv: List[str], input_text: Optional[str]) -> None:
        whose = "remote sandbox" if self.kind == "ssh" else "sandbox"
        message = f"cannot {verb} {whose} task file: "
        try:
            proc = self.run(argv, input_text=input_text, timeout=_SHORT_TIMEOUT)
        except TransportError as exc:
            raise TransportError(message + str(exc)) from exc
        if proc.returncode != 0:
            raise TransportError(message + (proc.stderr.strip() or f"exit {proc.returncode}"))

    def _line(self, argv: List[str], timeout: float, failure: str) -> str:
        proc = self.run(argv, timeout=timeout)
        line = proc.stdout.strip()
        if proc.returncode != 0 or not line:
            raise TransportError(failure)
        return line

    def _run_ssh(
        self, command: List[str], input_text: Optional[str], timeout: Optional[float]
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            input="" if input_text is None else input_text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )

    def _run_mediated(
        self, command: List[str], input_text: Optional[str], timeout: Optional[float]
    ) -> "subprocess.CompletedProcess[str]":
        if self.client is None or self.consumer is None or self.sandbox_id is None:
            raise TransportError("owner-mediated transport is missing its client, consumer or sandbox_id")
        try:
            result = self.client.exec(
                self.sandbox_id,
                command,
                self.consumer,
                stdin_text=input_text,
                timeout_seconds=None if timeout is None else max(1, math.ceil(timeout)),
                max_output_bytes=_MAX_OUTPUT,
            )
            stdout, stderr = result.streams()
        except SandboxerError as exc:
            raise TransportError(str(exc)) from exc
        if result.outcome == "timed_out":
            # As of subprocess.run: bytes, and None where there are none.
            after = result.duration_ms / 1000 if timeout is None else timeout
            raise subprocess.TimeoutExpired(command, after, output=stdout or None, stderr=stderr or None)
        _warn_of_cuts(result)
        returncode, reason = _ending(result)
        return subprocess.CompletedProcess(command, returncode, _text(stdout), _text(stderr) + reason)


# The name that a harness may know the class by.
ExecutionTransport = Transport


def transport_from_sandbox(
    sandbox: Any,
    *,
    client: Optional[Client] = None,
    consumer: Union[Consumer, Mapping[str, str], None] = None,
) -> Transport:
    """Makes the transport for a sandbox: any object with ``reachability``, a
    mapping, and ``sandbox_id``.

    An ssh sandbox needs neither client nor consumer. For an owner-mediated one
    the client is that of the environment (SANDBOXER_ADDR and
    SANDBOXER_EXEC_TOKEN_FILE or SANDBOXER_EXEC_TOKEN) where none is given, and
    the consumer that of SANDBOXER_ACTOR, SANDBOXER_PROJECT, SANDBOXER_SESSION_ID
    and SANDBOXER_RUN_ID. It is never taken from the sandbox: that would bind
    nothing.
    """
    at = sandbox.reachability
    pid, workspace = at.get("pid"), at.get("workspace_dir")
    target, remote_dir = at.get("ssh"), at.get("remote_dir")
    local = pid is not None or workspace is not None
    remote = target is not None or remote_dir is not None
    if local and remote:
        raise TransportError("ambiguous sandbox reachability: local and SSH fields coexist")
    if remote:
        host, directory = check_remote(target, remote_dir)
        return Transport("ssh", directory, ssh_target=host)
    if not local:
        raise TransportError("sandbox exposes no supported execution reachability")
    number, directory = check_local(pid, workspace)
    sandbox_id = getattr(sandbox, "sandbox_id", None)
    if not isinstance(sandbox_id, str):
        raise TransportError("owner-mediated execution needs the sandbox_id")
    return Transport(
        "owner-mediated",
        directory,
        pid=number,
        sandbox_id=sandbox_id,
        client=client_of_env() if client is None else client,
        consumer=consumer_of(consumer),
    )


def _checked(argv: Sequence[str]) -> List[str]:
    if not argv:
        raise TransportError("cannot execute an empty command")
    return [str(item) for item in argv]


def _ending(result: ExecResult) -> Tuple[int, str]:
    """The returncode of a result, and what stderr says of it."""
    if result.outcome == "exited" and result.exit_code is not None:
        return result.exit_code, ""
    if result.outcome == "signaled" and result.signal is not None:
        return -_signal_number(result.signal), ""
    if result.outcome == "oom_killed":
        return -signal.SIGKILL, ""
    if result.outcome == "start_failed" and result.failure is not None:
        return 127 if result.failure.code == "command_not_found" else 126, result.failure.message + "\n"
    raise TransportError(f"the service ended the command {result.exec_id} before it was done")


def _signal_number(name: str) -> int:
    base, _, offset = name.partition("+")
    try:
        return int(signal.Signals[base]) + int(offset or 0)
    except (KeyError, ValueError) as exc:
        raise TransportError(f"the command was ended by the unknown signal {name}") from exc


def _warn_of_cuts(result: ExecResult) -> None:
    for name, cut, produced in (
        ("stdout", result.stdout_truncated, result.stdout_bytes),
        ("stderr", result.stderr_truncated, result.stderr_bytes),
    ):
        if cut:
            _log.warning("%s of %s is cut at %d of %d bytes", name, result.command_name, _MAX_OUTPUT, produced)


def _text(data: bytes) -> str:
    """Decodes as text=True does, line ends included."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
