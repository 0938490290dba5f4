"""Approval of calls through the whole runtime (reference: security.md section 7): what a person's yes lets through."""

import asyncio
from collections.abc import Callable, Generator, Mapping

import pytest

from remit.core.approvals import ApprovalState
from remit.core.calls import ActionState
from remit.core.governance import Suspension, SuspensionTarget
from remit.runtime.abi import ToolResultEnvelope
from tests.runtime.live import ASK, ECHO, OWNER, Live, applied, ran, result_of

ARGUMENTS = '{"q": "a", "n": 1}'


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Live]:
    """One workspace whose tools a person must approve."""
    with applied(tmp_path_factory.mktemp("approvals"), tools=[ECHO, {**ECHO, "name": "other"}], envelope=ASK) as made:
        yield made


@pytest.fixture
def live(shared: Live) -> Live:
    """The workspace with nothing called and nothing waiting."""
    shared.forget()
    desk, at = shared.governance.approvals, shared.now()
    for state, end in ((ApprovalState.PENDING, ApprovalState.DENIED), (ApprovalState.APPROVED, ApprovalState.REVOKED)):
        for each in desk.approvals(OWNER, states=[state]):
            desk.decide_approval(OWNER, each.approval_id, end, approver="user:ana", reason=None, at=at)
    return shared


OTHERS: Mapping[str, tuple[str, str, str | None]] = {
    "a space more": ("http__echo", '{"q": "a ", "n": 1}', None),
    "another number": ("http__echo", '{"q": "a", "n": 1.0}', None),
    "one argument less": ("http__echo", '{"q": "a"}', None),
    "another tool": ("http__other", ARGUMENTS, None),
    "another server": ("stdio__echo", ARGUMENTS, None),
    "another principal": ("http__echo", ARGUMENTS, "user:eve"),
}


def test_a_yes_is_for_these_very_arguments_of_this_tool_for_this_caller_and_for_one_call(live: Live) -> None:
    async def work() -> tuple[list[ToolResultEnvelope], list[ToolResultEnvelope]]:
        async with live.runtime() as runtime:

            async def called(name: str, text: str, principal: str | None = None) -> ToolResultEnvelope:
                async with runtime.run("ops", principal=principal) as run:
                    return result_of(await run.call(name, text))

            first = await called("http__echo", ARGUMENTS)
            live.approve(first)
            others = [first, *[await called(*other) for other in OTHERS.values()]]
            # The order of the members and the space between them are no part of the arguments.
            return others, [await called("http__echo", text) for text in ('{"n":1,"q":"a"}', ARGUMENTS)]

    asked, (used, again) = ran(work())
    assert [result.code for result in asked] == ["approval_required"] * (1 + len(OTHERS))
    assert len({str(result.metadata["approval_id"]) for result in asked}) == 1 + len(OTHERS)
    assert (used.code, again.code) == (None, "approval_required")
    assert ([call["arguments"] for call in live.calls("http")], live.calls("stdio")) == ([{"q": "a", "n": 1}], [])


def test_the_same_tool_call_asks_waits_and_runs_under_one_id_and_never_twice(live: Live) -> None:
    async def work() -> tuple[list[ToolResultEnvelope], list[tuple[ActionState, str | None]], list[str]]:
        async with live.runtime() as runtime, runtime.run("ops") as run:

            async def called() -> ToolResultEnvelope:
                return result_of(await run.call("http__echo", '{"q": "same id"}', tool_call_id="c1"))

            results = [await called(), await called()]
            live.approve(results[0])
            results += [await called(), await called()]
            actions = [(action.state, action.code) for action in live.actions(run)]
            return results, actions, [kind for kind, _ in live.audit(run)]

    results, actions, kinds = ran(work())
    assert [result.code for result in results] == ["approval_required"] * 2 + [None, "idempotency_conflict"]
    assert results[0].metadata["approval_id"] == results[1].metadata["approval_id"]
    assert (actions, len(live.calls("http"))) == ([(ActionState.COMPLETED, None)], 1)
    assert kinds == [
        "approval_requested",
        "call_denied",
        "call_denied",
        "call_intent",
        "call_outcome",
        "call_denied",
    ]


def test_of_twenty_who_race_for_one_yes_one_call_goes_out(live: Live) -> None:
    async def work() -> list[str | None]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            live.approve(result_of(await run.call("http__echo", '{"q": "race"}')))
            answers = await asyncio.gather(*(run.call("http__echo", '{"q": "race"}') for _ in range(20)))
            return [result_of(answer).code for answer in answers]

    codes = ran(work())
    assert (codes.count(None), codes.count("approval_required"), len(live.calls("http"))) == (1, 19, 1)


def test_a_no_is_told_with_its_reason_and_asking_again_changes_nothing(live: Live) -> None:
    async def work() -> list[ToolResultEnvelope]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            asked = result_of(await run.call("http__echo", '{"q": "no"}'))
            live.governance.approvals.decide_approval(
                OWNER,
                str(asked.metadata["approval_id"]),
                ApprovalState.DENIED,
                approver="user:ana",
                reason="not on a Friday",
                at=live.now(),
            )
            return [result_of(await run.call("http__echo", '{"q": "no"}')) for _ in range(2)]

    results = ran(work())
    assert {(result.code, "not on a Friday" in result.content) for result in results} == {("approval_denied", True)}
    assert live.calls("http") == []


def suspended(live: Live) -> str:
    target = SuspensionTarget(assistant="ops")
    live.governance.suspensions.suspend(
        OWNER, Suspension(target=target, address="assistant.ops", actor="user:ana", at=live.now(), reason=None)
    )
    return "suspended"


def drifted(live: Live) -> str:
    live.http.tools = [{**ECHO, "inputSchema": {"type": "object", "additionalProperties": True}}]
    return "definition_drifted"


@pytest.mark.parametrize("change", [suspended, drifted], ids=["suspended", "drifted"])
def test_what_changes_between_the_yes_and_the_call_counts_and_uses_nothing_up(
    live: Live, change: Callable[[Live], str]
) -> None:
    text, before = '{"q": "changed meanwhile"}', live.http.tools

    async def work() -> tuple[str, str | None, str | None]:
        async with live.runtime() as runtime, runtime.run("ops") as run:
            live.approve(result_of(await run.call("http__echo", text)))
        code = change(live)
        async with live.runtime() as runtime, runtime.run("ops") as run:
            refused = result_of(await run.call("http__echo", text)).code
        live.governance.suspensions.resume(OWNER, SuspensionTarget(assistant="ops"), actor="user:ana", at=live.now())
        live.http.tools = before
        async with live.runtime() as runtime, runtime.run("ops") as run:
            return code, refused, result_of(await run.call("http__echo", text)).code

    code, refused, after = ran(work())
    assert (refused, after, len(live.calls("http"))) == (code, None, 1)
