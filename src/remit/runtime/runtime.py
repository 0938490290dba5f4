"""`Runtime`: the governed runtime of one process, put together from its ports.

Decides the life of a run: its bindings are composed from the durable attachments when it starts and end with it, and it
ends `completed`, `failed` or `cancelled` with the block that used it. Everything else is the parts' own.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from remit.core.aliases import folded_reserved
from remit.core.call_ports import CallJournal, GrantedTool, GrantSource, NewRun, RunLedger
from remit.core.calls import RunState
from remit.core.ports import DefinitionDiff
from remit.core.remote_ports import (
    Connections,
    RemoteAnswer,
    RemoteContract,
    RemoteError,
    RemoteFault,
    RemoteResult,
    ServerConnection,
)
from remit.errors import UsageError
from remit.runtime.abi import Principal, ToolResultEnvelope
from remit.runtime.arguments_model import ArgumentChecks, SchemaCompiler
from remit.runtime.call_form import flaw_of_name
from remit.runtime.carriage import Carriage
from remit.runtime.case import Case, RunIdentity
from remit.runtime.governed import Governance
from remit.runtime.grant_cache import GrantCache
from remit.runtime.mcp_executor import McpToolExecutor
from remit.runtime.registry import ExecutorRegistry
from remit.runtime.results import adapt_error, adapt_fault, adapt_result
from remit.runtime.run import Run, RunParts
from remit.runtime.telemetry import NoSpans, Spans
from remit.runtime.upkeep import UPKEEP_SECONDS, Upkeep
from remit.runtime.watch import POLL_SECONDS, RunWatch

__all__ = ["GovernedRuntime", "RuntimePorts"]

_THREADS = 1
"""Threads that read grants and states of runs, beside those of the program: each is 64 MB of address space for its heap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePorts:
    """What the runtime stands on; app.py binds them. `reserved_names` extend the platform's own.

    `sweep` drops a part of what is kept no longer and says whether more is due; None where nobody knows what that is.
    """

    owner: str
    grants: GrantSource
    ledger: RunLedger
    journal: CallJournal
    connections: Connections
    compile: SchemaCompiler
    diff: DefinitionDiff
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    reserved_names: Iterable[str] = ()
    poll_seconds: float = POLL_SECONDS
    sweep: Callable[[], bool] | None = None
    upkeep_seconds: float = UPKEEP_SECONDS
    spans: Spans = field(default_factory=NoSpans)


class GovernedRuntime:
    """Runs of one owner's assistants. For one event loop, the running one; `close` it when it is done."""

    def __init__(self, ports: RuntimePorts):
        self._ports = ports
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="remit-runtime")
        self._watch = RunWatch(ports.ledger.run_states, self._threads, poll_seconds=ports.poll_seconds)
        self._upkeep = None if ports.sweep is None else Upkeep(ports.sweep, every_seconds=ports.upkeep_seconds)
        self._grants = GrantCache(ports.grants, ports.owner, self._threads)
        self._governance = Governance(
            grants=self._grants,
            journal=ports.journal,
            watch=self._watch,
            carriage=Carriage(journal=ports.journal, watch=self._watch, adapt=self._adapted, clock=ports.clock),
            checks=ArgumentChecks(ports.compile),
            masked=ports.connections.masked,
            clock=ports.clock,
            new_id=ports.new_id,
            spans=ports.spans,
        )

    @property
    def caches(self) -> GrantCache:
        """What an apply in this process invalidates."""
        return self._grants

    @asynccontextmanager
    async def run(
        self,
        assistant: str,
        *,
        principal: str | None = None,
        permissions: Iterable[str] | None = None,
        thread_id: str | None = None,
    ) -> AsyncGenerator[Run]:
        """A run of an assistant, in progress from here to the end of the block.

        `principal` is who calls (the assistant itself where none is given), `permissions` narrow what the assistant holds.
        Raises UsageError for an unknown assistant and for a caller without a name that can be recorded, StoreError. The run
        ends `completed`, `failed` where the block raises, `cancelled` where it is cancelled; one that waits for its consumer
        stays in `requires_action`.
        """
        run = await self._started(assistant, principal, permissions, thread_id)
        try:
            yield run
        except asyncio.CancelledError:
            await asyncio.shield(run.cancel())
            raise
        except BaseException:
            await run.move(RunState.FAILED)
            raise
        if await run.state() is not RunState.REQUIRES_ACTION:
            await run.move(RunState.COMPLETED)

    async def close(self) -> None:
        """End connections, child processes and the journal; bounded."""
        self._governance.carriage.close()
        await self._watch.close()
        await self._ports.connections.close()
        if self._upkeep is not None:
            await self._upkeep.close()
        await asyncio.to_thread(self._ports.journal.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _started(
        self, assistant: str, principal: str | None, permissions: Iterable[str] | None, thread_id: str | None
    ) -> Run:
        ports = self._ports
        _require_named(principal, thread_id)
        held = await self._grants.newest(assistant)
        registry = ExecutorRegistry(folded_reserved(ports.reserved_names))
        for tool in held.grants.tools:
            registry.bind(McpToolExecutor(tool, self._connection_of, self._known_of, ports.diff), durable=True)
        caller = Principal(
            f"assistant:{assistant}" if principal is None else principal,
            None if permissions is None else frozenset(permissions),
        )
        identity = RunIdentity(
            run_id=ports.new_id(),
            thread_id=thread_id,
            trace_id=ports.spans.trace_id() or ports.new_id(),
            owner=ports.owner,
            assistant=assistant,
        )
        new = NewRun(
            run_id=identity.run_id,
            owner=identity.owner,
            assistant=assistant,
            principal=caller.name,
            thread_id=thread_id,
            trace_id=identity.trace_id,
            at=ports.clock(),
        )
        await asyncio.to_thread(ports.ledger.start_run, new)
        parts = RunParts(ledger=ports.ledger, watch=self._watch, clock=ports.clock, new_id=ports.new_id)
        return Run(identity, caller, registry, self._governance, parts)

    def _adapted(self, answer: RemoteAnswer, case: Case) -> ToolResultEnvelope:
        match answer:
            case RemoteResult():
                return adapt_result(answer, case.tool.attachment.definition, self._ports.compile)
            case RemoteError():
                return adapt_error(answer)
            case RemoteFault():
                return adapt_fault(answer)
            case _:
                assert_never(answer)

    def _connection_of(self, tool: GrantedTool) -> ServerConnection:
        return self._ports.connections.of(tool.server)

    def _known_of(self, tool: GrantedTool) -> RemoteContract | None:
        return self._ports.connections.known(tool.server)


def _require_named(principal: str | None, thread_id: str | None) -> None:
    """Refuse a caller that has no name: it would be taken for the assistant itself, which may hold more."""
    for what, text in {"principal": principal, "thread id": thread_id}.items():
        flaw = None if text is None else flaw_of_name(what, text)
        if flaw is not None:
            raise UsageError(flaw, code="caller-invalid", place="run", hint="name who calls, or leave it out: None")
