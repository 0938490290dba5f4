"""Spans: the names that other tools look for, and nothing of what was asked or answered."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from remit.core.calls import FailureCode
from remit.runtime.abi import Principal, ToolCallEnvelope, ToolResultEnvelope, failure
from remit.runtime.telemetry import NoSpans, OpenTelemetrySpans, spans_of_host

CALL = ToolCallEnvelope(
    name="github__search",
    arguments='{"q": "planted-argument"}',
    run_id="run-1",
    thread_id=None,
    assistant_id="ops",
    tool_call_id="call-1",
    principal=Principal("assistant:ops"),
    trace_id="trace-1",
)


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    """The one tracer provider that a process can have."""
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def exported(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    """What the host would export."""
    exporter = InMemorySpanExporter()
    processor = SimpleSpanProcessor(exporter)
    provider.add_span_processor(processor)
    yield exporter
    processor.shutdown()


def test_a_call_is_one_span_with_the_names_of_the_conventions(exported: InMemorySpanExporter) -> None:
    with OpenTelemetrySpans().call(CALL, "github") as span:
        span.ended(ToolResultEnvelope(content="planted-result"))

    (found,) = exported.get_finished_spans()
    assert (found.name, found.kind, dict(found.attributes or {})) == (
        "tools/call github__search",
        trace.SpanKind.CLIENT,
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "github__search",
            "gen_ai.tool.call.id": "call-1",
            "gen_ai.tool.type": "function",
            "mcp.method.name": "tools/call",
            "remit.server": "github",
            "remit.assistant": "ops",
            "remit.principal": "assistant:ops",
            "remit.run_id": "run-1",
            "remit.trace_id": "trace-1",
        },
    )
    assert "planted" not in found.to_json()


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (failure(FailureCode.PERMISSION_DENIED, "no"), "permission_denied"),
        (ToolResultEnvelope(content="db refused", is_error=True), "tool_error"),
    ],
)
def test_a_failed_call_says_why_by_code(exported: InMemorySpanExporter, result: ToolResultEnvelope, kind: str) -> None:
    with OpenTelemetrySpans().call(CALL, "github") as span:
        span.ended(result)

    (found,) = exported.get_finished_spans()
    assert (dict(found.attributes or {})["error.type"], found.status.status_code, found.status.description) == (
        kind,
        trace.StatusCode.ERROR,
        kind,
    )


def test_inside_a_span_of_the_host_the_trace_is_the_hosts(exported: InMemorySpanExporter) -> None:
    spans = OpenTelemetrySpans()

    with trace.get_tracer("host").start_as_current_span("turn") as turn:
        inside = spans.trace_id()

    assert inside == format(turn.get_span_context().trace_id, "032x")
    assert spans.trace_id() is None


def test_a_host_with_an_sdk_gets_spans() -> None:
    assert isinstance(spans_of_host(), OpenTelemetrySpans)


def test_no_spans_take_a_call_and_keep_nothing() -> None:
    with NoSpans().call(CALL, "github") as span:
        span.ended(ToolResultEnvelope(content=""))

    assert NoSpans().trace_id() is None
