"""What is refused of a call before it is decided on, and that no call leaves the audit trail without a trace of it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from remit.core.arguments import MAX_TEXT_BYTES
from remit.core.governance import Suspension, SuspensionTarget
from remit.errors import UsageError
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.runtime.call_form import MAX_NAME, flaw_of_call, kept_name
from tests.faults.between import Between, between
from tests.states import OWNER

LONG = "x" * (MAX_NAME + 1)

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a name of bytes": ({"name": b"x"}, "the name of the tool must be a text, not bytes"),
    "no name": ({"name": None}, "the name of the tool must be a text, not NoneType"),
    "a long name": ({"name": LONG}, f"the name of the tool has more than {MAX_NAME} characters"),
    "half a pair in the name": ({"name": "x\ud800"}, "the name of the tool holds half of a surrogate pair"),
    "a number as id": ({"tool_call_id": 7}, "the tool_call_id must be a text, not int"),
    "a long id": ({"tool_call_id": LONG}, f"the tool_call_id has more than {MAX_NAME} characters"),
    "half a pair in the id": ({"tool_call_id": "\ud800"}, "the tool_call_id holds half of a surrogate pair"),
    "NUL in the id": ({"tool_call_id": "a\0b"}, "the tool_call_id holds a NUL character"),
    "a number as key": ({"idempotency_key": 5}, "the idempotency key must be a text, not int"),
    "an empty key": ({"idempotency_key": ""}, "the idempotency key is empty"),
    "a long key": ({"idempotency_key": LONG}, f"the idempotency key has more than {MAX_NAME} characters"),
    "NUL in the key": ({"idempotency_key": "a\0b"}, "the idempotency key holds a NUL character"),
    "a text as limit": ({"timeout_seconds": "5"}, "timeout_seconds must be a number, not str"),
    "NaN as limit": ({"timeout_seconds": float("nan")}, "timeout_seconds must be a number"),
}
FINE: dict[str, Any] = {
    "name": "bank__pay",
    "tool_call_id": None,
    "idempotency_key": None,
    "timeout_seconds": None,
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_call_that_cannot_be_recorded_as_it_is_has_a_flaw(what: str) -> None:
    given, flaw = REFUSED[what]
    assert flaw_of_call(**FINE | given) == flaw


def test_names_and_keys_up_to_their_limit_in_any_script_are_fine() -> None:
    most = "\u00fc" * MAX_NAME
    given = {"name": most, "tool_call_id": most, "idempotency_key": most, "timeout_seconds": 0.5}
    assert [flaw_of_call(**FINE), flaw_of_call(**FINE | {"name": "", "tool_call_id": ""}), flaw_of_call(**given)] == [
        None
    ] * 3


@pytest.mark.parametrize(
    ("text", "kept"),
    [("bank__pay", "bank__pay"), (LONG, "x" * MAX_NAME + "..."), ("a\0\ud800", "a\\0\\ud800"), (b"x", "<bytes>")],
)
def test_of_a_refused_name_only_so_much_is_kept_as_any_database_holds(text: object, kept: str) -> None:
    assert kept_name(text) == kept


@pytest.fixture
def at(tmp_path: Path) -> Between:
    return between(tmp_path)


def answers(at: Between, *calls: dict[str, Any]) -> list[ToolResultEnvelope | HandOff]:
    """What calls of one run come to."""

    async def work() -> list[ToolResultEnvelope | HandOff]:
        async with at.opened() as run:
            usual: dict[str, Any] = {"name": "bank__pay", "arguments": '{"n": 1}'}
            return [await run.call(**usual | each) for each in calls]

    return asyncio.run(work())


@pytest.mark.parametrize("text", ["", LONG, "\ud800", "a\0b", 5])
@pytest.mark.parametrize("what", ["principal", "thread_id"])
def test_a_run_is_started_for_nobody_without_a_name(what: str, text: Any, at: Between) -> None:
    async def work() -> None:
        async with at.opened():
            assert at.runtime is not None
            named: dict[str, Any] = {what: text}
            async with at.runtime.run("ops", **named):
                pass

    with pytest.raises(UsageError) as caught:
        asyncio.run(work())
    assert (caught.value.code, len(at.events("run_started"))) == ("caller-invalid", 1)


@pytest.mark.parametrize("what", ["call", "cancel"])
def test_a_run_is_of_no_use_in_another_event_loop_and_nothing_goes_out_there(what: str, at: Between) -> None:
    async def work() -> tuple[UsageError, ToolResultEnvelope | HandOff]:
        async with at.opened() as run:

            async def elsewhere() -> None:
                await (run.call("bank__pay", '{"n": 1}') if what == "call" else run.cancel())

            def of_its_own() -> None:
                asyncio.run(asyncio.wait_for(elsewhere(), 3))

            with pytest.raises(UsageError) as caught:
                await asyncio.to_thread(of_its_own)
            assert at.sent == []
            return caught.value, await run.call("bank__pay", '{"n": 1}')

    error, result = asyncio.run(work())
    assert isinstance(result, ToolResultEnvelope)
    assert (error.code, result.content) == ("other-event-loop", "ok")


def reasons(at: Between) -> list[tuple[Any, Any]]:
    return [(each["error.type"], each["remit.reason"]) for each in at.events("call_denied")]


def test_every_call_that_is_refused_for_its_form_is_in_the_trail_and_none_goes_out(tmp_path: Path) -> None:
    at = between(tmp_path)

    given = answers(at, *(more for more, _ in REFUSED.values()))

    assert [isinstance(each, ToolResultEnvelope) and each.code for each in given] == ["invalid_arguments"] * len(
        REFUSED
    )
    assert reasons(at) == [("invalid_arguments", flaw) for _, flaw in REFUSED.values()]
    assert max(len(str(each)) for each in at.events("call_denied")) < 1_000
    assert at.sent == []


def test_a_number_too_large_for_a_float_is_in_the_trail_as_a_refused_call(tmp_path: Path) -> None:
    at = between(tmp_path)

    (given,) = answers(at, {"arguments": '{"n": ' + "1" * 250 + "e99}"})

    assert isinstance(given, ToolResultEnvelope)
    assert (given.code, reasons(at)) == (
        "invalid_arguments",
        [("invalid_arguments", "n: NaN and infinity are no JSON numbers")],
    )


def breaks(_: Between) -> None:
    raise RuntimeError("a defect")


def takes_no_calls(at: Between) -> None:
    at.sql("CREATE TRIGGER no_calls BEFORE INSERT ON actions BEGIN SELECT RAISE(ABORT, 'no'); END")


def moves(at: Between) -> None:
    desk, target = at.desks.suspensions, SuspensionTarget(assistant="dev")
    assert desk.suspend(
        OWNER, Suspension(target=target, address="assistant.dev", actor="user:a", at=at.now, reason=None)
    )
    assert desk.resume(OWNER, target, actor="user:a", at=at.now)


FAILING = {
    "a defect": (breaks, "internal_error", "remit failed in a way it should not (RuntimeError)"),
    "a table that takes no calls": (
        takes_no_calls,
        "not_recorded",
        "the call cannot be recorded, so it does not go out (database-constraint)",
    ),
    "grants that keep moving": (
        moves,
        "internal_error",
        "the grants of this assistant keep changing; try again",
    ),
}


@pytest.mark.parametrize("what", FAILING)
def test_a_call_that_remit_fails_to_decide_is_in_the_trail_as_denied(what: str, tmp_path: Path) -> None:
    looked, code, reason = FAILING[what]
    at = between(tmp_path, looked=looked)

    (given,) = answers(at, {})

    assert isinstance(given, ToolResultEnvelope)
    assert (given.code, reasons(at), at.sent) == (code, [(code, reason)], [])


def test_a_call_of_the_consumers_is_handed_over_as_it_is_up_to_the_size_that_remit_takes_itself(tmp_path: Path) -> None:
    at = between(tmp_path)
    large, cyclic = "[" * (MAX_TEXT_BYTES + 1), dict[str, Any]()
    cyclic["again"] = cyclic

    given = answers(
        at,
        {"name": "own", "arguments": "[" * 1_000},
        {"name": "own", "arguments": large},
        {"name": "own", "arguments": cyclic},
        {"name": LONG, "arguments": "{}"},
    )

    assert isinstance(given[0], HandOff)
    assert given[0].call.arguments == "[" * 1_000
    assert [isinstance(each, ToolResultEnvelope) and each.code for each in given[1:]] == ["invalid_arguments"] * 3
    assert [reason for _, reason in reasons(at)] == [
        f"the arguments are larger than {MAX_TEXT_BYTES} bytes of JSON",
        "the arguments are nested deeper than 64 levels",
        f"the name of the tool has more than {MAX_NAME} characters",
    ]
    with closing(sqlite3.connect(at.here.path)) as database:
        assert database.execute("SELECT max(length(arguments)) FROM actions").fetchone()[0] < 2_000
