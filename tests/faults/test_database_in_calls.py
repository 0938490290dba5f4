"""A database that dies around governed calls: no side effect without a durable intent, nothing half applied, no lost lock."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.live import Site, called, site
from tests.faults.processes import ROOT
from tests.upstream.calls import until

SECONDS = 40
PORTABLE = """\
version: 1
workspace: demo
owner: acme
mcp:
  servers:
    - name: work
      command: ["{python}", "SERVER", "@work.json"]
      tools:
        write: {surface: locked}
assistants:
  - name: ops
    tools:
      - server: work
        include: [write]
"""


@pytest.mark.slow
def test_fault_f6_killed_at_any_statement_of_the_journal_a_call_went_out_only_with_its_intent_and_at_most_once(
    tmp_path: Path,
) -> None:
    template, out = tmp_path / "template", tmp_path / "out"
    out.mkdir()
    portable(template)
    program = [sys.executable, "-m", "tests.faults.crashing_calls", str(template), str(out)]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    endings: list[tuple[str, int]] = json.loads(ended.stdout)
    assert ([code for _, code in endings], endings[-1][0]) == ([-9] * (len(endings) - 1) + [0], "")
    assert [statement for statement, _ in endings].count("COMMIT") >= 2
    outcomes = {after_a_crash(Site.at_folder(out / str(number + 1))) for number in range(len(endings))}
    # Killed before the intent was durable, after it, and not at all.
    assert outcomes == {(0, None, None), (1, "unknown", "outcome_unknown"), (1, "completed", None)}


def portable(folder: Path) -> None:
    """An applied workspace that can be copied."""
    folder.mkdir()
    here = Site.at_folder(folder)
    here.serve()
    options = json.loads((folder / "work.json").read_text("utf-8"))
    options |= {"called": "called", "methods": "methods", "pids": "pids"}
    (folder / "work.json").write_text(json.dumps(options), "utf-8")
    server = ROOT / "tests" / "servers" / "raw_stdio.py"
    here.config.write_text(PORTABLE.replace("SERVER", str(server)), "utf-8")
    ended = here.at.apply()
    assert ended.code == 0, ended.err


def after_a_crash(here: Site) -> tuple[int, str | None, str | None]:
    """How often the call had arrived, and what a repetition by its key finds of it; also checks what it leaves."""
    before = len(here.arrived())
    intents = here.sql("SELECT count(*) FROM audit_events WHERE kind = 'call_intent'")[0][0]
    assert before <= intents

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            result = await called(run, "write", 1, tool_call_id="again", idempotency_key="key")
            assert result.code == ("outcome_unknown" if here.actions().get("c", ("", ""))[0] == "unknown" else None)

    asyncio.run(main())
    assert len(here.arrived()) == (before if intents else 1)
    here.sound_audit()
    state, code = here.actions().get("c", (None, None))
    return before, state, code


def test_fault_f6_while_the_database_is_gone_no_call_goes_out_and_one_that_was_out_still_answers(
    tmp_path: Path,
) -> None:
    release, kept, away = tmp_path / "release", tmp_path / ".remit", tmp_path / "away"
    here = site(tmp_path, held_by=str(release))

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            out = asyncio.create_task(called(run, "write", 1, tool_call_id="out", idempotency_key="key"))
            await until(lambda: len(here.arrived()) == 1)
            kept.rename(away)
            refused = await called(run, "write", 2)
            assert (refused.code, "does not go out" in refused.content) == ("not_recorded", True)
            release.touch()
            result = await out
            assert (result.code, result.structured_content is None) == (None, False)
            assert "could not be recorded" in str(result.metadata["not_recorded"])
            away.rename(kept)
            assert not (await called(run, "write", 3, tool_call_id="back")).is_error
            again = await called(run, "write", 1, idempotency_key="key")
            assert (again.metadata["replayed"], again.structured_content) == (True, result.structured_content)

    asyncio.run(main())
    assert here.arrived() == ["write 1", "write 3"]
    assert here.actions() == {"out": ("completed", None), "back": ("completed", None)}
    here.sound_audit()


def test_fault_f7_an_outcome_that_came_while_the_database_was_away_is_kept_when_it_is_back_also_by_a_close(
    tmp_path: Path,
) -> None:
    release, kept, away = tmp_path / "release", tmp_path / ".remit", tmp_path / "away"
    here = site(tmp_path, held_by=str(release))

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            out = asyncio.create_task(called(run, "write", 1, tool_call_id="out"))
            await until(lambda: len(here.arrived()) == 1)
            kept.rename(away)
            release.touch()
            assert "not_recorded" in (await out).metadata
            away.rename(kept)

    asyncio.run(main())
    assert (here.arrived(), here.actions()) == (["write 1"], {"out": ("completed", None)})
    assert here.sound_audit() == [("call_intent", "out"), ("call_outcome", "out")]


def test_looking_at_the_database_leaves_the_locks_of_an_open_journal_where_they_are(tmp_path: Path) -> None:
    here = site(tmp_path)
    log = here.database.with_name("remit.db-wal")
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM runs').fetchall(); c.close()"
    )

    async def main() -> None:
        async with asyncio.timeout(SECONDS), here.open() as runtime, runtime.run("ops") as run:
            await called(run, "read", 1)
            assert await run.state() == "in_progress"
            here.desks().runs.runs("acme", limit=1)
            # Whoever closes last writes the log back and removes it; this one is not the last.
            other = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(here.database))
            assert await other.wait() == 0
            assert log.exists()
            assert not (await called(run, "read", 2)).is_error

    asyncio.run(main())
    with closing(sqlite3.connect(here.database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    here.sound_audit()
