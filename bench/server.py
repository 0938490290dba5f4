"""Light MCP servers for the benchmark, standard library only: their answers are made beforehand and sent as they are.

    python server.py stdio FILE         one server over stdio
    python server.py http FOLDER        every FILE.pages of a folder as /FILE/mcp on one loopback port, which it prints

A file holds one result of tools/list in JSON a line: the pages. A call of any tool is answered with the `number` among its
arguments, so that a caller sees whether the answer is the one to its own question.
"""

import json
import sys
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["FRESH", "answer_text", "main"]

FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What every result of the modern era carries."""

_DISCOVERED = json.dumps(
    {
        "supportedVersions": ["2026-07-28"],
        **FRESH,
        "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "bench", "version": "1.0"}},
    }
)


_CALLED = """\
{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":{{"number":{number},"state":"open","labels":["urgent","customer"],\
"author":{{"login":"sam","team":"support"}},"changed":"2026-11-30T12:00:00Z"}},"isError":false,"resultType":"complete"}}"""


def answer_text(number: int) -> str:
    """The text with which a call with this number is answered."""
    return (
        f"Ticket {number} was opened by sam of the support team and carries the labels urgent and customer. Its newest change "
        "is from noon, when the customer sent the log of the night. Nobody has looked at the log yet."
    )


def main() -> None:
    """Serve until stdin ends (stdio) or the process is ended (http)."""
    kind, place = sys.argv[1:]
    if kind == "stdio":
        _serve_stdio(Path(place).read_text("utf-8").splitlines())
    else:
        _serve_http(Path(place))


def _answer(message: dict[str, Any], pages: Sequence[str]) -> str:
    """The whole answer. A cursor is the number of a page."""
    method = message["method"]
    if method == "server/discover":
        result = _DISCOVERED
    elif method == "tools/list":
        params: dict[str, Any] = message.get("params") or {}
        result = pages[int(params.get("cursor") or 0)]
    elif method == "tools/call":
        number = int(message["params"]["arguments"]["number"])
        result = _CALLED.format(text=answer_text(number), number=number)
    else:
        error = json.dumps({"code": -32601, "message": "unknown method"})
        return f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},"error":{error}}}'
    return f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},"result":{result}}}'


def _serve_stdio(pages: Sequence[str]) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.write(_answer(message, pages) + "\n")
            sys.stdout.flush()


def _serve_http(folder: Path) -> None:
    by_path = {f"/{file.stem}/mcp": file.read_text("utf-8").splitlines() for file in folder.glob("*.pages")}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer in one piece: head and body apart would wait for each other's acknowledgement.
        wbufsize = -1
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class names it)
            """Keep quiet."""

        def do_POST(self) -> None:
            """One message."""
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = _answer(message, by_path[self.path]).encode() if "id" in message else b""
            self._send(200 if body else 202, body)

        def do_GET(self) -> None:
            """No stream of notifications is offered."""
            self._send(405, b"")

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

    listener = Listener(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{listener.server_address[1]}\n")
    sys.stdout.flush()
    listener.serve_forever()


if __name__ == "__main__":
    main()
