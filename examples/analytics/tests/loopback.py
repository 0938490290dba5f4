"""A real HTTP server on loopback that plays an OpenAI-compatible endpoint."""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Endpoint", "serve"]


@dataclass(kw_only=True)
class Endpoint:
    """Where a server on loopback is, and the requests that it got: path, headers and JSON."""

    base_url: str = ""
    requests: list[tuple[str, Mapping[str, str], Any]] = field(default_factory=list[tuple[str, Mapping[str, str], Any]])
    release: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serve(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None, *, stalls: bool = False
) -> Generator[Endpoint]:
    """Serve one answer to every POST: bytes as they are, anything else as JSON, a function called with the request's JSON.

    With `stalls` the headers go out and the body waits for the end of the block.
    """
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            endpoint.requests.append((self.path, dict(self.headers), json.loads(sent)))
            answer = body(endpoint.requests[-1][2]) if callable(body) else body
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if stalls:
                endpoint.release.wait(10)
            try:
                self.wfile.write(content)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the base class)
            """Say nothing on standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield endpoint
        finally:
            endpoint.release.set()
            server.shutdown()
            thread.join(5)
