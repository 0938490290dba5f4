"""Planning does work in proportion to what it plans. Counted in steps of the interpreter, which no machine's load changes."""

import difflib
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from remit.core import planner
from remit.core.desired import Desired, Removal
from remit.core.diagnostics import Source
from remit.core.live import Live
from remit.core.model import apply_operations
from remit.core.near_subjects import MOST_COMPARISONS, near_subjects
from remit.core.operations import OpName
from remit.core.plan import Plan
from remit.core.recorded import Recorded
from remit.core.subjects import ToolSubject
from tests.states import OWNER, WORKSPACE, assistant, definition, desired, listed, plan, select, server

TIMES = 4
AT_MOST = 4.8
"""Four times the tools may take so many times the steps; what is quadratic takes sixteen times."""


class Steps:
    """Counts every step (bytecode instruction) that runs in code below a folder."""

    def __init__(self, folder: str = str(Path(planner.__file__).parent)) -> None:
        self.folder = folder
        self.count = 0

    @contextmanager
    def counting(self) -> Generator[None]:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(self.folder):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        self.count += event == "opcode"
        return self._step


def wanted(servers: int, tools: int) -> tuple[Desired, list[str]]:
    """Servers, each with an assistant that selects so many of its tools by name."""
    names = [f"tool{number}" for number in range(tools)]
    parts = [server(f"s{number}") for number in range(servers)]
    users = [assistant(f"a{number}", select(f"s{number}", *names)) for number in range(servers)]
    return desired(*parts, *users), names


def live_of(servers: int, names: list[str], text: str = "Finds things.") -> Live:
    listing = listed(*names)
    tools = tuple(replace(tool, definition=definition(text)) for tool in listing.tools)
    return {f"s{number}": replace(listing, tools=tools) for number in range(servers)}


def first_apply(servers: int, tools: int) -> tuple[Plan, int]:
    want, names = wanted(servers, tools)
    return counted(want, Recorded(), live_of(servers, names))


def no_op(servers: int, tools: int) -> tuple[Plan, int]:
    want, names = wanted(servers, tools)
    return counted(want, applied(want, live_of(servers, names)), live_of(servers, names))


def all_changed(servers: int, tools: int) -> tuple[Plan, int]:
    want, names = wanted(servers, tools)
    known = applied(want, live_of(servers, names))
    return counted(want, known, live_of(servers, names, "Finds other things."))


def all_detached(servers: int, tools: int) -> tuple[Plan, int]:
    want, names = wanted(servers, tools)
    emptied = replace(want, assistants=tuple(replace(each, selections=()) for each in want.assistants))
    return counted(emptied, applied(want, live_of(servers, names)), live_of(servers, names))


def applied(want: Desired, live: Live) -> Recorded:
    return apply_operations(Recorded(), plan(want, Recorded(), live).operations, workspace=WORKSPACE, owner=OWNER)


def counted(want: Desired, known: Recorded, live: Live) -> tuple[Plan, int]:
    steps = Steps()
    with steps.counting():
        outcome = plan(want, known, live)
    return outcome, steps.count


SHAPES = {"more tools on a server": ((1, 20), (1, 80)), "more servers": ((3, 10), (12, 10))}


@pytest.mark.parametrize("sizes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(
    ("work", "op"),
    [(first_apply, OpName.ATTACH), (no_op, None), (all_changed, OpName.REFRESH), (all_detached, OpName.DETACH)],
)
def test_four_times_the_tools_take_about_four_times_the_steps(
    work: Callable[[int, int], tuple[Plan, int]], op: OpName | None, sizes: tuple[tuple[int, int], tuple[int, int]]
):
    small, large = sizes
    work(*small)  # what is remembered from one plan to the next must not make the first look dearer
    _, few = work(*small)
    outcome, many = work(*large)
    tools = large[0] * large[1]
    planned = [*outcome.operations, *(each.operation for each in outcome.held)]
    assert len([each for each in planned if each.op is op]) == (0 if op is None else tools)
    assert outcome.unchanged == (tools if op is None else 0)
    assert many <= AT_MOST * few, f"{many / few:.1f} times"


def removing_as_well(entries: int, tools: int) -> tuple[Plan, int]:
    """A plan that detaches so many tools, with so many entries that are done; the steps are those of comparing names."""
    want, names = wanted(1, tools)
    done = (ToolSubject("s0", f"tol{number}") for number in range(entries))
    removed = tuple(Removal(subject=each, source=Source("mcp.yaml", 5, 5), keep=False) for each in done)
    emptied = replace(want, assistants=tuple(replace(each, selections=()) for each in want.assistants), removed=removed)
    known = applied(want, live_of(1, names))
    steps = Steps(difflib.__file__)
    with steps.counting():
        outcome = plan(emptied, known, live_of(1, names))
    return outcome, steps.count


def test_many_entries_that_are_done_are_not_compared_with_many_tools_that_go() -> None:
    (few, some), (many, none) = removing_as_well(2, 5), removing_as_well(110, 100)
    hints = [[each.hint is None for each in made.problems if each.code == "removed-done"] for made in (few, many)]
    assert (hints, some > 0, none) == ([[False] * 2, [True] * 110], True, 0)


def test_the_most_names_are_compared_and_not_one_more() -> None:
    gone = [ToolSubject("s", f"tool{number}") for number in range(MOST_COMPARISONS + 1)]
    meant = ToolSubject("s", "tol1")
    assert near_subjects([meant], gone[:-1]) == {meant: "did you mean tool.s/tool1, which goes with this plan?"}
    assert near_subjects([meant], gone) == {}


def test_a_quadratic_step_would_be_seen():
    def every_pair(size: int) -> int:
        return sum(1 for a in range(size) for b in range(size) if a == b)

    def counted_pairs(size: int) -> int:
        steps = Steps(__file__)
        with steps.counting():
            every_pair(size)
        return steps.count

    assert counted_pairs(80) > 3 * AT_MOST * counted_pairs(20)
