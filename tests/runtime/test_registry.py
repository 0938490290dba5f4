"""Names in a run: one executor each, none of the platform's, and every other name to the consumer."""

from typing import NoReturn

import pytest

from remit.core.aliases import folded_reserved
from remit.core.call_ports import GrantedTool
from remit.core.remote_ports import OnProgress
from remit.errors import BindingRefused
from remit.runtime.abi import HandOff, Principal, ToolCallEnvelope, ToolResultEnvelope
from remit.runtime.mcp_executor import McpToolExecutor
from remit.runtime.registry import ExecutorRegistry
from remit.runtime.router import Router
from tests.states import attachment, registration, server, whole_change

REMIT = registration(server("github"))


def executor(alias: str) -> McpToolExecutor:
    """An executor under this name; it connects to nothing."""

    def nowhere(tool: GrantedTool) -> NoReturn:
        raise AssertionError("no call is made")

    return McpToolExecutor(
        GrantedTool(attachment=attachment(REMIT, "search", alias=alias), server=REMIT), nowhere, nowhere, whole_change
    )


def call(name: str) -> ToolCallEnvelope:
    """A call as a model emits it."""
    return ToolCallEnvelope(
        name=name,
        arguments="{}",
        run_id="run",
        thread_id=None,
        assistant_id="ops",
        tool_call_id="call",
        principal=Principal("assistant:ops"),
        trace_id="trace",
    )


class Governed:
    """An executor that answers everything alike."""

    async def execute(self, call: ToolCallEnvelope, on_progress: OnProgress | None = None) -> ToolResultEnvelope:
        return ToolResultEnvelope(content="done")


def test_a_bound_name_is_found_exactly_as_it_is_written() -> None:
    registry = ExecutorRegistry(folded_reserved(()))
    bound = executor("github__search")
    registry.bind(bound)

    found = [registry.get(name) for name in ("github__search", "GitHub__search", "github__search ", "search")]

    assert found == [bound, None, None, None]


def test_a_name_of_the_platform_is_refused() -> None:
    registry = ExecutorRegistry(folded_reserved(()))

    with pytest.raises(BindingRefused) as refused:
        registry.bind(executor("Web_Search"))

    assert (refused.value.code, refused.value.place) == ("binding-refused", "Web_Search")
    assert list(registry) == []


def test_an_attachment_keeps_a_name_that_became_reserved_later() -> None:
    registry = ExecutorRegistry(folded_reserved(["github__search"]))
    bound = executor("github__search")

    registry.bind(bound, durable=True)

    assert registry.get("github__search") is bound


def test_two_names_that_differ_by_case_only_collide() -> None:
    registry = ExecutorRegistry(folded_reserved(()))
    registry.bind(executor("github__search"))

    with pytest.raises(BindingRefused, match="is bound already, as 'github__search'"):
        registry.bind(executor("GITHUB__search"))


def test_an_unbound_name_is_free_again() -> None:
    registry = ExecutorRegistry(folded_reserved(()))
    registry.bind(executor("github__search"))
    registry.unbind("github__search")
    registry.unbind("github__search")
    again = executor("GITHUB__search")

    registry.bind(again)

    assert list(registry) == [again]


def test_a_bound_name_goes_to_the_executor_and_every_other_to_the_consumer_untouched() -> None:
    registry, governed = ExecutorRegistry(folded_reserved(())), Governed()
    registry.bind(executor("github__search"))
    router = Router(registry, governed)
    unbound = call("get_weather")

    assert router.route(call("github__search")) is governed
    assert router.route(unbound) == HandOff(unbound)
