"""Where a workspace is applied from, from which commit, and for which environment: every case, and what lifts it."""

from dataclasses import replace

import pytest

from remit.core.binding import (
    CommitAge,
    Leave,
    environment_after,
    judge_binding,
    judge_environment,
    source_after,
)
from remit.core.contributing import vanished_files
from remit.core.plan import SAFEGUARD_CODES, STANDING_VETOES
from remit.core.recorded import NO_ENVIRONMENT, WorkspaceRecord
from tests.states import WORKSPACE, desired, recorded

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


PLAIN, PROD = replace(BOUND, environment=NO_ENVIRONMENT), replace(BOUND, environment="prod")
CHANGES = Leave(environment=True)


@pytest.mark.parametrize(
    ("record", "environment", "leave", "codes"),
    [
        (None, "prod", Leave(), []),
        (BOUND, "prod", Leave(), []),
        (BOUND, None, Leave(), []),
        (PROD, "prod", Leave(), []),
        (PROD, "prod", CHANGES, []),
        (PLAIN, None, Leave(), []),
        (PROD, None, Leave(), ["environment-other"]),
        (PROD, "dev", Leave(), ["environment-other"]),
        (PLAIN, "dev", Leave(), ["environment-other"]),
        (PROD, "dev", Leave(rebind=True, older_commit=True), ["environment-other"]),
        (PROD, None, CHANGES, ["environment-changes"]),
        (PLAIN, "dev", CHANGES, ["environment-changes"]),
    ],
)
def test_each_case_of_environment_and_leave(
    record: WorkspaceRecord | None, environment: str | None, leave: Leave, codes: list[str]
) -> None:
    assert [each.code for each in judge_environment(record, environment, leave)] == codes


def test_another_environment_refuses_whatever_was_approved() -> None:
    assert "environment-other" in SAFEGUARD_CODES & STANDING_VETOES
    assert "environment-changes" not in SAFEGUARD_CODES


def test_the_way_out_of_another_environment_names_both() -> None:
    forgotten, wrong, extra = (
        judge_environment(record, environment, Leave())[0]
        for record, environment in ((PROD, None), (PROD, "dev"), (PLAIN, "dev"))
    )
    assert (
        forgotten.message
        == "the workspace is applied for environment prod, and this plan is made without an environment"
    )
    assert (forgotten.hint or "").startswith("pass --env prod; ")
    assert wrong.message == "the workspace is applied for environment prod, and this plan is made for environment dev"
    assert (extra.hint or "").startswith("leave out --env; ")
    # A watch shows this too, and has no such flag itself.
    assert "run `remit apply --env dev --change-env` once" in (wrong.hint or "")
    assert "run `remit apply --change-env` without --env once" in (forgotten.hint or "")


@pytest.mark.parametrize(
    ("record", "environment", "after"),
    [
        (None, "prod", "prod"),
        (None, None, NO_ENVIRONMENT),
        (BOUND, None, NO_ENVIRONMENT),
        (BOUND, "prod", "prod"),
        (PROD, "prod", None),
        (PLAIN, None, None),
        (PROD, None, NO_ENVIRONMENT),
        (PROD, "dev", "dev"),
    ],
)
def test_which_environment_an_apply_writes_down(
    record: WorkspaceRecord | None, environment: str | None, after: str | None
) -> None:
    assert environment_after(record, environment) == after


@pytest.mark.parametrize(
    ("environment", "now", "lost"),
    [
        ("prod", "prod", ("envs/prod.yaml", "mcp.d/a.yaml")),
        ("prod", "dev", ("mcp.d/a.yaml",)),
        ("prod", None, ("mcp.d/a.yaml",)),
        (None, None, ("envs/prod.yaml", "mcp.d/a.yaml")),
    ],
)
def test_the_overlay_of_another_environment_is_no_lost_file(
    environment: str | None, now: str | None, lost: tuple[str, ...]
) -> None:
    files = ("envs/prod.yaml", "mcp.d/a.yaml", "mcp.yaml")
    record = replace(BOUND, name=WORKSPACE, files=files, environment=environment)
    wanted = replace(desired(), contributors=("mcp.yaml",), environment=now)
    assert vanished_files(wanted, replace(recorded(), workspaces={WORKSPACE: record})) == lost
