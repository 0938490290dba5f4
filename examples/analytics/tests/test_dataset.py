"""The data set: the same rows everywhere, and the story that the questions are about."""

import hashlib
from datetime import timedelta

from remit_analytics.dataset import AGENTS, DATASET_VERSION, DAYS, FIRST_DAY, LAST_DAY, make_rows


def test_the_rows_are_those_of_the_data_set_version() -> None:
    rows = hashlib.sha256(repr(make_rows()).encode()).hexdigest()
    # A changed digest means changed rows: raise DATASET_VERSION, so that older database files are refused.
    assert (DATASET_VERSION, rows[:16]) == ("1", "45ea4000d1738c58")


def test_every_agent_has_turns_on_every_day_of_the_window_and_on_no_other() -> None:
    turns, _ = make_rows()
    days = [FIRST_DAY + timedelta(days=index) for index in range(DAYS)]
    assert days[-1] == LAST_DAY
    assert {(turn.agent, turn.started_at.date()) for turn in turns} == {(a.agent, day) for a in AGENTS for day in days}


def test_every_tool_call_belongs_to_its_turn_and_fits_into_it() -> None:
    turns, calls = make_rows()
    durations: dict[int, list[int]] = {turn.turn_id: [] for turn in turns}
    for call in calls:
        durations[call.turn_id].append(call.duration_ms)
    assert all(len(durations[turn.turn_id]) == turn.tool_calls for turn in turns)
    assert all(sum(durations[turn.turn_id]) <= turn.latency_ms for turn in turns)
