"""Faults F1, F2 and F8: an apply that is killed did all of it or nothing, wherever it was; the next one does the rest."""

import json
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from remit.core.acceptance import Acceptance
from remit.core.operations import OpName
from remit.core.recorded import Recorded
from remit.reconcile.applying import ApprovedPlan
from tests.faults.processes import ROOT, SECONDS
from tests.faults.world import AFTER, BEFORE, LISTED_AFTER, LISTED_BEFORE, Here, held, incoherences

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True)
class Crash:
    """One apply that was killed at a point, and what it left."""

    point: str
    left: Here


@dataclass(frozen=True, slots=True)
class Crashes:
    """An apply killed at every point it passes; `before` and `after` are the only states there may ever be."""

    before: Recorded
    after: Recorded
    each: tuple[Crash, ...]
    template: Here
    accept: tuple[Acceptance, ...]

    def due(self, here: Here) -> Counter[OpName]:
        return Counter(each.op for each in here.plan(AFTER, LISTED_AFTER, accept=self.accept).report.plan.operations)

    def committed(self, crash: Crash) -> bool:
        points = [each.point for each in self.each]
        return self.each.index(crash) > len(points) - 1 - points[::-1].index("commit")


@pytest.fixture(scope="module")
def crashes(tmp_path_factory: pytest.TempPathFactory) -> Crashes:
    folder = tmp_path_factory.mktemp("crashes")
    (folder / "template").mkdir()
    template = Here(folder / "template").create()
    template.apply(template.plan_accepting_all(BEFORE, LISTED_BEFORE))
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.crashing", str(template.folder), str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=4 * SECONDS,
        check=True,
    )
    endings = cast("list[tuple[int, str, str]]", json.loads(ended.stdout))
    *killed, whole = endings
    assert ({code for _, _, code in killed}, whole[1:]) == ({"-9"}, ["end", "0"])
    return Crashes(
        before=template.recorded(),
        after=Here(folder / str(whole[0])).recorded(),
        each=tuple(Crash(point, Here(folder / str(number))) for number, point, _ in killed),
        template=template,
        accept=held(template.plan(AFTER, LISTED_AFTER)),
    )


def copied(here: Here, folder: Path) -> Here:
    shutil.copytree(here.folder, folder)
    return Here(folder)


def files(here: Here) -> list[str]:
    return sorted(path.name for path in here.folder.iterdir())


def test_fault_f1_the_crashes_are_at_every_point_of_an_apply_of_every_kind_of_operation(crashes: Crashes) -> None:
    points = [each.point for each in crashes.each]
    assert (points[0], points[1], points[2]) == ("before the listing", "after the listing", "begin")
    assert points[-4:] == ["commit", "close", "committed", "done"]
    passed = Counter(point.split()[0] for point in points)
    assert min(passed[verb] for verb in ("INSERT", "UPDATE", "DELETE", "SELECT", "SAVEPOINT", "RELEASE")) >= 3
    assert set(crashes.due(crashes.template)) == set(OpName)


def test_fault_f1_killed_anywhere_all_of_it_was_done_or_nothing(crashes: Crashes) -> None:
    for each in crashes.each:
        expected = crashes.after if crashes.committed(each) else crashes.before
        assert each.left.recorded() == expected, each.point
        assert incoherences(each.left) == [], each.point


def test_fault_f1_killed_anywhere_nothing_is_left_that_stops_or_misleads_the_next_one(crashes: Crashes) -> None:
    whole = crashes.due(crashes.template)
    for each in crashes.each:
        left = copied(each.left, each.left.folder.with_name(each.left.folder.name + "-next"))
        assert set(files(left)) <= {"remit.db", "remit.db-wal", "remit.db-shm"}, each.point
        rest = left.plan(AFTER, LISTED_AFTER, accept=crashes.accept)
        done = left.apply(rest)
        expected = Counter[OpName]() if crashes.committed(each) else whole
        assert (Counter(one.op for one in done.done), done.failures) == (expected, ()), each.point
        assert (crashes.due(left), files(left)) == (Counter(), ["remit.db"]), each.point
        assert left.recorded() == crashes.after, each.point


# --- a commit that is cut off inside the database ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Commit:
    """The database file before a commit and after its checkpoint, and the write-ahead log in between."""

    before: bytes
    log: bytes
    after: bytes

    def left(self, folder: Path, database: bytes, log: bytes) -> Here:
        folder.mkdir()
        (folder / "remit.db").write_bytes(database)
        (folder / "remit.db").chmod(0o600)
        (folder / "remit.db-wal").write_bytes(log)
        return Here(folder)


@pytest.fixture
def commit(crashes: Crashes, tmp_path: Path) -> Commit:
    here = copied(crashes.template, tmp_path / "whole")
    before = here.path.read_bytes()
    # While somebody reads, a writer that closes leaves its log as it is.
    reader = sqlite3.connect(here.path)
    reader.execute("SELECT count(*) FROM applies").fetchall()
    here.apply(here.plan(AFTER, LISTED_AFTER, accept=crashes.accept))
    log = (here.folder / "remit.db-wal").read_bytes()
    assert here.path.read_bytes() == before
    reader.close()
    return Commit(before=before, log=log, after=here.path.read_bytes())


def test_fault_f1_a_commit_cut_off_in_any_frame_of_the_log_never_happened(
    crashes: Crashes, commit: Commit, tmp_path: Path
) -> None:
    # A header of 32 bytes, then frames of 24 bytes and a page each (https://sqlite.org/fileformat2.html#walformat).
    frame = 24 + struct.unpack(">I", commit.log[8:12])[0]
    ends = range(32, len(commit.log) + 1, frame)
    assert len(ends) > 10
    for end in ends:
        for cut in {end, min(end + frame // 2, len(commit.log))}:
            left = commit.left(tmp_path / str(cut), commit.before, commit.log[:cut])
            expected = crashes.after if cut == len(commit.log) else crashes.before
            assert (left.recorded(), incoherences(left)) == (expected, []), cut


def test_fault_f1_a_checkpoint_cut_off_at_any_page_loses_nothing(
    crashes: Crashes, commit: Commit, tmp_path: Path
) -> None:
    page = struct.unpack(">I", commit.log[8:12])[0]
    for end in range(0, len(commit.after) + 1, page):
        left = commit.left(tmp_path / str(end), commit.after[:end] + commit.before[end:], commit.log)
        assert (left.recorded(), incoherences(left)) == (crashes.after, []), end


# --- the caches and the reply ---------------------------------------------------------------------------------------------


class RevisionCache:
    """What a server does that keeps tool configurations: it serves what it kept while the revision is the recorded one."""

    def __init__(self, here: Here):
        self._here = here
        self._kept: dict[str, tuple[int, Sequence[str]]] = {}

    def tools_of(self, assistant: str) -> Sequence[str]:
        recorded = self._here.recorded()
        revision = next(each.revision for each in recorded.assistants if each.name == assistant)
        if self._kept.get(assistant, (-1, []))[0] != revision:
            names = sorted(each.provider_name for each in recorded.attachments if each.assistant == assistant)
            self._kept[assistant] = (revision, names)
        return self._kept[assistant][1]


def test_fault_f2_a_cache_that_was_never_told_sees_by_the_revision_that_it_is_stale(
    crashes: Crashes, tmp_path: Path
) -> None:
    here = copied(crashes.template, tmp_path / "served")
    cache = RevisionCache(here)
    before = cache.tools_of("ops")
    killed = next(each.left for each in crashes.each if each.point == "committed")
    for path in killed.folder.iterdir():
        shutil.copy(path, here.folder / path.name)
    assert (before, cache.tools_of("ops")) == (
        ["issues__create", "issues__search", "old__gone", "wiki__read", "wiki__write"],
        ["find", "fresh__new", "issues__create", "wiki__read"],
    )


def test_fault_f2_every_assistant_whose_rows_changed_has_another_revision_and_no_other_has(crashes: Crashes) -> None:
    def rows(state: Recorded) -> dict[str, object]:
        return {
            one.name: [(one.permissions), *(each for each in state.attachments if each.assistant == one.name)]
            for one in state.assistants
        }

    def revisions(state: Recorded) -> dict[str, int]:
        return {one.name: one.revision for one in state.assistants}

    before, after = rows(crashes.before), rows(crashes.after)
    kept = before.keys() & after.keys()
    changed = {name for name in kept if before[name] != after[name]}
    raised = {name for name in kept if revisions(crashes.before)[name] != revisions(crashes.after)[name]}
    assert (changed, raised, kept) == ({"ops", "dev"}, {"ops", "dev"}, {"ops", "dev"})


def test_what_a_killed_apply_leaves_is_a_sound_database(crashes: Crashes) -> None:
    for each in crashes.each:
        folder = each.left.folder.with_name(each.left.folder.name + "-check")
        shutil.copytree(each.left.folder, folder)
        connection = sqlite3.connect(folder / "remit.db")
        found = [*connection.execute("PRAGMA integrity_check"), *connection.execute("PRAGMA foreign_key_check")]
        connection.close()
        assert found == [("ok",)], each.point


def test_fault_f8_a_saved_plan_whose_reply_was_lost_is_reported_as_done_and_changes_nothing(
    crashes: Crashes, tmp_path: Path
) -> None:
    saved = crashes.template.plan(AFTER, LISTED_AFTER, accept=crashes.accept)
    killed = next(each.left for each in crashes.each if each.point == "committed")
    here = copied(killed, tmp_path / "again")
    again = here.apply(here.plan(AFTER, LISTED_AFTER, accept=crashes.accept), ApprovedPlan(saved.document))
    assert (again.done, again.serial, len(again.already_done)) == ((), None, len(saved.document["operations"]))
    assert here.recorded() == crashes.after
