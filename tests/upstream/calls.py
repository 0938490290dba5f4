"""What the tests of governed calls share: connections with everything they need, registrations, calls, bounded waits."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from remit.core.desired import Connection
from remit.core.identity import Endpoint, HttpEndpoint, ServerId, StdioEndpoint
from remit.core.live import Listed
from remit.core.recorded import RecordedServer
from remit.core.remote_ports import RemoteAnswer, RemoteCall, RemoteContract, RemoteFault, RemoteResult
from remit.upstream.calling import McpConnections
from tests.upstream.support import SERVERS, KeptEvents, surroundings


@asynccontextmanager
async def connections(
    *,
    sink: KeptEvents | None = None,
    links: list[tuple[str, str]] | None = None,
    environ: Mapping[str, str] | None = None,
    base_dir: Path | None = None,
    pauses: Sequence[float] = (0.0,),
) -> AsyncGenerator[McpConnections]:
    """Connections that are closed at the end, whatever happens."""
    told = [] if links is None else links
    made = McpConnections(
        surroundings(sink or KeptEvents(), environ, base_dir),
        link=lambda trace_id, connection_id: told.append((trace_id, connection_id)),
        pauses=pauses,
    )
    try:
        yield made
    finally:
        await made.close()


def recorded(endpoint: Endpoint | str, *, server_id: str = "server-1", **connection: Any) -> RecordedServer:
    """A registration of a server of ours, called `it`."""
    settled: dict[str, Any] = {"start_timeout_seconds": 10.0, "timeout_seconds": 5.0} | connection
    return RecordedServer(
        server_id=ServerId(server_id),
        owner="us",
        workspace="tests",
        name="it",
        namespace="it",
        endpoint=HttpEndpoint(endpoint) if isinstance(endpoint, str) else endpoint,
        connection=Connection(**settled),
    )


def server_from(path: Path, **options: Any) -> StdioEndpoint:
    """A stdio server of ours whose options can be changed between two starts, by asking for it again."""
    path.write_text(json.dumps(options), "utf-8")
    return StdioEndpoint(("{python}", str(SERVERS / "raw_stdio.py"), f"@{path}"))


def a_call(**arguments: Any) -> RemoteCall:
    """A call of `echo` with limits that a test on a busy machine does not meet."""
    return limited(10.0, 20.0, **arguments)


def limited(idle: float, total: float, **arguments: Any) -> RemoteCall:
    """A call of `echo` with these limits."""
    return RemoteCall(
        remote_name="echo",
        arguments=arguments,
        input_schema={"type": "object"},
        trace_id="trace-call",
        idle_seconds=idle,
        total_seconds=total,
    )


async def contract_of(connection: Any, *, max_age: float = 60.0, trace_id: str = "trace-contract") -> RemoteContract:
    """The contract, within ten seconds."""
    return cast("RemoteContract", await connection.contract(max_age=max_age, timeout=10.0, trace_id=trace_id))


def tools_of(contract: RemoteContract) -> list[str]:
    """The names of the tools of a contract that was had."""
    assert isinstance(contract.live, Listed), contract
    return [tool.remote_name for tool in contract.live.tools]


def said(answer: RemoteAnswer) -> dict[str, Any]:
    """What our servers' `echo` says of a call: its arguments, and the process."""
    assert isinstance(answer, RemoteResult), answer
    return cast("dict[str, Any]", answer.result["structuredContent"])


def fault(answer: RemoteAnswer) -> tuple[str, str]:
    """Code and delivery of a fault."""
    assert isinstance(answer, RemoteFault), answer
    return answer.code.value, answer.delivery.value


async def until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until something outside of this loop holds; fails after `seconds`."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 (another process or thread makes it so)
            await asyncio.sleep(0.01)


def lines(path: Path) -> list[str]:
    """The lines that a server wrote so far."""
    return path.read_text("utf-8").split() if path.exists() else []


__all__ = [
    "a_call", "connections", "contract_of", "fault", "limited", "lines", "recorded", "said", "server_from", "tools_of", "until",
]  # fmt: skip
