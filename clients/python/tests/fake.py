"""A service that answers every request alike."""

from __future__ import annotations

import http.server
import threading
from typing import Any, Callable, List

Handler = Callable[[http.server.BaseHTTPRequestHandler], None]


class Fake:
    """``requests`` holds (method, path, headers, body) of each request; ``answer``
    writes the reply."""

    def __init__(self, answer: Handler) -> None:
        self.requests: List[Any] = []
        fake = self

        class Service(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.requests.append((self.command, self.path, self.headers, body))
                answer(self)

            do_POST = do_DELETE = do_GET

            def log_message(self, *args: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        self.addr = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def __enter__(self) -> "Fake":
        return self

    def __exit__(self, *exc: Any) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def reply(status: int, media: str, body: str) -> Handler:
    def write(request: http.server.BaseHTTPRequestHandler) -> None:
        data = body.encode()
        request.send_response(status)
        request.send_header("Content-Type", media)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    return write


def cut(request: http.server.BaseHTTPRequestHandler) -> None:
    """Promises more than it sends."""
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b"{}")
