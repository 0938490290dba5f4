"""A workspace with a stdio and an HTTP server of ours, applied and ready for governed calls.

    with applied(tmp_path) as live:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            await run.call("stdio__echo", '{"q": "x"}')
        live.calls("stdio")

What the servers keep is counted from after the apply. Leaving it fails where a process of the stdio server is left.
"""

import asyncio
import json
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from remit import Runtime
from remit.app import host_of
from remit.core.approvals import ApprovalState
from remit.core.audit_review import body_of
from remit.core.governance import ActionRow
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.runtime.run import Run
from remit.runtime.runtime import GovernedRuntime
from remit.store.governance import Governance
from tests.cli.workspace import Workspace, clean_environment
from tests.servers.http_server import HttpServer
from tests.upstream.support import alive

__all__ = ["ASK", "ECHO", "EFFECT", "OWNER", "READ", "Event", "Live", "applied", "ran", "result_of", "said"]

Result = TypeVar("Result")
Event = tuple[str, Mapping[str, Any]]
"""An audit event: its kind and what it holds."""

OWNER = "acme"
SECONDS = 60

ECHO: Mapping[str, Any] = {
    "name": "echo",
    "description": "Give back what comes.",
    "inputSchema": {
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "number"}, "padding": {"type": "integer"}},
    },
}
READ: Mapping[str, Any] = {"surface": "locked", "side_effecting": False}
EFFECT: Mapping[str, Any] = {"surface": "locked", "side_effecting": True}
ASK: Mapping[str, Any] = {"surface": "human_controlled", "side_effecting": True}
"""Policies for a server."""


@dataclass(frozen=True, slots=True)
class Live:
    """The workspace; its servers are called `stdio` and `http`."""

    here: Workspace
    http: HttpServer

    @property
    def config(self) -> Path:
        """The file that was applied."""
        return self.here.folder / "mcp.yaml"

    @property
    def database(self) -> Path:
        """The database beside it."""
        return self.here.folder / ".remit" / "remit.db"

    @property
    def governance(self) -> Governance:
        """What people look at and decide with."""
        return host_of(clean_environment()).database(self.here.folder).governance()

    def now(self) -> datetime:
        """The time, as the runtime reads it."""
        return host_of(clean_environment()).clock()

    def runtime(self, **environ: str) -> AbstractAsyncContextManager[GovernedRuntime]:
        """The governed runtime over it."""
        return Runtime.open(self.config, host=host_of(clean_environment() | environ))

    def messages(self, server: str) -> Sequence[Mapping[str, Any]]:
        """Every JSON-RPC message that reached a server, in order."""
        if server == "http":
            return [seen.message for seen in self.http.seen if seen.verb == "POST"]
        return [json.loads(line) for line in self.lines("log")]

    def calls(self, server: str) -> Sequence[Mapping[str, Any]]:
        """The params of every tools/call that reached a server."""
        return [message["params"] for message in self.messages(server) if message.get("method") == "tools/call"]

    def untouched(self) -> bool:
        """Whether nobody connected to a server or started one."""
        return not self.http.seen and not self.lines("pids")

    def lines(self, file: str) -> Sequence[str]:
        """What the stdio server wrote: `log` (messages as they came) or `pids` (its starts)."""
        path = self.here.folder / file
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def forget(self) -> None:
        """Count from here on."""
        self.http.seen.clear()
        for file in ("log", "pids"):
            (self.here.folder / file).unlink(missing_ok=True)

    def stdio(self, **options: Any) -> None:
        """How the stdio server behaves from its next start on."""
        logs = {"log": str(self.here.folder / "log"), "pids": str(self.here.folder / "pids")}
        self.here.serve("stdio", **({"tools": self.http.tools} | logs | options))

    def called(self, *calls: tuple[str, str], **environ: str) -> tuple[list[ToolResultEnvelope], Run]:
        """The results of calls (name and arguments), one after the other in one run of `ops`, and the run."""

        async def work() -> tuple[list[ToolResultEnvelope], Run]:
            async with self.runtime(**environ) as runtime, runtime.run("ops") as run:
                return [result_of(await run.call(name, text)) for name, text in calls], run

        return ran(work())

    def audit(self, run: Run) -> Sequence[Event]:
        """The audit events of a run's trace without those of the run itself, in order."""
        found = self.governance.audit.audit_events(trace_id=run.trace_id)
        return [(event.kind, body_of(event)) for event in found if not event.kind.startswith("run_")]

    def actions(self, run: Run) -> Sequence[ActionRow]:
        """The recorded calls of a run, in order."""
        row = self.governance.runs.run(OWNER, run.run_id)
        assert row is not None
        return row.actions

    def approve(self, answer: ToolResultEnvelope, *, approver: str = "user:ana") -> None:
        """Let a person approve what a result says is waiting."""
        approval_id = str(answer.metadata["approval_id"])
        decided = self.governance.approvals.decide_approval(
            OWNER, approval_id, ApprovalState.APPROVED, approver=approver, reason=None, at=self.now()
        )
        assert decided is not None
        assert decided.changed

    def kept(self) -> bytes:
        """Every byte of the database and of what SQLite keeps beside it."""
        return b"".join(path.read_bytes() for path in sorted(self.database.parent.glob("remit.db*")))


@contextmanager
def applied(
    folder: Path,
    *,
    tools: Sequence[Mapping[str, Any]] = (ECHO,),
    envelope: Mapping[str, Any] = READ,
    stdio: Mapping[str, Any] | None = None,
    http: Mapping[str, Any] | None = None,
    entries: Mapping[str, Mapping[str, Any]] | None = None,
    assistants: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    more: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Generator[Live]:
    """Both servers with these tools, under one policy, and assistants that have them (all, for `ops`, unless told).

    `stdio` and `http` are options of the servers, `entries` more for the entry of each in the file, `more` for the file,
    `assistants` maps name, server and tools that are included, `environ` is for the apply.
    """
    here, names = Workspace(folder), [str(tool["name"]) for tool in tools]
    options: dict[str, Any] = {"era": "modern", "tools": tools} | dict(http or {})
    with HttpServer(**options) as server:
        live = Live(here, server)
        live.stdio(**(stdio or {}))
        wanted = assistants or {"ops": {"stdio": names, "http": names}}
        here.write(_file(server.url, envelope, entries or {}, wanted, more or {}))
        ended = here.apply(**(environ or {}))
        assert ended.code == 0, ended.out + ended.err
        started = [*live.lines("pids")]
        live.forget()
        yield live
        started += live.lines("pids")
    assert [pid for pid in started if alive(int(pid))] == []


def _file(
    url: str,
    envelope: Mapping[str, Any],
    entries: Mapping[str, Mapping[str, Any]],
    assistants: Mapping[str, Mapping[str, Sequence[str]]],
    more: Mapping[str, Any],
) -> str:
    ours: Mapping[str, Mapping[str, Any]] = {"stdio": {"command": "{server:stdio}"}, "http": {"url": url}}
    servers = [{"name": name, "envelope": envelope, **where, **entries.get(name, {})} for name, where in ours.items()]
    document = {
        "version": 1,
        "workspace": "live",
        "owner": OWNER,
        **more,
        "mcp": {"servers": servers},
        "assistants": [
            {"name": name, "tools": [{"server": server, "include": list(wanted)} for server, wanted in tools.items()]}
            for name, tools in assistants.items()
        ],
    }
    # JSON is YAML; the place of the command gets a list.
    return json.dumps(document, indent=1).replace('"{server:stdio}"', "{server:stdio}")


def ran(work: Coroutine[Any, Any, Result], seconds: float = SECONDS) -> Result:
    """What the work comes to; a test that hangs fails."""

    async def bounded() -> Result:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(bounded())


def result_of(answer: ToolResultEnvelope | HandOff) -> ToolResultEnvelope:
    """The result of a call that was not handed over."""
    assert not isinstance(answer, HandOff), answer
    return answer


def said(result: ToolResultEnvelope) -> Mapping[str, Any]:
    """What the stdio server's tools say of a call: its arguments, and the process."""
    return cast("Mapping[str, Any]", result.structured_content)
