"""Where a workspace is applied from, and from which commit: every case of source, age and leave."""

from dataclasses import replace

import pytest

from remit.core.binding import CommitAge, Leave, judge_binding, source_after
from remit.core.recorded import WorkspaceRecord

BOUND = WorkspaceRecord(
    name="acme", owner="local", lineage="line", serial=3, source="host/a//mcp.yaml", commit="c" * 40
)
FREE = replace(BOUND, source=None, commit=None)
HERE, THERE = "host/a//mcp.yaml", "host/b//mcp.yaml"
NEWER, OLDER, UNKNOWN = CommitAge


@pytest.mark.parametrize(
    ("record", "source", "age", "leave", "codes"),
    [
        (None, HERE, NEWER, Leave(), []),
        (FREE, HERE, NEWER, Leave(), []),
        (FREE, None, NEWER, Leave(), []),
        (BOUND, HERE, NEWER, Leave(), []),
        (BOUND, THERE, NEWER, Leave(), ["bound-elsewhere"]),
        (BOUND, None, NEWER, Leave(), ["bound-elsewhere"]),
        (BOUND, THERE, NEWER, Leave(rebind=True), []),
        (BOUND, THERE, OLDER, Leave(older_commit=True), ["bound-elsewhere"]),
        (BOUND, HERE, OLDER, Leave(), ["older-commit"]),
        (BOUND, HERE, OLDER, Leave(rebind=True), ["older-commit"]),
        (BOUND, HERE, OLDER, Leave(older_commit=True), []),
        (BOUND, HERE, UNKNOWN, Leave(), ["commit-unknown"]),
        (BOUND, HERE, UNKNOWN, Leave(older_commit=True), []),
        (BOUND, THERE, OLDER, Leave(), ["bound-elsewhere", "older-commit"]),
    ],
)
def test_each_case_of_source_age_and_leave(
    record: WorkspaceRecord | None, source: str | None, age: CommitAge, leave: Leave, codes: list[str]
) -> None:
    assert [each.code for each in judge_binding(record, source, age, leave)] == codes


@pytest.mark.parametrize(
    ("record", "source", "leave", "after"),
    [
        (None, HERE, Leave(), (True, HERE)),
        (None, None, Leave(), (False, None)),
        (FREE, HERE, Leave(), (True, HERE)),
        (BOUND, HERE, Leave(rebind=True), (False, HERE)),
        (BOUND, THERE, Leave(rebind=True), (True, THERE)),
        (BOUND, None, Leave(rebind=True), (True, None)),
    ],
)
def test_what_an_apply_writes_down(
    record: WorkspaceRecord | None, source: str | None, leave: Leave, after: tuple[bool, str | None]
) -> None:
    assert source_after(record, source, leave) == after
