"""The data set: thirty days of agent turns, the same on every machine and every Python version.

Decides every value of every row from a small integer hash of (seed, agent, day, turn). No clock, no `random` module, no
floating point: nothing here can come out differently elsewhere. Does not know about DuckDB.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

__all__ = [
    "AGENTS",
    "DATASET_VERSION",
    "DAYS",
    "FIRST_DAY",
    "LAST_DAY",
    "Agent",
    "ToolCall",
    "Turn",
    "make_rows",
]

DATASET_VERSION = "1"
"""Goes up whenever any generated value changes; a database file of another version is refused."""

LAST_DAY = date(2026, 6, 30)
DAYS = 30
FIRST_DAY = LAST_DAY - timedelta(days=DAYS - 1)

_MASK = (1 << 64) - 1
_SEED = 0x5EED_0A6E_7B0A_7CA1
_CHANNELS = ("chat", "email", "voice")
_TOOLS = ("search_tickets", "read_order", "update_record", "send_message", "book_slot")
_ERROR_KINDS = ("timeout", "tool_failed", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent and the way it behaves: shares in permille, times in milliseconds.

    `regressed_from` is the day index (0 is `FIRST_DAY`) from which `regressed_permille` replaces `slow_permille`.
    """

    agent: str
    team: str
    model: str
    purpose: str
    turns_per_day: int
    base_ms: int
    spread_ms: int
    slow_permille: int
    slow_ms: int
    error_permille: int
    regressed_from: int = DAYS
    regressed_permille: int = 0

    def slow_share(self, day_index: int) -> int:
        """The share of slow turns on one day, in permille."""
        return self.regressed_permille if day_index >= self.regressed_from else self.slow_permille


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of one agent; `error_kind` is None where `status` is "ok". Times are UTC."""

    turn_id: int
    agent: str
    started_at: datetime
    channel: str
    status: str
    error_kind: str | None
    latency_ms: int
    input_tokens: int
    output_tokens: int
    tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call inside a turn; all calls of a turn together take less than the turn."""

    call_id: int
    turn_id: int
    tool: str
    status: str
    duration_ms: int


# `research` is slow every day, so it has the worst p95 over thirty days. `dispatch` is fast until a regression in the
# last six days, too short to move its thirty-day p95 but enough to give it the worst one over seven days.
AGENTS = (
    Agent(
        agent="billing",
        team="finance",
        model="atlas-small",
        purpose="Answers questions about invoices and refunds.",
        turns_per_day=28,
        base_ms=700,
        spread_ms=2200,
        slow_permille=15,
        slow_ms=5000,
        error_permille=12,
    ),
    Agent(
        agent="dispatch",
        team="logistics",
        model="atlas-medium",
        purpose="Assigns couriers and answers where a parcel is.",
        turns_per_day=30,
        base_ms=900,
        spread_ms=2600,
        slow_permille=6,
        slow_ms=13000,
        error_permille=18,
        regressed_from=DAYS - 6,
        regressed_permille=150,
    ),
    Agent(
        agent="onboarding",
        team="people",
        model="atlas-small",
        purpose="Guides new colleagues through their first weeks.",
        turns_per_day=14,
        base_ms=600,
        spread_ms=1800,
        slow_permille=10,
        slow_ms=4000,
        error_permille=6,
    ),
    Agent(
        agent="research",
        team="strategy",
        model="atlas-large",
        purpose="Collects and summarises sources for analysts.",
        turns_per_day=18,
        base_ms=2400,
        spread_ms=5200,
        slow_permille=90,
        slow_ms=7200,
        error_permille=24,
    ),
    Agent(
        agent="support",
        team="service",
        model="atlas-medium",
        purpose="First line of the customer service desk.",
        turns_per_day=44,
        base_ms=800,
        spread_ms=3000,
        slow_permille=25,
        slow_ms=5200,
        error_permille=30,
    ),
    Agent(
        agent="travel",
        team="people",
        model="atlas-medium",
        purpose="Books and changes business trips.",
        turns_per_day=16,
        base_ms=1200,
        spread_ms=3600,
        slow_permille=30,
        slow_ms=6000,
        error_permille=45,
    ),
)


def make_rows() -> tuple[list[Turn], list[ToolCall]]:
    """Every turn in order of time, and every tool call in order of its turn; always the same rows."""
    drafts = sorted(_drafts(), key=lambda draft: (draft[0], draft[1].agent, draft[2]))
    turns: list[Turn] = []
    calls: list[ToolCall] = []
    for turn_id, (started_at, agent, key) in enumerate(drafts, start=1):
        turn = _turn(turn_id, agent, started_at, key)
        turns.append(turn)
        calls.extend(_calls(turn, key, first_id=len(calls) + 1))
    return turns, calls


def _drafts() -> Iterator[tuple[datetime, Agent, int]]:
    """When each turn starts, whose it is, and the 64-bit key that everything else about it comes from."""
    midnight = datetime(FIRST_DAY.year, FIRST_DAY.month, FIRST_DAY.day)  # noqa: DTZ001 - the views hold UTC without an offset
    for agent_index, agent in enumerate(AGENTS):
        for day_index in range(DAYS):
            day = midnight + timedelta(days=day_index)
            extra = _mix(_SEED, agent_index, day_index) % (agent.turns_per_day // 4 + 1)
            for turn_index in range(agent.turns_per_day + extra):
                key = _mix(_SEED, agent_index, day_index, turn_index)
                yield day + timedelta(seconds=6 * 3600 + _mix(key, 1) % (15 * 3600)), agent, key


def _turn(turn_id: int, agent: Agent, started_at: datetime, key: int) -> Turn:
    failed = _mix(key, 2) % 1000 < agent.error_permille
    return Turn(
        turn_id=turn_id,
        agent=agent.agent,
        started_at=started_at,
        channel=_CHANNELS[_mix(key, 3) % len(_CHANNELS)],
        status="error" if failed else "ok",
        error_kind=_ERROR_KINDS[_mix(key, 4) % len(_ERROR_KINDS)] if failed else None,
        latency_ms=_latency(agent, (started_at.date() - FIRST_DAY).days, key),
        input_tokens=300 + _mix(key, 5) % 2400,
        output_tokens=40 + _mix(key, 6) % 760,
        tool_calls=_mix(key, 7) % 5,
    )


def _latency(agent: Agent, day_index: int, key: int) -> int:
    """Milliseconds: a base, a spread that leans to the low end, and now and then a slow turn on top."""
    unit = _mix(key, 8) & 0xFFFF
    latency = agent.base_ms + (agent.spread_ms * unit * unit >> 32)
    if _mix(key, 9) % 1000 < agent.slow_share(day_index):
        latency += agent.slow_ms + _mix(key, 10) % (agent.slow_ms // 2)
    return latency


def _calls(turn: Turn, key: int, *, first_id: int) -> Iterator[ToolCall]:
    for index in range(turn.tool_calls):
        share = 20 + _mix(key, 11, index) % 60
        broken = turn.error_kind == "tool_failed" and index == turn.tool_calls - 1
        yield ToolCall(
            call_id=first_id + index,
            turn_id=turn.turn_id,
            tool=_TOOLS[_mix(key, 12, index) % len(_TOOLS)],
            status="error" if broken else "ok",
            duration_ms=turn.latency_ms * share // (100 * turn.tool_calls),
        )


def _mix(*parts: int) -> int:
    """A 64-bit hash of whole numbers: one splitmix64 step for each part."""
    state = 0
    for part in parts:
        state = (state ^ part) + 0x9E37_79B9_7F4A_7C15 & _MASK
        state = (state ^ (state >> 30)) * 0xBF58_476D_1CE4_E5B9 & _MASK
        state = (state ^ (state >> 27)) * 0x94D0_49BB_1331_11EB & _MASK
        state ^= state >> 31
    return state
