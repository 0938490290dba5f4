"""The loop between a model and its tools: ask, carry out what it asks for, give it the results, until it answers.

Decides how often the model is asked, what is carried out at once and what ends a turn. Whether a call may run is not decided
here: the executor is governed, and what it says is passed on.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from remit.core.calls import FailureCode
from remit.core.canonical import JsonObject
from remit.runtime.abi import ToolResultEnvelope
from remit_ops_agent.model import (
    AssistantMessage,
    Message,
    Model,
    SystemMessage,
    TextReply,
    ToolCall,
    ToolMessage,
    UserMessage,
)

__all__ = ["INSTRUCTIONS", "MAX_CALLS_AT_ONCE", "MAX_STEPS", "Ending", "Executor", "Turn", "take_turn"]

MAX_STEPS = 8
"""How many replies of the model one turn may take."""

MAX_CALLS_AT_ONCE = 16
"""How many calls of one reply are carried out; the others are answered with an error."""

INSTRUCTIONS = """\
You are an operations agent. Answer from the results of your tools and from nothing else.
Quote every figure as a tool returned it, rounded at most, with its unit. Do not compute figures of your own, no sums,
differences, ratios or counts: if you need one, let a tool compute it. Write numbers in digits. Say which days you cover."""


class Executor(Protocol):
    """Carries one tool call out. Never raises for what a tool or a connection does; what it raises ends the turn."""

    async def execute(self, name: str, arguments_text: str, tool_call_id: str) -> ToolResultEnvelope:
        """The result of a call, a failed or refused one included. `arguments_text` is what the model wrote."""
        ...


class Ending(StrEnum):
    """Why a turn ended."""

    ANSWERED = "answered"
    WAITS_FOR_APPROVAL = "waits_for_approval"
    TOO_MANY_STEPS = "too_many_steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question with what became of it. `answer` is for the user, `results` are all tool results in order of the calls."""

    question: str
    answer: str
    ending: Ending
    steps: int
    results: tuple[ToolMessage, ...]


async def take_turn(
    model: Model, executor: Executor, tools: Sequence[JsonObject], question: str, max_steps: int = MAX_STEPS
) -> Turn:
    """Answer one question. Raises ModelFailed where the model gives no usable reply."""
    messages: list[Message] = [SystemMessage(text=INSTRUCTIONS), UserMessage(text=question)]
    results: list[ToolMessage] = []

    def ended(answer: str, ending: Ending, steps: int) -> Turn:
        return Turn(question=question, answer=answer, ending=ending, steps=steps, results=tuple(results))

    for step in range(1, max_steps + 1):
        reply = await model.complete(messages, tools)
        if isinstance(reply, TextReply):
            return ended(reply.text, Ending.ANSWERED, step)
        if step == max_steps:
            break
        envelopes = await _carry_out(executor, reply.calls)
        answers = [_told(call, envelope) for call, envelope in zip(reply.calls, envelopes, strict=True)]
        results += answers
        if waiting := _waiting(reply.calls, envelopes):
            return ended(waiting, Ending.WAITS_FOR_APPROVAL, step)
        messages += [AssistantMessage(text=reply.text, calls=reply.calls), *answers]
    return ended(
        f"I stopped after {max_steps} steps without an answer; the calls of the last step were not carried out.",
        Ending.TOO_MANY_STEPS,
        max_steps,
    )


async def _carry_out(executor: Executor, calls: Sequence[ToolCall]) -> list[ToolResultEnvelope]:
    """The results of all calls of one reply, made at the same time, in the order of the calls."""
    try:
        async with asyncio.TaskGroup() as group:
            running = [
                group.create_task(executor.execute(call.name, call.arguments, call.id))
                for call in calls[:MAX_CALLS_AT_ONCE]
            ]
    except ExceptionGroup as errors:
        # Whoever asked for one turn knows what to do with one error.
        raise errors.exceptions[0] from None
    surplus = ToolResultEnvelope(
        content=f"not carried out: at most {MAX_CALLS_AT_ONCE} calls at once; ask again for this one", is_error=True
    )
    return [*(task.result() for task in running), *(surplus for _ in calls[MAX_CALLS_AT_ONCE:])]


def _told(call: ToolCall, envelope: ToolResultEnvelope) -> ToolMessage:
    return ToolMessage(
        call_id=call.id,
        name=call.name,
        text=envelope.content,
        structured=envelope.structured_content,
        is_error=envelope.is_error,
    )


def _waiting(calls: Sequence[ToolCall], envelopes: Sequence[ToolResultEnvelope]) -> str:
    """What the user has to do where calls wait for a person; empty where none does.

    The turn ends here rather than going back to the model: it can do nothing but ask again, which fills the queue.
    """
    lines = [
        f"- {call.name}: {_approval_words(envelope.metadata)}"
        for call, envelope in zip(calls, envelopes, strict=True)
        if envelope.code == FailureCode.APPROVAL_REQUIRED
    ]
    return "\n".join(["I need a person's approval before I can go on:", *lines]) if lines else ""


def _approval_words(metadata: Mapping[str, object]) -> str:
    approval = metadata.get("approval_id")
    if not isinstance(approval, str):
        return "see `remit approvals list`"
    return f"look at it with `remit approvals show {approval}`, allow it with `remit approvals approve {approval}`"
