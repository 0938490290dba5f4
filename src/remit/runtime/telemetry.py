"""OpenTelemetry: one span and one duration for each governed call, under the GenAI and MCP attribute names.

Decides names and attributes (conventions of the GenAI working group, status Development); arguments and results are never
among them. Exporting is the host's: without a configured OpenTelemetry SDK nothing is made and its library is not loaded.
Where the host has a span open, the run's trace id is its trace id, so that audit, protocol trace and spans meet.
"""

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from remit.runtime.abi import ToolCallEnvelope, ToolResultEnvelope

if TYPE_CHECKING:
    from opentelemetry.trace import Span

__all__ = ["CallSpan", "NoSpans", "OpenTelemetrySpans", "Spans", "spans_of_host"]

_SDK = "opentelemetry.sdk"


class CallSpan(Protocol):
    """The span of one call."""

    def ended(self, result: ToolResultEnvelope) -> None:
        """Keep how the call ended."""
        ...


class Spans(Protocol):
    """Where spans go."""

    def trace_id(self) -> str | None:
        """The 32 hex characters of the trace that the host is in; None outside of one."""
        ...

    def call(self, call: ToolCallEnvelope, server: str) -> AbstractContextManager[CallSpan]:
        """A span around one call to a tool of a server."""
        ...


class _NoSpan:
    def ended(self, result: ToolResultEnvelope) -> None:
        """Nothing to keep."""


class NoSpans:
    """No telemetry."""

    _SPAN = nullcontext(_NoSpan())

    def trace_id(self) -> str | None:
        """There is no trace of the host's."""
        return None

    def call(self, call: ToolCallEnvelope, server: str) -> AbstractContextManager[CallSpan]:
        """No span."""
        return self._SPAN


class _Span:
    def __init__(self, span: "Span"):
        self._span = span

    def ended(self, result: ToolResultEnvelope) -> None:
        """Say what failed, by code: the tool's own error is `tool_error`."""
        if not result.is_error:
            return
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 (loaded only where the host uses it)

        kind = result.code or "tool_error"
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR, kind)


class OpenTelemetrySpans:
    """Spans through the host's tracer provider."""

    def __init__(self) -> None:
        from opentelemetry import trace  # noqa: PLC0415 (loaded only where the host uses it)

        self._trace = trace
        self._tracer = trace.get_tracer("remit")

    def trace_id(self) -> str | None:
        """The host's trace, where a span of it is open."""
        context = self._trace.get_current_span().get_span_context()
        return format(context.trace_id, "032x") if context.is_valid else None

    @contextmanager
    def call(self, call: ToolCallEnvelope, server: str) -> Generator[CallSpan]:
        """A client span named `tools/call NAME`."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.tool_call_id,
            "gen_ai.tool.type": "function",
            "mcp.method.name": "tools/call",
            "remit.server": server,
            "remit.assistant": call.assistant_id,
            "remit.principal": call.principal.name,
            "remit.run_id": call.run_id,
            "remit.trace_id": call.trace_id,
        }
        kind = self._trace.SpanKind.CLIENT
        with self._tracer.start_as_current_span(f"tools/call {call.name}", kind=kind, attributes=attributes) as span:
            yield _Span(span)


def spans_of_host() -> Spans:
    """Spans where this process has loaded an OpenTelemetry SDK, none otherwise."""
    return OpenTelemetrySpans() if _SDK in sys.modules else NoSpans()
