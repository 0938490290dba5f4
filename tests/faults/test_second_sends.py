"""What happens between two sends of one call: whatever would be decided otherwise by then stops the second one.

The server is the test's: its first answer is lost, and what is to happen happens before it is. One run, one real database.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.calls import FailureCode
from remit.core.envelope import AuditedArguments, EnvelopePatch, Surface
from remit.core.governance import Suspension, SuspensionTarget
from remit.core.identity import HttpEndpoint
from remit.core.remote_ports import Delivery, RemoteFault
from remit.runtime.abi import HandOff, ToolResultEnvelope
from remit.store.journal import open_journal
from remit.store.location import Location
from tests.fakes import FakeConnections
from tests.faults.between import LOST, READ, Between, between
from tests.faults.world import new_id
from tests.states import OWNER, definition
from tests.upstream.calls import until

PAY = EnvelopePatch(surface=Surface.HUMAN_CONTROLLED, side_effecting=True)
FORGOTTEN = RemoteFault(
    code=FailureCode.SERVER_GONE, message="no such session", delivery=Delivery.NOT_SENT, session_lost=True
)


def suspended(at: Between) -> None:
    target = SuspensionTarget(assistant="ops")
    suspension = Suspension(target=target, address="assistant.ops", actor="user:ana", at=at.now, reason=None)
    assert at.desks.suspensions.suspend(OWNER, suspension)


def cancelled(at: Between) -> None:
    assert at.run is not None
    assert at.desks.runs.cancel_run(OWNER, at.run.run_id, actor="user:ana", at=at.now)


def redefined(at: Between) -> None:
    at.live = definition("Pays.", n={"type": "integer"})
    at.apply()


def listed_otherwise(at: Between) -> None:
    at.live = definition(n={"type": "boolean"})


def gone(at: Between) -> None:
    at.down = True


def buried(at: Between) -> None:
    at.sql("UPDATE instances SET heartbeat_seconds = heartbeat_seconds - 100")
    open_journal(Location(at.here.path), writer="other", new_id=new_id, clock=lambda: at.now).close()


def ended_elsewhere(at: Between) -> None:
    at.sql("UPDATE actions SET state = 'unknown'")


def broken(at: Between) -> None:
    at.sql("ALTER TABLE assistants RENAME TO lost_assistants")


def time_passes(minutes: int) -> Callable[[Between], None]:
    def passes(at: Between) -> None:
        at.now += timedelta(minutes=minutes)

    return passes


def edited(approval: str) -> Callable[[Between], None]:
    return lambda at: at.sql(f"UPDATE approvals SET {approval}")


ASKED = EnvelopePatch(surface=Surface.HUMAN_CONTROLLED, side_effecting=False)
EFFECTS = EnvelopePatch(surface=Surface.LOCKED, side_effecting=True)
VALUES = EnvelopePatch(surface=Surface.LOCKED, side_effecting=False, audit_arguments=AuditedArguments.VALUES)
GUARDED = EnvelopePatch(surface=Surface.LOCKED, side_effecting=False, required_permission="reading")
ELSEWHERE = HttpEndpoint("https://bank.example.com/other")

STOPS: dict[str, tuple[Callable[[Between], None], str, str]] = {
    "a person is to be asked": (lambda at: at.apply(PAY), "server_gone", "unknown"),
    "a person is to be asked, no effects": (lambda at: at.apply(ASKED), "server_gone", "error"),
    "it has side effects": (lambda at: at.apply(EFFECTS), "server_gone", "unknown"),
    "its policy is another one": (lambda at: at.apply(VALUES), "server_gone", "error"),
    "a permission is asked for": (lambda at: at.apply(GUARDED), "permission_denied", "error"),
    "its definition is another one": (redefined, "server_gone", "error"),
    "the server is at another address": (lambda at: at.apply(endpoint=ELSEWHERE), "server_gone", "error"),
    "the server is disabled": (lambda at: at.apply(enabled=False), "tool_disabled", "error"),
    "it is detached": (lambda at: at.apply(tools=("other",)), "unknown_tool", "error"),
    "it is suspended": (suspended, "suspended", "error"),
    "the server changed it": (listed_otherwise, "definition_drifted", "error"),
    "nobody can look at its contract": (gone, "contract_unknown", "error"),
    "the run is cancelled": (cancelled, "cancelled", "cancelled"),
    "its journal was declared dead": (buried, "run_over", "late"),
    "its row was ended": (ended_elsewhere, "server_gone", "late"),
    "the database cannot be read": (broken, "server_gone", "error"),
}
"""What happens, the code that the call ends with, and the outcome in its event."""


@pytest.mark.parametrize("what", STOPS)
def test_a_call_that_would_be_decided_otherwise_by_now_is_not_sent_a_second_time(what: str, tmp_path: Path) -> None:
    then, code, outcome = STOPS[what]
    at = between(tmp_path, then=then)

    result = at.called()

    assert (len(at.sent), result.code) == (1, code)
    if what == "the database cannot be read":
        at.sql("ALTER TABLE lost_assistants RENAME TO assistants")
    assert at.ends() == ([] if outcome == "late" else [(outcome, code, 1)])


APPROVAL_OVER: dict[str, Callable[[Between], None]] = {
    "six minutes pass": time_passes(6),
    "its approval is another call's": edited("action_id = 'other'"),
    "its approval was used up": edited("state = 'succeeded'"),
}


@pytest.mark.parametrize("what", APPROVAL_OVER)
def test_a_call_whose_approval_is_over_is_not_sent_on_a_new_session(what: str, tmp_path: Path) -> None:
    at = between(tmp_path, envelope=PAY, lost=FORGOTTEN, then=APPROVAL_OVER[what])

    result = at.called()

    assert (len(at.sent), at.ends()) == (1, [("error", "server_gone", 1)])
    assert "not sent again: its approval has expired or was used up" in result.content


def resumed(at: Between) -> None:
    suspended(at)
    assert at.desks.suspensions.resume(OWNER, SuspensionTarget(assistant="ops"), actor="user:ana", at=at.now)


GOES_ON: dict[str, Callable[[Between], None]] = {
    "nothing": lambda _: None,
    "another limit is applied": lambda at: at.apply(seconds=7),
    "another tool is attached": lambda at: at.apply(tools=("pay", "other")),
    "it is suspended and resumed": resumed,
    "four minutes pass": time_passes(4),
}


@pytest.mark.parametrize("what", GOES_ON)
@pytest.mark.parametrize(("envelope", "lost"), [(READ, LOST), (PAY, FORGOTTEN)], ids=["lost read", "forgotten session"])
def test_a_call_that_would_be_decided_the_same_by_now_is_sent_a_second_time(
    what: str, envelope: EnvelopePatch, lost: RemoteFault, tmp_path: Path
) -> None:
    at = between(tmp_path, envelope=envelope, lost=lost, then=GOES_ON[what])

    result = at.called()

    assert (len(at.sent), result.content, at.ends()) == (2, "ok", [("ok", None, 2)])
    assert at.sent[1].idle_seconds == (7 if what == "another limit is applied" else 30)


class Leaving(FakeConnections):
    """Connections whose close goes on until `is_over`; `leaving` says that it began."""

    def __init__(self, at: Between, leaving: asyncio.Event, is_over: Callable[[], bool]) -> None:
        super().__init__(at.listing, at.carry)
        self.leaving, self.is_over = leaving, is_over

    async def close(self) -> None:
        self.leaving.set()
        await until(self.is_over)


def test_nothing_is_sent_a_second_time_by_a_runtime_that_is_closing(tmp_path: Path) -> None:
    at = between(tmp_path)

    def is_over() -> bool:
        return all(each.ended_at is not None for each in at.desks.runs.runs(OWNER, limit=1))

    async def work() -> ToolResultEnvelope | HandOff:
        leaving = asyncio.Event()
        at.waits_for = leaving
        async with at.opened(Leaving(at, leaving, is_over)) as run:
            call = asyncio.create_task(run.call("bank__pay", '{"n": 1}'))
            await until(lambda: len(at.sent) == 1)
            assert at.runtime is not None
            closing = asyncio.create_task(at.runtime.close())
            result = await call
        await closing
        return result

    result = asyncio.run(work())

    assert isinstance(result, ToolResultEnvelope)
    assert (len(at.sent), result.code) == (1, "server_gone")
    assert "not sent again: remit is closing" in result.content
