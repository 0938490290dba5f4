"""`remit audit`: read it, prove it, take it out."""

import json
import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing

import pytest

from tests.cli.governed import Rows
from tests.cli.workspace import Workspace, clean_environment


@pytest.fixture
def called(rows: Rows) -> Rows:
    """A trail with one call that came back."""
    rows.call(rows.start(), {"q": "x"}, output="found")
    return rows


def tamper(here: Workspace, statement: str, *then: str) -> None:
    """Write as somebody who owns the file would: the triggers that refuse it are dropped first, and made again."""
    with closing(sqlite3.connect(here.folder / ".remit" / "remit.db")) as database, database:
        triggers = database.execute("select name, sql from sqlite_master where type = 'trigger'").fetchall()
        for name, _ in triggers:
            database.execute(f'drop trigger "{name}"')
        database.execute(statement)
        for sql in (*(sql for _, sql in triggers), *then):
            database.execute(sql)


def events(here: Workspace) -> list[dict[str, object]]:
    return here.run("audit", "tail", "-n", "100", "--format", "json").document["events"]


def test_the_tail_shows_the_newest_events_the_newest_last(here: Workspace, called: Rows):
    kinds = [each["kind"] for each in events(here)]
    assert kinds[-3:] == ["run_started", "call_intent", "call_outcome"]
    assert [line.split()[1] for line in here.run("audit", "tail", "-n", "2").out.splitlines()] == kinds[-2:]


def test_the_tail_of_a_trace_shows_its_events_alone(here: Workspace, called: Rows):
    trace = here.run("runs", "list", "--format", "json").document["runs"][0]["trace_id"]
    listed = here.run("audit", "tail", "--trace", trace, "--format", "json").document["events"]
    assert [(each["kind"], each["trace_id"]) for each in listed] == [
        ("run_started", trace),
        ("call_intent", trace),
        ("call_outcome", trace),
    ]


def test_an_untouched_trail_is_sound(here: Workspace, called: Rows):
    ended = here.run("audit", "verify")
    assert (ended.code, ended.out.splitlines()[-1][:6]) == (0, "sound:")
    document = here.run("audit", "verify", "--format", "json").document
    assert (document["sound"], document["damages"], document["unknown"]) == (True, [], [])
    assert sum(chain["events"] for chain in document["chains"]) == len(events(here))


def test_a_changed_event_is_named_by_chain_and_number(here: Workspace, called: Rows):
    victim = next(each for each in events(here) if each["kind"] == "call_intent")
    tamper(here, "update audit_events set actor = 'user:nobody' where kind = 'call_intent'")
    ended = here.run("audit", "verify")
    told = f"DAMAGED  chain {victim['writer']}, event {victim['seq']}: its content was changed"
    assert (ended.code, told in ended.out) == (1, True)
    document = here.run("audit", "verify", "--format", "json").document
    assert (document["sound"], len(document["damages"])) == (False, 1)


def test_an_emptied_trail_is_not_sound_while_the_database_has_what_it_told_of(here: Workspace, called: Rows):
    tamper(here, "delete from audit_events")
    ended = here.run("audit", "verify")
    assert (ended.code, "sound:" in ended.out) == (1, False)
    assert "DAMAGED  missing: the database has 1 runs, and the trail tells of 0 (run_started)" in ended.out
    document = here.run("audit", "verify", "--format", "json").document
    assert (document["sound"], document["damages"], len(document["faults"])) == (False, [], 3)


def test_a_trail_that_can_be_edited_is_not_sound(here: Workspace, called: Rows):
    tamper(here, "select 1", "drop trigger audit_events_no_update")
    ended = here.run("audit", "verify")
    told = "DAMAGED  the trigger audit_events_no_update is gone: the audit trail can be edited"
    assert (ended.code, told in ended.out) == (1, True)


def test_a_removed_event_and_a_cut_tail_are_named(here: Workspace, called: Rows):
    victim = next(each for each in events(here) if each["kind"] == "call_outcome")
    head = f"{victim['writer']}:{victim['seq']}:{victim['digest']}"
    assert here.run("audit", "verify", "--head", head).code == 0
    tamper(here, "delete from audit_events where kind = 'call_outcome'")
    assert here.run("audit", "verify").code == 0
    ended = here.run("audit", "verify", "--head", head)
    assert (ended.code, f"event {victim['seq']}: missing: the chain was cut before it" in ended.out) == (1, True)
    assert "1 call without an outcome" in ended.out


@pytest.mark.parametrize("head", ["", "w", "w:1", "w:x:" + "a" * 64, "w:1:abc", ":1:" + "a" * 64])
def test_a_head_that_is_none_is_a_usage_error(here: Workspace, head: str):
    assert here.run("audit", "verify", "--head", head).code == 64


def test_an_export_holds_every_event_and_all_heads(here: Workspace, called: Rows):
    *lines, last = map(json.loads, here.run("audit", "export").out.splitlines())
    assert sorted(each["digest"] for each in lines) == sorted(str(each["digest"]) for each in events(here))
    assert {each["type"] for each in lines} == {"event"}
    heads = [f"{each['writer']}:{each['seq']}:{each['digest']}" for each in last["heads"]]
    passed = [word for head in heads for word in ("--head", head)]
    assert (last["type"], here.run("audit", "verify", *passed).code) == ("heads", 0)


def test_an_export_goes_into_a_file_of_the_owner_alone(here: Workspace, called: Rows):
    ended = here.run("audit", "export", "--out", "audit.jsonl")
    file = here.folder / "audit.jsonl"
    assert (ended.code, ended.out, file.stat().st_mode & 0o777) == (0, "", 0o600)
    assert file.read_text("utf-8") == here.run("audit", "export").out
    assert here.run("audit", "export", "--out", "no/such/folder/x").code == 1


def test_an_export_is_never_in_memory_whole(here: Workspace, called: Rows):
    rows, size = 1_500, 20_000
    tamper(
        here,
        f"with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows}) insert into audit_events "
        "select 'long', i, '2026-11-30T12:00:00.000000+00:00', 'contract_drift', 'user:eva', null, "
        f"'{{\"a\":\"' || hex(zeroblob({size} / 2)) || '\"}}', 'p', 'd' from n",
    )
    tracemalloc.start()
    try:
        ended = here.run("audit", "export", "--out", "audit.jsonl")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    written = (here.folder / "audit.jsonl").stat().st_size
    assert ended.code == 0
    assert written > rows * size
    assert peak < written


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        ("actor = cast(x'61ff' as text)", "its actor is no UTF-8"),
        ("body = cast(x'ff' as text)", "its body is no UTF-8"),
        ("body = '{'", "its body is no JSON"),
        ("body = x'00'", "its body is no text"),
        ("seq = 'x'", "it stands under 'x', which is no number"),
    ],
)
def test_an_event_that_is_none_is_named_by_everything_that_reads_it_and_hides_no_other(
    here: Workspace, called: Rows, edit: str, what: str
):
    count = len(events(here))
    victim = next(each for each in events(here) if each["kind"] == "call_intent")
    tamper(here, f"update audit_events set {edit} where kind = 'call_intent'")
    number = 0 if "seq" in edit else victim["seq"]
    named = f"error audit-damaged: audit chain {victim['writer']}, event {number}: {what}"
    tail = here.run("audit", "tail", "-n", "100")
    assert (tail.code, named in tail.err, tail.err.count("error ")) == (1, True, 1)
    assert (len(tail.out.splitlines()), f"DAMAGED: {what}" in tail.out) == (count, True)
    document = here.run("audit", "tail", "-n", "100", "--format", "json")
    assert (document.code, len(document.document["events"])) == (1, count)
    export = here.run("audit", "export", "--out", "audit.jsonl")
    assert (export.code, named in export.err) == (1, True)
    assert len((here.folder / "audit.jsonl").read_text("utf-8").splitlines()) == count + 1
    verify = here.run("audit", "verify", "--format", "json")
    assert verify.code == 1
    damages = verify.document["damages"]
    assert {each["writer"] for each in damages} == {victim["writer"]}
    assert damages[-1]["what"] == (what if edit != "body = '{'" else "its content was changed")


def test_of_many_damaged_events_the_first_are_named_and_the_others_counted(here: Workspace, called: Rows):
    tamper(
        here,
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 25) insert into audit_events "
        "select 'bad', i, 'noon', 'contract_drift', 'user:eva', null, '{', 'p', 'd' from n",
    )
    export = here.run("audit", "export")
    assert (export.code, export.err.count("error audit-damaged"), export.err.endswith("and 5 more\n")) == (1, 20, True)


def test_a_chain_that_nothing_can_follow_is_named_to_whoever_would_add_to_it(here: Workspace, called: Rows):
    assert here.run("suspend", "assistant.ops").code == 0
    tamper(here, "update audit_events set seq = 'x' where writer = 'desk' and seq = 1")
    ended = here.run("resume", "assistant.ops")
    assert (ended.code, ended.out) == (1, "")
    assert "error audit-damaged: audit chain desk: event 'x' has a number that is none" in ended.err


def test_a_reader_that_leaves_ends_the_export_quietly(here: Workspace, called: Rows):
    words = f"{sys.executable} -m remit audit export | head -c 1; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", words], cwd=here.folder, env=clean_environment(), capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"{", b"")


def test_the_trail_is_read_without_a_valid_file(here: Workspace, called: Rows):
    here.write("version: [")
    assert [here.run("audit", *words).code for words in (("tail",), ("verify",), ("export",))] == [0, 0, 0]


def test_without_a_database_there_is_no_trail(here: Workspace):
    for verb in ("tail", "verify", "export"):
        ended = here.run("audit", verb)
        assert (ended.code, "error no-database: " in ended.err) == (1, True)
