"""A stdio MCP server whose tools change while it runs: standard library only.

The argument is `@FILE` with a JSON object of options, read again whenever the file changes (write it by rename):

    era        "legacy" (default) or "modern"
    tools      the tools to list
    announce   whether it announces tools.listChanged (default: true)
    push       how many times it says that the tools changed whenever the file changes (default: 1)
    honours    false: it acknowledges a subscription without delivering anything on it
    listens    false: it does not know subscriptions/listen; "never": it does not answer it
    ends       true: subscription streams end as soon as they were acknowledged
    error      tools/list is answered with this text as an error
    silent     true: tools/list is not answered
    hang_up    true: subscription streams end when the file changes, after the pushes
    pids       file that gets a line with the process number at each start
    listed     file that gets a line for each tools/list
    methods    file that gets a line for each message
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

VERSION = "2026-07-28"
_CACHE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


class Server:
    """One process. `streams` are the ids of the subscriptions that are open."""

    def __init__(self, path: Path):
        self.path = path
        self.seen = self.stamp()
        self.options: dict[str, Any] = json.loads(path.read_text("utf-8"))
        self.streams: list[Any] = []
        self.lock = threading.Lock()

    def stamp(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_ino, found.st_mtime_ns

    def run(self) -> None:
        self.note("pids", str(os.getpid()))
        threading.Thread(target=self.follow, daemon=True).start()
        for line in sys.stdin:
            message = json.loads(line)
            self.note("methods", message["method"])
            if "id" in message:
                self.answer(message)

    def follow(self) -> None:
        while True:
            if (stamp := self.stamp()) != self.seen:
                self.seen = stamp
                self.options = json.loads(self.path.read_text("utf-8"))
                self.push()
            time.sleep(0.01)

    def push(self) -> None:
        word = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        words = [word] if self.options.get("era") != "modern" else [_on_stream(word, each) for each in self.streams]
        self.send(*(words * self.options.get("push", 1)))
        if self.options.get("hang_up"):
            self.send(*({"jsonrpc": "2.0", "id": each, "result": {"resultType": "complete"}} for each in self.streams))
            self.streams.clear()

    def answer(self, message: dict[str, Any]) -> None:
        method, number = message["method"], message["id"]
        if method == "subscriptions/listen" and self.options.get("listens", True):
            if self.options.get("listens") == "never":
                return
            delivered = {"toolsListChanged": True} if self.options.get("honours", True) else {}
            word = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}
            self.streams.append(number)
            self.send(_on_stream(word, number, notifications=delivered))
            if self.options.get("ends"):
                self.streams.remove(number)
                self.send({"jsonrpc": "2.0", "id": number, "result": {"resultType": "complete"}})
            return
        if method == "tools/list" and self.options.get("silent"):
            self.note("listed", "asked")
            return
        if method == "tools/list" and "error" in self.options:
            self.send({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": self.options["error"]}})
            return
        self.send({"jsonrpc": "2.0", "id": number, **self.outcome(method, message.get("params") or {})})

    def outcome(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        modern = self.options.get("era") == "modern"
        capabilities = {"tools": {"listChanged": True} if self.options.get("announce", True) else {}}
        if method == "server/discover" and modern:
            return {"result": {"supportedVersions": [VERSION], **_CACHE, "capabilities": capabilities}}
        if method == "initialize" and not modern:
            about = {"name": "changing", "version": "1.0"}
            version = params["protocolVersion"]
            return {"result": {"protocolVersion": version, "serverInfo": about, "capabilities": capabilities}}
        if method == "tools/list":
            self.note("listed", "listed")
            return {"result": {"tools": self.options.get("tools", []), **_CACHE}}
        if method == "tools/call":
            return {"result": {"content": [{"type": "text", "text": "done"}], **_CACHE}}
        return {"error": {"code": -32601, "message": f"unknown method {method}"}}

    def send(self, *messages: dict[str, Any]) -> None:
        with self.lock:
            sys.stdout.write("".join(json.dumps(message) + "\n" for message in messages))
            sys.stdout.flush()

    def note(self, option: str, line: str) -> None:
        if option in self.options:
            with Path(self.options[option]).open("a", encoding="utf-8") as handle:
                handle.write(line + "\n")


def _on_stream(word: dict[str, Any], stream: Any, **params: Any) -> dict[str, Any]:
    return {**word, "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": stream}, **params}}


if __name__ == "__main__":
    Server(Path(sys.argv[1][1:])).run()
