"""The check of an answer's figures: what is a figure, what is found, what is flagged."""

from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit_ops_agent.figures import check_figures, figures_in
from remit_ops_agent.model import ToolMessage
from remit_ops_agent.returned import Unit, returned_numbers

QUESTION = "Which agent had the worst p95 turn latency in the last 7 days?"

ROWS: dict[str, Any] = {
    "metric": "p95_turn_latency",
    "unit": "ms",
    "window": {"first_day": "2026-06-24", "last_day": "2026-06-30", "days": 7},
    "rows": [
        {"group": "dispatch", "value": 18263.5, "turns": 235},
        {"group": "research", "value": 11691.25, "turns": 138},
    ],
}
RATES: dict[str, Any] = {"unit": "share", "rows": [{"group": "travel", "value": 0.0543, "turns": 129}]}
TABLE: dict[str, Any] = {
    "columns": [{"name": "agent", "type": "VARCHAR"}, {"name": "p95_latency_ms", "type": "DOUBLE"}, {"name": "n"}],
    "rows": [["support", 3692.25, 1320], ["travel", 4677.399999999999, "9007199254740993"]],
    "truncated": False,
}


def _result(structured: Any = None, text: str = "", *, is_error: bool = False) -> ToolMessage:
    return ToolMessage(call_id="call_1", name="tool", text=text, structured=structured, is_error=is_error)


def _texts(answer: str) -> list[str]:
    return [figure.text for figure in figures_in(answer, QUESTION)]


def _flagged(answer: str, *results: ToolMessage) -> list[str]:
    return [figure.text for figure in check_figures(answer, QUESTION, results).unfound]


@pytest.mark.parametrize(
    ("answer", "figures"),
    [
        ("dispatch: 18,263.5 ms over 235 turns", ["18,263.5 ms", "235"]),
        ("18263.5ms, 18.3 s, 18.3 seconds, 5.4 % and 5.4%", ["18263.5ms", "18.3 s", "18.3 seconds", "5.4 %", "5.4%"]),
        ("**18,263.5 ms**, (235), `138`.", ["18,263.5 ms", "235", "138"]),
        ("18'263 and 18\N{NO-BREAK SPACE}263 and 18\N{NARROW NO-BREAK SPACE}263", ["18'263", "18\N{NO-BREAK SPACE}263", "18\N{NARROW NO-BREAK SPACE}263"]),
        ("-5, \N{MINUS SIGN}5 and 3-7", ["-5", "\N{MINUS SIGN}5", "3", "7"]),
        ("18k, 1.2 million, 5e3", ["18k", "1.2 million", "5e3"]),
        ("138,235", ["138,235"]),
        ("138, 235", ["138", "235"]),
        ("\N{ARABIC-INDIC DIGIT THREE}\N{ARABIC-INDIC DIGIT FOUR} ms", ["\N{ARABIC-INDIC DIGIT THREE}\N{ARABIC-INDIC DIGIT FOUR} ms"]),
        ("the p95:18263, worst=18263, x18263, dispatch-18263", ["18263", "18263", "18263", "18263"]),
        ("in the 7 days (the last 7-day window), not 7 turns and not 8 days", ["7", "8"]),
        ("on 2026-06-24 at 14:05, 2026-06-24T14:05:06Z, 24 June, June 24, 2026, the 1st of July, June 2026", []),
        ("24 June 18263 and June 24, 18263", ["18263", "18263"]),
        ("p95, p99.9, gpt-4.1, v2.1, claude-3-5, the 95th and 99.9th percentile, utf8", []),
        ("1. dispatch 235\n 2) research 138\n12. x", ["235", "138"]),
        ("It is 1. The second", ["1"]),
        ("", []),
    ],
)  # fmt: skip
def test_numbers_are_figures_unless_a_rule_says_otherwise(answer: str, figures: list[str]) -> None:
    assert _texts(answer) == figures


def test_a_unit_in_the_question_makes_no_echo() -> None:
    assert [figure.text for figure in figures_in("Yes, 5000 ms.", "Was it 5000 ms?")] == ["5000 ms"]


def test_a_figure_says_where_it_stands_and_what_it_is() -> None:
    answer = "dispatch had 18.3 s over 235 turns"
    first, second = figures_in(answer)
    assert [answer[figure.start : figure.end] for figure in (first, second)] == ["18.3 s", "235"]
    assert (first.value, first.tolerance, first.unit) == (Decimal("18.3"), Decimal("0.05"), Unit.SECONDS)
    assert (second.value, second.tolerance, second.unit) == (Decimal(235), Decimal("0.5"), None)


@pytest.mark.parametrize(
    "answer",
    [
        "18,263.5 ms", "18263.50 ms", "18264 ms", "18263 ms", "18.26 s", "18.3 s", "18 s", "18k ms", "235 turns", "11,691.25",
        "5.43 %", "5.4%", "5 percent", "0.0543", "129",
        "3,692 ms", "4,677.4 ms", "4.7 s", "1,320", "9,007,199,254,740,993",
    ],
)  # fmt: skip
def test_a_returned_number_is_found_rounded_as_shown(answer: str) -> None:
    check = check_figures(answer, QUESTION, [_result(ROWS), _result(RATES), _result(TABLE)])
    assert (len(check.found), check.unfound, check.holds) == (1, (), True)


@pytest.mark.parametrize(
    "answer",
    [
        "18,000 ms", "18,262 ms", "18.2 s", "18,263.4 ms", "-18,263.5 ms", "18,263.5 s", "18,263.5 %",
        "235 ms", "235 s", "129 %", "5.5 %", "0.05 %", "9,007,199,254,740,992", "1,320,000", "6,572.25 ms",
    ],
)  # fmt: skip
def test_a_figure_that_no_tool_returned_is_flagged(answer: str) -> None:
    assert _flagged(answer, _result(ROWS), _result(RATES), _result(TABLE)) == [answer.removesuffix(" turns")]


def test_a_made_up_figure_among_true_ones_is_flagged_with_its_place() -> None:
    answer = "dispatch had 18,263.5 ms, 4,321.0 ms the week before, over 235 turns"
    check = check_figures(answer, QUESTION, [_result(ROWS)])
    assert [(match.figure.text, match.returned.place) for match in check.found] == [
        ("18,263.5 ms", "tool rows[0].value"),
        ("235", "tool rows[0].turns"),
    ]
    assert [(figure.text, answer[figure.start : figure.end]) for figure in check.unfound] == [
        ("4,321.0 ms", "4,321.0 ms")
    ]
    assert not check.holds


def test_without_results_and_in_failed_results_nothing_is_found() -> None:
    assert _flagged("18,263.5 ms") == ["18,263.5 ms"]
    assert _flagged("18,263.5 ms", _result(ROWS, is_error=True)) == ["18,263.5 ms"]


@pytest.mark.parametrize("text", ['{"unit": "ms", "value": 18263.5}', "The p95 is 18,263.5 ms.", "18263.5"])
def test_a_result_without_structured_content_is_read_from_its_text(text: str) -> None:
    assert _flagged("18,263.5 ms", _result(text=text)) == []
    assert _flagged("18,263.4 ms", _result(text=text)) == ["18,263.4 ms"]


def test_structured_content_is_preferred_to_the_text_beside_it() -> None:
    assert _flagged("5 ms", _result({"value": 6}, "5")) == ["5 ms"]


@pytest.mark.parametrize(
    ("structured", "numbers"),
    [
        ({"a": True, "b": None, "c": "1.5", "d": "v2", "e": [1, {"f": 2.5}]}, [("1.5", "c"), ("1", "e[0]"), ("2.5", "e[1].f")]),
        ({"columns": ["n_s"], "rows": [[3], 4], "total_rows": 2}, [("3", "rows[0][0]"), ("4", "rows[1][0]"), ("2", "total_rows")]),
        ({"columns": ["n"], "rows": "none"}, []),
        ({"columns": 5, "rows": [7]}, [("5", "columns"), ("7", "rows[0]")]),
        (float("nan"), []),
        (8, [("8", "")]),
    ],
)  # fmt: skip
def test_every_number_of_a_result_has_a_place(structured: Any, numbers: list[tuple[str, str]]) -> None:
    assert [(str(one.value), one.place) for one in returned_numbers([_result(structured)])] == [
        (value, f"tool {path}".rstrip()) for value, path in numbers
    ]


def test_values_below_a_bounded_depth_are_not_looked_at() -> None:
    deep: Any = 5
    for _ in range(5_000):
        deep = [deep]
    assert list(returned_numbers([_result(deep)])) == []


VALUES = st.one_of(
    st.integers(min_value=-(10**12), max_value=10**12),
    st.floats(min_value=-1e9, max_value=1e9, allow_nan=False).map(lambda value: round(value, 4)),
)
# A slow machine is no defect: no example has a deadline of its own.
UNHURRIED = settings(deadline=None)
PROSE = st.sampled_from(
    ["p95 of dispatch:", "on 2026-06-24 it had", "in the last 7 days:", "(the 95th)", "gpt-4 said", "\n- ", "\n1) no,"]
)


@UNHURRIED
@given(
    value=VALUES, decimals=st.integers(0, 4), grouped=st.booleans(), before=PROSE, after=PROSE, others=st.lists(VALUES)
)
def test_a_returned_number_is_found_however_it_is_written(
    value: float, decimals: int, grouped: bool, before: str, after: str, others: list[float]
) -> None:
    shown = f"{Decimal(str(value)):{',' if grouped else ''}.{decimals}f}"
    answer = f"{before} {shown} {after}"
    check = check_figures(answer, QUESTION, [_result({"rows": [*others, value]})])
    assert [answer[one.figure.start : one.figure.end] for one in check.found] == [shown]
    assert check.holds


@UNHURRIED
@given(values=st.lists(VALUES, max_size=20), made_up=VALUES, decimals=st.integers(0, 3))
def test_a_figure_is_found_exactly_if_a_value_rounds_to_it(values: list[float], made_up: float, decimals: int) -> None:
    shown = Decimal(f"{Decimal(str(made_up)):.{decimals}f}")
    near = any(abs(Decimal(str(value)) - shown) * 2 * 10**decimals <= 1 for value in values)
    check = check_figures(f"It is {shown:,.{decimals}f}.", QUESTION, [_result({"rows": values})])
    assert len(check.found) + len(check.unfound) == 1
    assert check.holds == near


@UNHURRIED
@given(text=st.text())
def test_any_text_is_read_and_its_figures_stand_where_they_say(text: str) -> None:
    figures = list(figures_in(text, text[: len(text) // 2]))
    assert [text[figure.start : figure.end] for figure in figures] == [figure.text for figure in figures]
    assert all(before.end <= after.start for before, after in pairwise(figures))


@UNHURRIED
@given(text=st.text(alphabet=st.characters(exclude_categories=["Nd"])))
def test_a_text_without_digits_has_no_figures(text: str) -> None:
    assert list(figures_in(text)) == []
