"""An HTTP MCP server in plain JSON-RPC over http.server, in a thread of the test; it misbehaves as told.

    with HttpServer(era="modern") as server:
        ... server.url ... server.seen ...

Streamable HTTP on /mcp in both eras, legacy SSE on /sse, an OAuth token endpoint on /token.
"""

import itertools
import json
import queue
import select
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs

__all__ = ["ECHO", "LOST", "HttpServer", "Raw", "Seen"]

ECHO: dict[str, Any] = {"name": "echo", "description": "Echo", "inputSchema": {"type": "object"}}
_CACHE: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


@dataclass(frozen=True)
class Seen:
    """A request that arrived: its verb and path, headers with lower-case names, and the JSON-RPC message or form."""

    verb: str
    path: str
    headers: Mapping[str, str]
    message: Mapping[str, Any]

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))


@dataclass(frozen=True)
class Raw:
    """An answer as it goes out. `claimed` is the Content-Length where it is not the body's; -1 is none, up to the end.

    `then` is the rest of the body, which goes out once `go_on` is set.
    """

    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    claimed: int | None = None
    then: bytes = b""


LOST = Raw(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}')
"""How an unknown session is answered."""


class HttpServer:
    """Options are attributes and may be changed while it runs.

    `answer_on` maps a method to a Raw answer, `answer_at` a path, `on_tool` a tool's name to a Raw answer or an outcome, `stall_on` holds methods that are answered only when `go_on` is
    set or the server stops (`hung_up` gets those whose client went away meanwhile), `before` maps a method to events that go before its answer, where that is an event,
    `sessions` is whether legacy sessions are kept (`lost` is the answer for an unknown one), `sse` whether answers are event streams.
    `held_on` are notifications whose POST is answered once `go_on` is set.
    Of legacy SSE: a request whose POST is refused or cut off has no answer on the stream. For the methods in `early_on` the
    answer is on the stream first, for those in `held_on` never; the POSTs of both are answered once `go_on` is set.
    """

    def __init__(
        self,
        *,
        era: str = "both",
        tools: Sequence[Mapping[str, Any]] = (ECHO,),
        page_size: int = 0,
        sse: bool = False,
        sessions: bool = False,
        bearer: str | None = None,
        answer_on: Mapping[str, Raw] | None = None,
        on_tool: Mapping[str, Raw | Mapping[str, Any]] | None = None,
        stall_on: Sequence[str] = (),
        token: Raw | None = None,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ):
        self._wanted = port
        self.tls = tls
        self.era = era
        self.tools = tools
        self.page_size = page_size
        self.sse = sse
        self.sessions = sessions
        self.bearer = bearer
        self.answer_on = dict(answer_on or {})
        self.answer_at: dict[str, Raw] = {}
        self.capabilities: dict[str, Any] = {"tools": {}}
        self.on_tool: dict[str, Raw | Mapping[str, Any]] = dict(on_tool or {})
        self.before: dict[str, bytes] = {}
        self.stall_on = set(stall_on)
        self.early_on: set[str] = set()
        self.held_on: set[str] = set()
        self.token = token
        self.lost = LOST
        self.seen: list[Seen] = []
        self.hung_up: list[str] = []
        self.known: set[str] = set()
        self.streams: dict[str, queue.Queue[bytes]] = {}
        self.numbers = itertools.count(1)
        self.go_on = threading.Event()
        self.stopping = threading.Event()

    def __enter__(self) -> "HttpServer":
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = _Listener(("127.0.0.1", self._wanted), handler)
        if self.tls:
            self._http.socket = self.tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    @property
    def secure_url(self) -> str:
        """The URL under the name that the certificate holds."""
        return f"https://localhost:{self.port}/mcp"

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Answer nobody any more; fine to repeat."""
        self.go_on.set()
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def methods(self) -> list[str]:
        return [seen.method for seen in self.seen if seen.verb == "POST"]

    def raw_for(self, message: Mapping[str, Any]) -> Raw | None:
        method: str = message.get("method", "")
        named = self.on_tool.get(message["params"]["name"]) if method == "tools/call" else None
        return named if isinstance(named, Raw) else self.answer_on.get(method)

    def result(self, message: Mapping[str, Any]) -> dict[str, Any]:
        method = message["method"]
        params: dict[str, Any] = message.get("params") or {}
        settled: dict[str, Any] = {"capabilities": self.capabilities}
        if method == "server/discover" and self.era != "legacy":
            return {"result": {"supportedVersions": ["2026-07-28"], **_CACHE, **settled}}
        if method == "initialize" and self.era != "modern":
            about = {"name": "http", "version": "1.0"}
            return {"result": {"protocolVersion": params["protocolVersion"], "serverInfo": about, **settled}}
        if method == "tools/list":
            start = int(params.get("cursor") or 0)
            end = start + (self.page_size or len(self.tools))
            following = {"nextCursor": str(end)} if end < len(self.tools) else {}
            return {"result": {"tools": list(self.tools[start:end]), **_CACHE, **following}}
        if method == "tools/call":
            if (outcome := self.on_tool.get(params["name"])) is not None:
                assert not isinstance(outcome, Raw)
                return dict(outcome)
            arguments: dict[str, Any] = params.get("arguments") or {}
            content = [{"type": "text", "text": json.dumps(arguments)}]
            if "padding" in arguments:
                content.append({"type": "text", "text": "x" * arguments["padding"]})
            return {"result": {"content": content, **_CACHE}}
        return {"error": {"code": -32601, "message": f"unknown method {method}"}}


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    owner: HttpServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class names it)
        return

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.owner.stopping.is_set():
            # A connection that was kept alive ends with the server.
            self.close_connection = True
            return
        if self.path == "/token":
            form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
            self._note(form)
            self._send(self.owner.token or Raw(404))
            return
        message = cast("dict[str, Any]", json.loads(body))
        self._note(message)
        if self.path in self.owner.answer_at:
            self._send(self.owner.answer_at[self.path])
        elif self.path.startswith("/messages"):
            self._to_stream(message)
        else:
            self._streamable(message)

    def do_GET(self) -> None:
        self._note({})
        if self.path != "/sse":
            self._send(self.owner.answer_at.get(self.path, Raw(405)))
            return
        number = str(next(self.owner.numbers))
        waiting = self.owner.streams[number] = queue.Queue()
        self._head(Raw(kind="text/event-stream", headers={"connection": "close"}), None)
        self._write(f"event: endpoint\ndata: /messages?session_id={number}\n\n".encode())
        while not self.owner.stopping.is_set():
            try:
                if not self._write(waiting.get(timeout=0.02)):
                    return
            except queue.Empty:
                continue

    def do_DELETE(self) -> None:
        self._note({})
        self._send(self.owner.answer_at.get(self.path, Raw(204)))

    def _note(self, message: Mapping[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.seen.append(Seen(self.command, self.path, headers, message))

    def _streamable(self, message: Mapping[str, Any]) -> None:
        owner, method = self.owner, str(message.get("method", ""))
        if owner.bearer and self.headers.get("authorization") != f"Bearer {owner.bearer}":
            self._send(Raw(401, b"who are you"))
        elif (raw := owner.raw_for(message)) is not None:
            self._send(raw)
        elif "id" not in message:
            if method not in owner.held_on or self._waits():
                self._send(Raw(202))
        elif self._is_lost(method):
            self._send(owner.lost)
        else:
            if method in owner.stall_on and not self._waits():
                owner.hung_up.append(method)
                return
            self._send(self._answer(message))

    def _waits(self) -> bool:
        """Wait for `go_on`. False where the client went away first."""
        while not self.owner.go_on.wait(0.02):
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                self.close_connection = True
                return False
        return True

    def _is_lost(self, method: str) -> bool:
        if not self.owner.sessions or method in ("initialize", "server/discover"):
            return False
        return self.headers.get("mcp-session-id") not in self.owner.known

    def _answer(self, message: Mapping[str, Any]) -> Raw:
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], **self.owner.result(message)}).encode()
        headers: dict[str, str] = {}
        if self.owner.sessions and message["method"] == "initialize":
            headers["mcp-session-id"] = f"session-{next(self.owner.numbers)}"
            self.owner.known.add(headers["mcp-session-id"])
        if self.owner.sse:
            events = self.owner.before.get(message["method"], b"") + b"event: message\ndata: " + answer + b"\n\n"
            return Raw(body=events, kind="text/event-stream", headers=headers)
        return Raw(body=answer, headers=headers)

    def _to_stream(self, message: Mapping[str, Any]) -> None:
        owner, method = self.owner, str(message.get("method", ""))
        receipt = owner.answer_on.get(method, Raw(202, b"Accepted", "text/plain"))
        if method in owner.early_on | owner.held_on:
            if method in owner.early_on:
                self._put_event(message, 0)
            if self._waits():
                self._send(receipt)
            else:
                owner.hung_up.append(method)
            return
        self._send(receipt)
        if receipt.status >= 300 or receipt.claimed is not None:
            return
        if method in owner.stall_on:
            # In a thread of its own: this one goes on with the next request of its connection.
            threading.Thread(target=self._put_event, args=(message, 30.0), daemon=True).start()
        elif "id" in message:
            self._put_event(message, 0)

    def _put_event(self, message: Mapping[str, Any], seconds: float) -> None:
        owner, stream = self.owner, self.owner.streams[self.path.rpartition("=")[2]]
        owner.go_on.wait(seconds)
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], **owner.result(message)}).encode()
        before = owner.before.get(message["method"], b"")
        stream.put(before + b"event: message\ndata: " + answer + b"\n\n")

    def _send(self, raw: Raw) -> None:
        length = len(raw.body + raw.then) if raw.claimed is None else raw.claimed
        self._head(raw, None if length < 0 else length)
        self._write(raw.body)
        if raw.then:
            if self._waits():
                self._write(raw.then)
            else:
                self.owner.hung_up.append("then")
        if raw.claimed is not None:
            self.close_connection = True

    def _head(self, raw: Raw, length: int | None) -> None:
        self.send_response(raw.status)
        self.send_header("content-type", raw.kind)
        if length is not None:
            self.send_header("content-length", str(length))
        for name, value in raw.headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, body: bytes) -> bool:
        try:
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            return False
        return True
