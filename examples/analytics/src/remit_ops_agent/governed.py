"""The agent's tools: the calls of one governed run.

Decides only what becomes of a call that the run hands over. A consumer with tools of its own would carry it out; this one
has none, so it answers as such a consumer does: an error for the model, posted to the run, which then goes on.
"""

from dataclasses import dataclass
from typing import Protocol

from remit.core.calls import FailureCode
from remit.runtime.abi import HandOff, ToolResultEnvelope, failure

__all__ = ["GovernedRun", "RunExecutor"]


class GovernedRun(Protocol):
    """What is used of remit's Run."""

    async def call(self, name: str, arguments: str, *, tool_call_id: str | None = None) -> ToolResultEnvelope | HandOff:
        """One governed call, or the call itself where no tool of the run has this name."""
        ...

    async def submit_output(self, tool_call_id: str, output: str, *, is_error: bool = False) -> None:
        """What the consumer's own tool gave for a call that was handed over."""
        ...


@dataclass(frozen=True, slots=True)
class RunExecutor:
    """Carries calls out in a run. Never raises for what a tool or a connection does."""

    run: GovernedRun

    async def execute(self, name: str, arguments_text: str, tool_call_id: str) -> ToolResultEnvelope:
        """The result of a call; a name that nobody knows is an error for the model to read."""
        result = await self.run.call(name, arguments_text, tool_call_id=tool_call_id)
        if isinstance(result, ToolResultEnvelope):
            return result
        unknown = failure(
            FailureCode.UNKNOWN_TOOL, "there is no tool of this name; use only the tools that you were given"
        )
        await self.run.submit_output(tool_call_id, unknown.content, is_error=True)
        return unknown
