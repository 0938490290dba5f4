"""Carrying a call out once its intent is durable: under its deadline, watched for a cancelled run, its end kept.

Decides how often a call is sent (at most twice, the second time only where `ending.is_worth_repeating` says that it cannot
have had an effect) and that whatever happens in between, the action gets exactly one end.
"""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from remit.core.audit import AuditFact, AuditKind
from remit.core.call_ports import CallEnd, CallJournal
from remit.core.calls import FailureCode
from remit.core.canonical import JsonObject, sha256_hex
from remit.core.remote_ports import Delivery, OnProgress, RemoteAnswer, RemoteFault, RemoteResult
from remit.errors import StoreError
from remit.runtime.abi import ToolResultEnvelope
from remit.runtime.case import Case, call_seconds
from remit.runtime.durable import durable
from remit.runtime.ending import Ending, cancelled_ending, ending_of, failed_ending, is_worth_repeating
from remit.runtime.mcp_executor import Limits, McpToolExecutor
from remit.runtime.repeating import Again, NotAgain, not_sent_again
from remit.runtime.watch import RunWatch

__all__ = ["Adaptation", "Carriage"]

_MOST_SENT = 2
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class Adaptation(Protocol):
    """Gives an answer the shape of the ABI."""

    def __call__(self, answer: RemoteAnswer, case: Case) -> ToolResultEnvelope:
        """The result that an answer comes to."""
        ...


@dataclass(slots=True)
class _Sent:
    """What happened on the way, kept also where the way was cut short."""

    side_effecting: bool
    attempts: int = 0
    renewed: bool = False
    protocol_version: str | None = None


class Carriage:
    """Carries calls out for one process. For one event loop."""

    def __init__(self, *, journal: CallJournal, watch: RunWatch, adapt: Adaptation, clock: Callable[[], datetime]):
        self._journal = journal
        self._watch = watch
        self._adapt = adapt
        self._clock = clock
        self._closing = False

    def close(self) -> None:
        """Send nothing a second time from here on: the connections are about to end."""
        self._closing = True

    async def carry(
        self, executor: McpToolExecutor, case: Case, *, started: float, again: Again, on_progress: OnProgress | None
    ) -> ToolResultEnvelope:
        """The result of a call whose intent is durable; `started` is when it was asked for, on the monotonic clock."""
        sent = _Sent(case.tool.attachment.envelope.side_effecting)
        by_run = False
        try:
            with self._watch.watching(case.facts.run_id) as watched:
                try:
                    answer = await self._send(executor, case, sent, started, again, on_progress)
                except asyncio.CancelledError:
                    by_run = watched.only_by_run()
                    raise
            ending = ending_of(answer, self._adapt(answer, case), side_effecting=sent.side_effecting)
        except asyncio.CancelledError:
            why = "the run was cancelled" if by_run else "the caller cancelled the call"
            ending = cancelled_ending(why, sent=sent.attempts > 0, side_effecting=sent.side_effecting)
            # Submitted before anything can interrupt again: the journal keeps it whoever waits for it.
            kept = self._journal.end(self._end_of(case, ending, sent, started))
            if not by_run:
                raise
            with suppress(StoreError):
                await durable(kept)
            return ending.result
        except Exception as error:  # noqa: BLE001 (a defect here must not leave an action without an end)
            broken = f"remit failed while the call was under way ({type(error).__name__})"
            ending = failed_ending(
                FailureCode.INTERNAL_ERROR, broken, sent=sent.attempts > 0, side_effecting=sent.side_effecting
            )
        return await self._ended(case, ending, sent, started)

    async def _send(
        self,
        executor: McpToolExecutor,
        case: Case,
        sent: _Sent,
        started: float,
        again: Again,
        on_progress: OnProgress | None,
    ) -> RemoteAnswer:
        deadline = started + call_seconds(case.tool, case.call)
        while True:
            answer = await self._send_once(executor, case, sent, deadline, on_progress)
            if sent.attempts >= _MOST_SENT or not is_worth_repeating(answer, side_effecting=sent.side_effecting):
                return _with_limit_named(answer, case)
            assert isinstance(answer, RemoteFault)  # noqa: S101 (nothing else is worth repeating)
            sent.renewed = sent.renewed or answer.session_lost
            allowed = await again()
            if self._closing:
                allowed = NotAgain("remit is closing")
            if isinstance(allowed, NotAgain):
                sent.side_effecting = sent.side_effecting or allowed.side_effecting
                return not_sent_again(answer, allowed)
            # What is recorded now is what goes out; only the time was counted from the beginning.
            case, deadline = allowed, min(deadline, started + call_seconds(allowed.tool, case.call))

    async def _send_once(
        self, executor: McpToolExecutor, case: Case, sent: _Sent, deadline: float, on_progress: OnProgress | None
    ) -> RemoteAnswer:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return _too_late(case)
        sent.attempts += 1
        answer = await executor.carry(
            case.tool,
            case.arguments.value,
            Limits(case.tool.server.connection.timeout_seconds, remaining),
            trace_id=case.facts.trace_id,
            session=case.session,
            on_progress=on_progress,
            full_record=case.facts.record_output,
        )
        if isinstance(answer, RemoteResult):
            sent.renewed, sent.protocol_version = sent.renewed or answer.renewed, answer.protocol_version
        return answer

    async def _ended(self, case: Case, ending: Ending, sent: _Sent, started: float) -> ToolResultEnvelope:
        if sent.renewed:
            self._note_renewal(case)
        try:
            ours = await durable(self._journal.end(self._end_of(case, ending, sent, started)))
        except StoreError as error:
            return _with_note(ending.result, not_recorded=f"the outcome could not be recorded ({error.code})")
        if not ours:
            return _with_note(ending.result, not_recorded="the call was declared unknown before its answer came")
        return ending.result

    def _note_renewal(self, case: Case) -> None:
        facts = case.facts
        self._journal.note(
            AuditFact(
                kind=AuditKind.SESSION_RENEWED,
                at=self._clock(),
                actor=facts.principal,
                trace_id=facts.trace_id,
                body={"remit.server": facts.server, "remit.server_id": facts.server_id},
            )
        )

    def _end_of(self, case: Case, ending: Ending, sent: _Sent, started: float) -> CallEnd:
        facts, document = case.facts, ending.result.document()
        silent = ending.outcome.value == "cancelled"
        return CallEnd(
            action_id=facts.action_id,
            run_id=facts.run_id,
            at=self._clock(),
            state=ending.state,
            outcome=ending.outcome,
            code=ending.code,
            transport=ending.transport,
            rpc_code=ending.rpc_code,
            tool=ending.tool,
            duration_ms=round((time.monotonic() - started) * 1000, 3),
            attempts=sent.attempts,
            renewed=sent.renewed,
            protocol_version=sent.protocol_version,
            result=None if case.call.idempotency_key is None or silent else document,
            output=ending.result.content if facts.record_output and not silent else None,
            result_digest=None if silent else _digest(document),
        )


def _too_late(case: Case) -> RemoteFault:
    seconds = call_seconds(case.tool, case.call)
    message = f"{case.facts.server}: the time of this call ({seconds:g} s) was over before it could be sent"
    return RemoteFault(code=FailureCode.TIMEOUT_ABSOLUTE, message=message, delivery=Delivery.NOT_SENT)


def _with_limit_named(answer: RemoteAnswer, case: Case) -> RemoteAnswer:
    """A limit in the words of who set it: the connection knows only what was left of it when the call went out."""
    if not isinstance(answer, RemoteFault) or answer.code is not FailureCode.TIMEOUT_ABSOLUTE:
        return answer
    where = f"server {case.facts.server!r}, tool {case.facts.remote_name!r}"
    limit = f"no answer within {call_seconds(case.tool, case.call):g} s, the limit of the whole call"
    return replace(answer, message=f"{where}: {limit}")


def _with_note(result: ToolResultEnvelope, **notes: str) -> ToolResultEnvelope:
    return replace(result, metadata={**result.metadata, **notes})


def _digest(document: JsonObject) -> str | None:
    # Not canonical JSON: a result may hold what has none (lone surrogates), and its digest must not fail the call.
    try:
        return "r1:" + sha256_hex(_ENCODER.encode(document))
    except (ValueError, TypeError, RecursionError):
        return None
