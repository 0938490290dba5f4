"""What audit events hold: the names of OpenTelemetry where it has one, digests for arguments unless a policy asks for values."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from remit.core.calls import ActionState, CallOutcome, FailureCode, ToolOutcome, TransportOutcome
from tests.store.calls import SECONDS, Site, a_call, ended, intent, refusal, site


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def body(here: Site, kind: str) -> dict[str, object]:
    (found,) = (json.loads(event.body) for event in here.governance.audit.audit_events() if event.kind == kind)
    return found


def test_an_intent_says_who_calls_what_under_which_grant_and_holds_no_argument(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here, thread_id="thread-1")
        journal.begin(intent(facts, key="operation-7")).result(SECONDS)
        assert body(here, "call_intent") == {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "github__search",
            "gen_ai.tool.call.id": facts.tool_call_id,
            "gen_ai.conversation.id": "thread-1",
            "mcp.method.name": "tools/call",
            "remit.action_id": facts.action_id,
            "remit.run_id": "r1",
            "remit.owner": "local",
            "remit.assistant": "triage",
            "remit.principal": "assistant:triage",
            "remit.server": "github",
            "remit.server_id": "mcp_github",
            "remit.remote_name": "search",
            "remit.definition_digest": "d1:x",
            "remit.envelope_digest": "e1:x",
            "remit.arguments_digest": "a1:x",
            "remit.revision": facts.stamp.revision,
            "remit.side_effecting": True,
            "remit.reversible": False,
            "remit.idempotency_key": "operation-7",
        }


def test_arguments_are_in_the_audit_only_where_they_are_given_to_it(here: Site) -> None:
    with here.journal("r1") as journal:
        journal.begin(intent(a_call(here, arguments_text='{"q":"bugs"}'))).result(SECONDS)
        assert body(here, "call_intent")["gen_ai.tool.call.arguments"] == '{"q":"bugs"}'


def test_an_outcome_keeps_transport_protocol_and_tool_apart(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        failed = ended(
            facts,
            ActionState.FAILED,
            outcome=CallOutcome.ERROR,
            code=FailureCode.RPC_ERROR,
            rpc_code=-32602,
            tool=ToolOutcome.NONE,
            renewed=True,
            attempts=2,
        )
        journal.end(failed).result(SECONDS)
        assert body(here, "call_outcome") == {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "github__search",
            "gen_ai.tool.call.id": facts.tool_call_id,
            "mcp.protocol.version": "2026-07-28",
            "rpc.response.status_code": "-32602",
            "error.type": "rpc_error",
            "remit.action_id": facts.action_id,
            "remit.run_id": "r1",
            "remit.assistant": "triage",
            "remit.principal": "assistant:triage",
            "remit.revision": facts.stamp.revision,
            "remit.server": "github",
            "remit.remote_name": "search",
            "remit.state": "failed",
            "remit.outcome": "error",
            "remit.transport": "answered",
            "remit.tool": "none",
            "remit.duration_ms": 12.5,
            "remit.attempts": 2,
            "remit.session_renewed": True,
            "remit.result_digest": "r1:x",
        }


@pytest.mark.parametrize(
    ("other", "names"),
    [
        pytest.param({"tool": ToolOutcome.ERROR}, {"error.type": "tool_error"}, id="the-tool-said-so"),
        pytest.param({}, {}, id="nothing-failed"),
        pytest.param(
            {"code": FailureCode.SERVER_GONE, "transport": TransportOutcome.LOST, "protocol_version": None},
            {"error.type": "server_gone"},
            id="the-connection-broke",
        ),
    ],
)
def test_the_kind_of_an_error_is_named_once(here: Site, other: dict[str, object], names: dict[str, object]) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        journal.end(replace(ended(facts), **other)).result(SECONDS)
        found = body(here, "call_outcome")
        assert {name: value for name, value in found.items() if name == "error.type"} == names
        assert "rpc.response.status_code" not in found


def test_a_refusal_says_why_in_a_word_and_in_words(here: Site) -> None:
    with here.journal("r1") as journal:
        journal.refuse(refusal(a_call(here))).result(SECONDS)
        found = body(here, "call_denied")
        assert [found[name] for name in ("remit.outcome", "error.type", "remit.reason")] == [
            "denied",
            "suspended",
            "server.github is suspended by an operator",
        ]


def test_a_protocol_version_that_holds_anything_does_not_cost_the_outcome(here: Site) -> None:
    with here.journal("r1") as journal:
        facts = a_call(here)
        journal.begin(intent(facts)).result(SECONDS)
        assert journal.end(ended(facts, protocol_version="\ud800\0")).result(SECONDS) is True
        assert body(here, "call_outcome")["mcp.protocol.version"] == "?\0"
