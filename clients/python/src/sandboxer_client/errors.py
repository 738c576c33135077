"""What a call may raise. No message holds the token."""

from __future__ import annotations

from typing import Optional


class SandboxerError(Exception):
    """A call has no result."""


class Problem(SandboxerError):
    """The service refused a request, or failed.

    ``code`` is stable: what a program decides by. ``detail`` is one sentence
    for a person, ``hint`` what to do about it, ``pointer`` the JSON pointer of
    the field at fault and ``request_id`` what the log of the service knows the
    request by; each of the last three may be None.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        hint: Optional[str] = None,
        pointer: Optional[str] = None,
        request_id: Optional[str] = None,
    ) -> None:
        super().__init__(f"{detail} ({code})")
        self.status = status
        self.code = code
        self.detail = detail
        self.hint = hint
        self.pointer = pointer
        self.request_id = request_id


class ServiceUnreachable(SandboxerError):
    """There is no connection to the service. Nothing was sent."""


class BadAnswer(SandboxerError):
    """The answer is missing, cut short, or none that a sandboxer service gives.

    Of a command it is then not known whether it ran.
    """


class TransportError(RuntimeError):
    """A descriptor is not fit to execute by, or a command was refused or its end
    is not known. Where the service refused, its Problem is the cause."""
