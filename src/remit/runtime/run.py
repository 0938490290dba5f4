"""One run of an assistant: its tools as they were bound at its start, its calls, and its one end.

Decides what a run does with a call (execute, or hand over to the consumer and wait for its output) and how the run's state
follows from it. The recorded state is the authority: a run that another process cancelled takes no further call.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from remit.core.arguments import is_too_large
from remit.core.call_ports import RunLedger
from remit.core.calls import FailureCode, RunState
from remit.core.canonical import JsonObject
from remit.core.gatekeeper import ContractSame, Deny, decide
from remit.core.remote_ports import OnProgress
from remit.errors import RemitError, UsageError
from remit.runtime.abi import HandOff, Principal, ToolCallEnvelope, ToolResultEnvelope, failure
from remit.runtime.call_form import flaw_of_call, flaw_of_output, kept_name
from remit.runtime.case import Arguments, RunIdentity, tool_facts, unbound_facts
from remit.runtime.governed import Governance, GovernedExecutor
from remit.runtime.grant_cache import HeldGrants
from remit.runtime.mcp_executor import McpToolExecutor
from remit.runtime.registry import ExecutorRegistry
from remit.runtime.router import Router
from remit.runtime.watch import RunWatch

__all__ = ["Run", "RunParts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """What a run works with beside the governance of its process."""

    ledger: RunLedger
    watch: RunWatch
    clock: Callable[[], datetime]
    new_id: Callable[[], str]


class Run:
    """Made by `Runtime.run`. Safe for concurrent calls of one event loop."""

    def __init__(
        self,
        identity: RunIdentity,
        principal: Principal,
        registry: ExecutorRegistry,
        governance: Governance,
        parts: RunParts,
    ):
        self._identity = identity
        self._principal = principal
        self._registry = registry
        self._grants = governance.grants
        self._parts = parts
        self._loop = asyncio.get_running_loop()
        self._executor = GovernedExecutor(identity, registry, governance)
        self._router = Router(registry, self._executor)

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._identity.run_id

    @property
    def trace_id(self) -> str:
        """The id of the trace that holds everything this run causes."""
        return self._identity.trace_id

    async def tools(self) -> list[JsonObject]:
        """The functions that the model may see: bound, and not refused by the gate. Approved texts, whatever a server says.

        Asks no server: a tool whose contract nobody has looked at yet is shown, and checked when it is called.
        """
        grants = await self._grants.newest(self._identity.assistant)
        shown = (executor for executor in self._registry if self._why_hidden(executor, grants) is None)
        texts = (executor.tool.attachment.function_text for executor in shown)
        return [json.loads(text) for text in texts if text is not None]

    async def withheld(self) -> dict[str, FailureCode]:
        """The tools that are bound and not shown, with the code that a call would get: no list is empty without a reason."""
        grants = await self._grants.newest(self._identity.assistant)
        codes = ((executor.provider_name, self._why_hidden(executor, grants)) for executor in self._registry)
        return {name: code for name, code in codes if code is not None}

    def _why_hidden(self, executor: McpToolExecutor, grants: HeldGrants) -> FailureCode | None:
        tool = grants.tool(executor.tool)
        if tool is None:
            return FailureCode.UNKNOWN_TOOL
        known = executor.known(tool)
        contract = ContractSame() if known is None else executor.compared(tool, known)
        decision = decide(tool_facts(tool, grants, self._principal, contract, None))
        if isinstance(decision, Deny) and decision.code is not FailureCode.CONTRACT_UNKNOWN:
            return decision.code
        return None

    async def call(
        self,
        name: str,
        arguments: str | JsonObject,
        *,
        tool_call_id: str | None = None,
        idempotency_key: str | None = None,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolResultEnvelope | HandOff:
        """Call a tool by the name the model knows; `arguments` are best given as the JSON text that the model wrote.

        A name that is not bound comes back as HandOff, and the run waits for `submit_output`. Every failure is a result;
        raises UsageError only in another event loop than the run's, where no answer could arrive.
        """
        self._require_own_loop()
        flaw = flaw_of_call(
            name=name, tool_call_id=tool_call_id, idempotency_key=idempotency_key, timeout_seconds=timeout_seconds
        )
        if flaw is not None:
            nameless = self._envelope(kept_name(name), "{}", kept_name(tool_call_id or ""))
            return await self._executor.refused(nameless, FailureCode.INVALID_ARGUMENTS, flaw)
        envelope = self._envelope(
            name, arguments, tool_call_id or self._parts.new_id(), key=idempotency_key, seconds=timeout_seconds
        )
        routed = self._router.route(envelope)
        if isinstance(routed, HandOff):
            return await self._hand_off(routed)
        return await routed.execute(envelope, on_progress)

    def _require_own_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise UsageError(
                "this run belongs to another event loop; nothing was sent",
                code="other-event-loop",
                place=f"run {self.run_id}",
                hint="open a runtime in each event loop that makes calls, or hand the call to the loop of this one",
            )

    def _envelope(
        self,
        name: str,
        arguments: str | JsonObject,
        tool_call_id: str,
        *,
        key: str | None = None,
        seconds: float | None = None,
    ) -> ToolCallEnvelope:
        return ToolCallEnvelope(
            name=name,
            arguments=arguments,
            run_id=self.run_id,
            thread_id=self._identity.thread_id,
            assistant_id=self._identity.assistant,
            tool_call_id=tool_call_id,
            principal=self._principal,
            trace_id=self.trace_id,
            idempotency_key=key,
            timeout_seconds=seconds,
        )

    async def _hand_off(self, hand_off: HandOff) -> ToolResultEnvelope | HandOff:
        call = hand_off.call
        arguments = Arguments.of(call.arguments)
        text = call.arguments if isinstance(call.arguments, str) else arguments.text
        # Text goes on untouched, whatever it is, but no more of it than remit would take itself; an object must be JSON.
        unkept = is_too_large(text) if isinstance(call.arguments, str) else True
        if arguments.objection is not None and unkept:
            return await self._executor.refused(call, FailureCode.INVALID_ARGUMENTS, arguments.objection)
        try:
            grants = await self._grants.of(self._identity.assistant)
            facts = unbound_facts(
                self._identity, call, arguments, grants.stamp, action_id=self._parts.new_id(), at=self._parts.clock()
            )
            kept = await asyncio.to_thread(self._parts.ledger.hand_off, facts, text)
        except RemitError as error:
            if error.code == "action-exists":
                used = "this run has another call with this tool_call_id; give every call an id of its own"
                return failure(FailureCode.IDEMPOTENCY_CONFLICT, used)
            return failure(
                FailureCode.NOT_RECORDED, f"the call cannot be recorded, so it is not handed over ({error.code})"
            )
        return hand_off if kept else failure(FailureCode.RUN_OVER, "the run is over; nothing is handed over")

    async def submit_output(self, tool_call_id: str, output: str, *, is_error: bool = False) -> None:
        """Keep what the consumer's own tool gave.

        Raises UsageError for an output that cannot be kept, and where no call of this id waits for one.
        """
        flaw = flaw_of_output(output)
        if flaw is not None:
            raise UsageError(
                flaw, code="output-invalid", place=f"run {self.run_id}", hint="shorten it; the call still waits"
            )
        at = self._parts.clock()
        take = self._parts.ledger.take_output
        taken = await asyncio.to_thread(take, self.run_id, tool_call_id, output, is_error=is_error, at=at)
        if not taken:
            raise UsageError(
                f"no call {tool_call_id!r} of this run waits for an output",
                code="no-waiting-call",
                place=f"run {self.run_id}",
                hint="`remit runs show` lists the calls of a run with their states",
            )

    async def state(self) -> RunState:
        """The recorded state. Raises StoreError."""
        states = await asyncio.to_thread(self._parts.ledger.run_states, [self.run_id])
        return states[self.run_id]

    async def cancel(self) -> RunState:
        """Cancel the run and the calls that are under way, here and on their servers. Gives the state it then has.

        Raises UsageError in another event loop than the run's, StoreError.
        """
        self._require_own_loop()
        state = await self.move(RunState.CANCELLED)
        if state is RunState.CANCELLED:
            self._parts.watch.cancelled(self.run_id)
        return state

    async def move(self, state: RunState) -> RunState:
        """Move the run where its states allow it, and give the state it then has. Raises StoreError."""
        move, at = self._parts.ledger.move_run, self._parts.clock()
        return await asyncio.to_thread(move, self.run_id, state, actor=self._principal.name, at=at)
