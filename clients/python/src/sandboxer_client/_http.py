"""One request over a Unix socket, TCP or TLS."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from dataclasses import dataclass
from typing import Dict, Optional
from urllib.parse import urlsplit

from .errors import BadAnswer, ServiceUnreachable

# The longest path of a Unix socket on Linux.
_MAX_SOCKET_PATH = 107
_CONNECT_TIMEOUT = 10.0


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    media: str
    body: bytes


class Address:
    """Where a service listens. It opens a connection for each request."""

    def __init__(self, addr: str, ca_file: Optional[str] = None) -> None:
        self.addr = addr
        self._socket_path: Optional[str] = None
        self._tls: Optional[ssl.SSLContext] = None
        scheme, found, rest = addr.partition("://")
        if found and scheme == "unix":
            self._socket_path = _socket_path(rest)
        elif found and scheme in ("http", "https"):
            self._host, self._port = _host_and_port(addr)
            if scheme == "https":
                self._tls = ssl.create_default_context(cafile=ca_file)
        elif addr.startswith("/"):
            raise ValueError(f"the address {addr!r} has no scheme: write unix://{addr}")
        else:
            raise ValueError("the address is none of unix:///path, http://host:port and https://host:port")

    def connect(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if self._socket_path is not None:
            connection = _UnixConnection(self._socket_path)
        elif self._tls is not None:
            connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=_CONNECT_TIMEOUT, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_TIMEOUT)
        try:
            connection.connect()
        except OSError as exc:
            connection.close()
            reason = exc.strerror or str(exc)
            raise ServiceUnreachable(f"no service can be reached at {self.addr}: {reason}") from exc
        return connection

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Optional[bytes],
        headers: Dict[str, str],
        timeout: Optional[float],
        limit: int,
    ) -> Answer:
        """Makes one request, once. The connection is closed whatever happens, and
        with it the service ends what the request was for."""
        connection = self.connect()
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
                if self._socket_path is None:
                    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            try:
                connection.request(method, path, body=body, headers=headers)
            except (BrokenPipeError, ConnectionResetError):
                # A service that refuses need not read the body; what it said is
                # still there to be read.
                pass
            response = connection.getresponse()
            return Answer(
                response.status,
                response.reason,
                response.headers.get_content_type(),
                self._read(response, limit),
            )
        except socket.timeout as exc:
            raise BadAnswer(f"there was no answer of {self.addr} within {timeout:g} s") from exc
        except (OSError, http.client.HTTPException) as exc:
            raise self._broken(str(exc) or type(exc).__name__) from exc
        finally:
            connection.close()

    def _read(self, response: http.client.HTTPResponse, limit: int) -> bytes:
        parts = []
        total = 0
        while True:
            part = response.read(1 << 20)
            if not part:
                break
            total += len(part)
            if total > limit:
                raise BadAnswer(f"the answer of {self.addr} is longer than {limit} bytes")
            parts.append(part)
        if response.length:  # what is still due of a Content-Length
            raise self._broken("it ended too early")
        return b"".join(parts)

    def _broken(self, why: str) -> BadAnswer:
        return BadAnswer(f"the connection to {self.addr} broke before the answer was complete: {why}")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        # The service knows the host of its socket by this name.
        super().__init__("localhost", timeout=_CONNECT_TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _socket_path(path: str) -> str:
    if not path.startswith("/") or path.endswith("/"):
        raise ValueError(f"the address unix://{path} does not name a socket by its absolute path: write unix:///path")
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH or "\0" in path:
        raise ValueError(
            f"the path of the socket is longer than the {_MAX_SOCKET_PATH} bytes that a socket may have,"
            " or holds a NUL byte"
        )
    return path


def _host_and_port(addr: str) -> "tuple[str, Optional[int]]":
    """Never repeats an address that it refuses: it may hold a password."""
    try:
        url = urlsplit(addr)
        host, port = url.hostname, url.port
    except ValueError:
        host, port = None, None
    if not host:
        raise ValueError("the address is not a URL: write http://host:port or https://host:port")
    if url.username is not None or url.password is not None:
        raise ValueError("the address holds a user or a password; the service takes a token alone")
    if url.path not in ("", "/") or url.query or url.fragment:
        raise ValueError("the address has more than a host and a port: write http://host:port or https://host:port")
    return host, port
