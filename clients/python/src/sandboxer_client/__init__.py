"""Client of the sandboxer owner service, on the standard library alone."""

from .client import Client
from .errors import BadAnswer, Problem, SandboxerError, ServiceUnreachable, TransportError
from .models import (
    Consumer,
    Destroyed,
    Execution,
    ExecResult,
    ExtensionInfo,
    Failure,
    InputInfo,
    Limit,
    Network,
    ProfileInfo,
    ReachabilityReport,
    Sandbox,
    SandboxList,
    Tunnel,
)
from .transport import ExecutionTransport, Transport, transport_from_sandbox

__all__ = [
    "BadAnswer",
    "Client",
    "Consumer",
    "Destroyed",
    "Execution",
    "ExecResult",
    "ExecutionTransport",
    "ExtensionInfo",
    "Failure",
    "InputInfo",
    "Limit",
    "Network",
    "Problem",
    "ProfileInfo",
    "ReachabilityReport",
    "Sandbox",
    "SandboxList",
    "SandboxerError",
    "ServiceUnreachable",
    "Transport",
    "TransportError",
    "Tunnel",
    "transport_from_sandbox",
]
