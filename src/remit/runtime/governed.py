"""`GovernedExecutor`: one call, decided, carried out at most once, bounded and recorded (DESIGN.md section 10).

Decides the order of the steps. What each step means is decided elsewhere: the gate in core/gatekeeper.py, arguments in
remit.runtime.arguments_model, keys and approvals in the journal's transaction, the end of a call in remit.runtime.ending.

Grants may move between reading them and writing the decision; the journal then says so and the call is decided anew.
Nothing leaves `execute` as an exception except the cancellation of the awaiting task.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from remit.core.audit import AuditFact, AuditKind
from remit.core.call_ports import (
    ApprovalRefused,
    ApprovalWaiting,
    Begun,
    CallFacts,
    CallIdUsed,
    CallJournal,
    CallOver,
    CallRefusal,
    GrantedTool,
    GrantsMoved,
    KeyConflict,
    Replayed,
    RunClosed,
    Started,
    StillRunning,
)
from remit.core.calls import ActionState, FailureCode, RunState
from remit.core.canonical import JsonObject
from remit.core.envelope import UnknownArguments
from remit.core.gatekeeper import Allow, AskHuman, ContractSame, ContractUnknown, Decision, Deny, decide
from remit.core.remote_ports import OnProgress
from remit.errors import RemitError, UsageError
from remit.render.escape import well_formed
from remit.runtime.abi import ToolCallEnvelope, ToolResultEnvelope, failure
from remit.runtime.answers import approval_denied, approval_required, never_sent, refusal_of, replayed
from remit.runtime.arguments_model import ArgumentChecks
from remit.runtime.call_form import kept_name
from remit.runtime.carriage import Carriage
from remit.runtime.case import Arguments, Case, Masking, RunIdentity, call_facts, call_seconds, tool_facts
from remit.runtime.durable import durable
from remit.runtime.grant_cache import GrantCache, HeldGrants
from remit.runtime.mcp_executor import McpToolExecutor
from remit.runtime.registry import ExecutorRegistry
from remit.runtime.repeating import NotAgain, changed_terms
from remit.runtime.telemetry import Spans
from remit.runtime.watch import RunWatch

__all__ = ["Governance", "GovernedExecutor"]

_DECISIONS = 5
"""How often one call is decided anew while its grants move; an apply a millisecond would be needed to exceed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """What every governed call of a process shares."""

    grants: GrantCache
    journal: CallJournal
    carriage: Carriage
    watch: RunWatch
    checks: ArgumentChecks
    masked: Masking
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    spans: Spans


class GovernedExecutor:
    """Executes the calls of one run. Implements remit.runtime.abi.ToolExecutor."""

    def __init__(self, run: RunIdentity, registry: ExecutorRegistry, governance: Governance):
        self._run = run
        self._registry = registry
        self._with = governance
        self._logged_drift: set[tuple[str, str]] = set()

    async def execute(self, call: ToolCallEnvelope, on_progress: OnProgress | None = None) -> ToolResultEnvelope:
        """The result of one call; every failure is one, with its stable code."""
        started = time.monotonic()
        executor = self._registry.get(call.name)
        if executor is None or call.run_id != self._run.run_id:
            unbound = f"no tool is bound to {kept_name(call.name)!r} in this run"
            return await self.refused(call, FailureCode.UNKNOWN_TOOL, unbound)
        with self._with.spans.call(call, executor.tool.server.name) as span:
            result = await self._answered(call, self._decided(executor, call, started, on_progress))
            span.ended(result)
        return result

    async def refused(self, call: ToolCallEnvelope, code: FailureCode, message: str) -> ToolResultEnvelope:
        """The failure of a call that is none to decide on, recorded as denied. Never raises, as `execute`."""
        return await self._answered(call, self._unrouted(call, code, message))

    async def _answered(self, call: ToolCallEnvelope, work: Awaitable[ToolResultEnvelope]) -> ToolResultEnvelope:
        try:
            try:
                return await work
            except UsageError as error:
                # The assistant was deleted while its run went on: nothing is granted any more.
                return await self._unrouted(call, FailureCode.UNKNOWN_TOOL, error.message)
        except RemitError as error:
            unrecorded = f"the call cannot be recorded, so it does not go out ({error.code})"
            return self._failed(call, FailureCode.NOT_RECORDED, unrecorded)
        except Exception as error:  # noqa: BLE001 (the promise of this method: a failure is an answer, never an exception)
            defect = f"remit failed in a way it should not ({type(error).__name__})"
            return self._failed(call, FailureCode.INTERNAL_ERROR, defect)

    async def _unrouted(self, call: ToolCallEnvelope, code: FailureCode, message: str) -> ToolResultEnvelope:
        """Nothing is there to decide on, and that is recorded too."""
        await durable(self._with.journal.note(self._denial(call, code, message)))
        return failure(code, message)

    def _failed(self, call: ToolCallEnvelope, code: FailureCode, message: str) -> ToolResultEnvelope:
        """A failure whose event is written if it can be: nobody waits a second time for what just did not work."""
        self._with.journal.note(self._denial(call, code, message))
        return failure(code, message)

    def _denial(self, call: ToolCallEnvelope, code: FailureCode, message: str) -> AuditFact:
        body: JsonObject = {
            "gen_ai.tool.name": kept_name(call.name),
            "gen_ai.tool.call.id": kept_name(call.tool_call_id),
            "remit.outcome": "denied",
            "error.type": code.value,
            "remit.reason": well_formed(message),
        }
        return self._fact(AuditKind.CALL_DENIED, call, body)

    async def _decided(
        self, executor: McpToolExecutor, call: ToolCallEnvelope, started: float, on_progress: OnProgress | None
    ) -> ToolResultEnvelope:
        arguments = Arguments.of(call.arguments)
        for _ in range(_DECISIONS):
            try:
                case = await self._case(executor, call, arguments, started)
            except TimeoutError:
                seconds = call_seconds(executor.tool, call)
                late = f"what is granted could not be read within {seconds:g} s, the limit of the whole call"
                return await self._unrouted(call, FailureCode.TIMEOUT_ABSOLUTE, late)
            result = await self._settled(executor, case, started, on_progress)
            if result is not None:
                return result
            self._with.grants.moved(case.grants)
        return self._failed(call, FailureCode.INTERNAL_ERROR, "the grants of this assistant keep changing; try again")

    # --- deciding -------------------------------------------------------------------------------------------------------

    async def _case(
        self, executor: McpToolExecutor, call: ToolCallEnvelope, arguments: Arguments, started: float
    ) -> Case:
        held = self._with.grants.held(self._run.assistant)
        grants = held or await self._with.grants.of(self._run.assistant, _left(executor, call, started))

        def facts() -> CallFacts:
            action_id, at, tool = self._with.new_id(), self._with.clock(), grants.tool(executor.tool) or executor.tool
            return call_facts(self._run, call, tool, grants, arguments, self._with.masked, action_id=action_id, at=at)

        with self._with.watch.watching(self._run.run_id) as watched:
            try:
                if (granted := grants.tool(executor.tool)) is None or executor.known(granted) is None:
                    # The first look at a server opens a connection or starts a program: not for what is suspended by now.
                    grants = await self._with.grants.newest(self._run.assistant, _left(executor, call, started))
                decision, session = await self._gate(executor, call, arguments, grants, started)
            except asyncio.CancelledError:
                if not watched.only_by_run():
                    # Submitted and not waited for, so that nothing can interrupt it again.
                    self._with.journal.refuse(_given_up(facts()))
                    raise
                decision, session = Deny(FailureCode.RUN_OVER, "the run was cancelled; nothing goes out any more"), None
        tool = grants.tool(executor.tool) or executor.tool
        return Case(
            call=call, arguments=arguments, grants=grants, tool=tool, decision=decision, facts=facts(), session=session
        )

    async def _gate(
        self,
        executor: McpToolExecutor,
        call: ToolCallEnvelope,
        arguments: Arguments,
        grants: HeldGrants,
        started: float,
    ) -> tuple[Decision, int | None]:
        tool = grants.tool(executor.tool)
        if tool is None:
            return Deny(FailureCode.UNKNOWN_TOOL, "this tool is no longer attached to the assistant"), None
        objection = self._objection(arguments, tool)
        # A call that is refused anyway asks the server nothing, not even for its listing.
        first = decide(tool_facts(tool, grants, call.principal, ContractSame(), objection))
        if isinstance(first, Deny):
            return first, None
        remaining = started + call_seconds(tool, call) - time.monotonic()
        seconds = max(0.0, min(tool.server.connection.start_timeout_seconds, remaining))
        live = await executor.contract(tool, timeout=seconds, trace_id=call.trace_id)
        contract = executor.compared(tool, live)
        if isinstance(contract, ContractSame):
            return first, live.session
        # No session has the contract that nobody could read: an open tool goes out on whichever there is.
        session = None if isinstance(contract, ContractUnknown) else live.session
        return decide(tool_facts(tool, grants, call.principal, contract, objection)), session

    def _objection(self, arguments: Arguments, tool: GrantedTool) -> str | None:
        if arguments.objection is not None:
            return arguments.objection
        attachment = tool.attachment
        passes = attachment.envelope.unknown_arguments is UnknownArguments.PASS
        return self._with.checks.objection(attachment.definition, arguments.value, allow_unknown=passes)

    # --- settling -------------------------------------------------------------------------------------------------------

    async def _settled(
        self, executor: McpToolExecutor, case: Case, started: float, on_progress: OnProgress | None
    ) -> ToolResultEnvelope | None:
        """The result, or None where the grants moved and the call is to be decided anew."""
        match case.decision:
            case Deny(code=code, message=message):
                return await self._refused(case, code, message)
            case Allow(drift=drift):
                if drift:
                    self._log_drift(case, sorted(drift))
                begun = await self._begin(case, needs_approval=False)
            case AskHuman():
                begun = await self._begin(case, needs_approval=True)
            case _:
                assert_never(case.decision)
        if isinstance(begun, Started):
            return await self._with.carriage.carry(
                executor,
                case,
                started=started,
                again=lambda: self._again(executor, case, started),
                on_progress=on_progress,
            )
        return await self._not_started(case, begun)

    async def _again(self, executor: McpToolExecutor, case: Case, started: float) -> Case | NotAgain:
        """The case as it is decided now, let out once more by the journal; or why it is not."""
        try:
            for _ in range(_DECISIONS):
                fresh = await self._decided_again(executor, case, started)
                allowed = fresh if isinstance(fresh, NotAgain) else await self._let_out(fresh)
                if allowed is not None:
                    return allowed
        except TimeoutError:
            return NotAgain("the time of the call was over before it could be decided anew")
        except UsageError as error:
            return NotAgain(error.message, FailureCode.UNKNOWN_TOOL)
        except RemitError as error:
            return NotAgain(f"it could not be decided anew ({error.code})")
        return NotAgain("the grants of this assistant keep changing")

    async def _let_out(self, fresh: Case) -> Case | NotAgain | None:
        """What the journal says to a second send; None where the grants moved and it is to be decided anew."""
        match await durable(self._with.journal.again(fresh.facts)):
            case Started():
                return fresh
            case GrantsMoved():
                self._with.grants.moved(fresh.grants)
                return None
            case RunClosed(state=state):
                return await self._run_closed(state)
            case CallOver(why=why):
                return NotAgain(why)

    async def _decided_again(self, executor: McpToolExecutor, case: Case, started: float) -> Case | NotAgain:
        grants = await self._with.grants.newest(self._run.assistant, _left(executor, case.call, started))
        tool = grants.tool(executor.tool)
        if tool is None:
            return NotAgain("this tool is no longer attached to the assistant", FailureCode.UNKNOWN_TOOL)
        call, arguments, facts = case.call, case.arguments, case.facts
        facts = call_facts(
            self._run, call, tool, grants, arguments, self._with.masked, action_id=facts.action_id, at=facts.at
        )
        now = decide(tool_facts(tool, grants, call.principal, ContractSame(), self._objection(arguments, tool)))
        fresh = replace(case, grants=grants, tool=tool, facts=facts, decision=now)
        # Before the server is asked anything: its address may be one that this call was never let out to.
        changed = None if isinstance(now, Deny) else changed_terms(case, fresh)
        if changed is not None:
            return changed
        decision, session = await self._gate(executor, call, arguments, grants, started)
        if isinstance(decision, Deny):
            effects = tool.attachment.envelope.side_effecting
            return NotAgain(decision.message, decision.code, side_effecting=effects)
        return replace(fresh, decision=decision, session=session)

    async def _run_closed(self, state: RunState) -> NotAgain:
        if state is RunState.CANCELLED:
            # What the next poll would do: this very task is under way for the run, and is cancelled where it waits next.
            self._with.watch.cancelled(self._run.run_id)
            await asyncio.sleep(0)
        return NotAgain(f"the run is {state.value}; nothing goes out any more", FailureCode.RUN_OVER)

    async def _not_started(
        self,
        case: Case,
        begun: Replayed
        | KeyConflict
        | StillRunning
        | CallIdUsed
        | ApprovalWaiting
        | ApprovalRefused
        | GrantsMoved
        | RunClosed,
    ) -> ToolResultEnvelope | None:
        match begun:
            case GrantsMoved():
                return None
            case Replayed(outcome=outcome):
                facts: JsonObject = {"remit.action_id": outcome.action_id, "remit.state": outcome.state.value}
                self._note(AuditKind.CALL_REPLAYED, case, facts)
                return replayed(outcome)
            case KeyConflict() | StillRunning() | CallIdUsed() | RunClosed():
                return await self._refused(case, *refusal_of(begun))
            case ApprovalWaiting():
                return approval_required(begun)
            case ApprovalRefused():
                return approval_denied(begun)
            case _:
                assert_never(begun)

    async def _refused(self, case: Case, code: FailureCode, message: str) -> ToolResultEnvelope | None:
        refusal = CallRefusal(facts=case.facts, code=code, message=message)
        return failure(code, message) if await durable(self._with.journal.refuse(refusal)) else None

    async def _begin(self, case: Case, *, needs_approval: bool) -> Begun:
        intent = case.intent(needs_approval=needs_approval, approval_id=self._with.new_id() if needs_approval else "")
        future = self._with.journal.begin(intent)
        try:
            return await durable(future)
        except BaseException:
            # Whoever gave up waiting must not leave an intent behind that looks like a call under way.
            future.add_done_callback(lambda done: self._abandon(case, done))
            raise

    def _abandon(self, case: Case, future: "Future[Begun]") -> None:
        if future.exception() is None and isinstance(future.result(), Started):
            self._with.journal.end(never_sent(case, self._with.clock()))

    def _log_drift(self, case: Case, classes: list[str]) -> None:
        # Once a run and definition: an open tool may be called a thousand times while it is drifted.
        key = (case.facts.provider_name, case.facts.definition_digest)
        if key not in self._logged_drift:
            self._logged_drift.add(key)
            self._note(AuditKind.CONTRACT_DRIFT, case, {"remit.drift": classes})

    def _note(self, kind: AuditKind, case: Case, body: JsonObject) -> None:
        facts = case.facts
        names: JsonObject = {
            "gen_ai.tool.name": facts.provider_name,
            "gen_ai.tool.call.id": facts.tool_call_id,
            "remit.server": facts.server,
            "remit.remote_name": facts.remote_name,
        }
        self._with.journal.note(self._fact(kind, case.call, {**names, **body}))

    def _fact(self, kind: AuditKind, call: ToolCallEnvelope, body: JsonObject) -> AuditFact:
        return AuditFact(kind=kind, at=self._with.clock(), actor=call.principal.name, trace_id=call.trace_id, body=body)


def _left(executor: McpToolExecutor, call: ToolCallEnvelope, started: float) -> float:
    """What is left of the limit of a call, by what was granted when its run began: the newer limit is yet to be read."""
    return max(0.0, started + call_seconds(executor.tool, call) - time.monotonic())


def _given_up(facts: CallFacts) -> CallRefusal:
    return CallRefusal(
        facts=facts,
        code=FailureCode.CANCELLED,
        message="the caller cancelled the call before it was decided",
        state=ActionState.CANCELLED,
    )
