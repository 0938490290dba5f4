"""The audit trail in the database: appended to by several, edited by nobody, and any damage shows."""

import json
import sqlite3
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.audit import AuditEvent, AuditFact, AuditKind, Damage, Head
from remit.core.audit_review import review
from remit.core.governance import Suspension, SuspensionTarget
from remit.store.chains import CHECKPOINT_EVERY
from remit.store.journal import Journal
from tests.store.calls import SECONDS, Site, a_call, intent, site


@pytest.fixture
def here(tmp_path: Path) -> Site:
    return site(tmp_path)


def fact(site: Site, text: str = "seen", trace_id: str | None = None) -> AuditFact:
    return AuditFact(
        kind=AuditKind.CONTRACT_DRIFT, at=site.clock.now, actor="user:ana", trace_id=trace_id, body={"text": text}
    )


def note(site: Site, journal: Journal, *texts: str) -> None:
    for future in [journal.note(fact(site, text)) for text in texts]:
        future.result(SECONDS)


def edited(site: Site, *statements: str) -> None:
    """Change the trail as somebody does who owns the file: the triggers do not stop that."""
    raw = sqlite3.connect(site.path)
    triggers = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        raw.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        raw.execute(statement)
    for _, sql in triggers:
        raw.execute(sql)
    raw.commit()
    raw.close()


def damages(site: Site, *noted: Head) -> tuple[Damage, ...]:
    return review(site.governance.audit.audit_events(), noted).damages


# --- append only -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET body = '{}' WHERE seq = 1",
        "UPDATE audit_events SET seq = 9",
        "DELETE FROM audit_events",
        "DELETE FROM audit_events WHERE seq = 2",
        "INSERT OR REPLACE INTO audit_events SELECT writer, seq, at, kind, 'user:eve', trace_id, body, previous, digest"
        " FROM audit_events",
        "REPLACE INTO audit_events SELECT writer, seq, at, kind, 'user:eve', trace_id, body, previous, digest"
        " FROM audit_events",
    ],
)
def test_the_database_itself_refuses_to_change_or_drop_an_event(here: Site, statement: str) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two")
    before = list(here.governance.audit.audit_events())
    raw = sqlite3.connect(here.path)
    raw.execute("PRAGMA recursive_triggers = ON")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw.execute(statement)
    raw.close()
    assert list(here.governance.audit.audit_events()) == before


def test_an_event_replaced_by_a_connection_without_our_rules_is_found(here: Site) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two")
    raw = sqlite3.connect(here.path)
    raw.execute(
        "INSERT OR REPLACE INTO audit_events SELECT writer, seq, at, kind, 'user:eve', trace_id, body, previous, digest"
        " FROM audit_events WHERE seq = 1"
    )
    raw.commit()
    raw.close()
    assert damages(here) == (Damage(writer="here", seq=1, what="its content was changed"),)


# --- damage ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        pytest.param(
            "UPDATE audit_events SET body = replace(body, 'two', 'too') WHERE seq = 2",
            Damage(writer="here", seq=2, what="its content was changed"),
            id="changed",
        ),
        pytest.param(
            "UPDATE audit_events SET actor = x'00ff' WHERE seq = 2",
            Damage(writer="here", seq=2, what="its content was changed"),
            id="changed-into-bytes",
        ),
        pytest.param(
            "DELETE FROM audit_events WHERE seq = 2",
            Damage(writer="here", seq=2, what="missing: event 3 follows 1"),
            id="removed",
        ),
        pytest.param(
            "INSERT INTO audit_events SELECT writer, -1, at, kind, actor, trace_id, body, previous, digest"
            " FROM audit_events WHERE seq = 2",
            Damage(writer="here", seq=-1, what="missing: event -1 follows 0"),
            id="hidden-before-the-first",
        ),
        pytest.param(
            "INSERT INTO audit_events SELECT writer, 'x', at, kind, actor, trace_id, body, previous, digest"
            " FROM audit_events WHERE seq = 2",
            Damage(writer="here", seq=0, what="missing: event 0 follows 4"),
            id="under-a-number-that-is-none",
        ),
        pytest.param(
            "UPDATE audit_events SET writer = ''",
            Damage(writer="", seq=1, what="its content was changed"),
            id="moved-into-a-chain-without-a-name",
        ),
    ],
)
def test_what_was_done_to_the_trail_is_named(here: Site, statement: str, found: Damage) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two", "three", "four")
    edited(here, statement)
    assert damages(here) == (found,)


def test_two_events_exchanged_in_place_are_found(here: Site) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two", "three")
    edited(
        here,
        "UPDATE audit_events SET seq = 99 WHERE seq = 2",
        "UPDATE audit_events SET seq = 2 WHERE seq = 3",
        "UPDATE audit_events SET seq = 3 WHERE seq = 99",
    )
    assert damages(here) == (Damage(writer="here", seq=2, what="does not follow the event before it"),)


def test_a_cut_tail_shows_in_the_checkpoint_of_another_chain(here: Site) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two", "three")
    with here.journal(writer="there"):
        pass
    edited(here, "DELETE FROM audit_events WHERE writer = 'here' AND seq > 1")
    assert damages(here) == (Damage(writer="here", seq=3, what="missing: the chain was cut before it"),)


def test_a_cut_tail_that_was_written_on_shows_in_the_checkpoint_of_another_chain(here: Site) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two", "three")
    with here.journal(writer="there"):
        pass
    edited(here, "DELETE FROM audit_events WHERE writer = 'here' AND seq > 1")
    with here.journal() as journal:
        note(here, journal, "anew", "anew", "anew")
    assert damages(here) == (Damage(writer="here", seq=3, what="not the event that was noted elsewhere"),)


def test_a_chain_taken_away_whole_shows_in_what_a_person_did_since(here: Site) -> None:
    with here.journal("r1"):
        pass
    governance, at = here.governance, here.clock.now
    server = Suspension(
        target=SuspensionTarget(server_id="s"), address="server.s", actor="user:ana", at=at, reason=None
    )
    (head,) = (each for each in governance.audit.audit_heads() if each.writer == "here")
    assert governance.suspensions.suspend("local", server) is True
    assert damages(here) == ()
    assert checkpoints(here, "desk") == [[("here", head.seq)]]
    edited(here, "DELETE FROM audit_events WHERE writer = 'here'")
    assert damages(here) == (Damage(writer="here", seq=head.seq, what="missing: the chain was cut before it"),)


def test_a_cut_tail_shows_against_a_head_that_was_exported(here: Site) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two")
    exported = here.governance.audit.audit_heads()
    edited(here, "DELETE FROM audit_events WHERE seq = 2")
    assert damages(here) == ()
    assert damages(here, *exported) == (Damage(writer="here", seq=2, what="missing: the chain was cut before it"),)


def test_a_trail_that_is_only_grown_stays_sound_against_every_head_it_ever_had(here: Site) -> None:
    noted: list[Head] = []
    for round_ in range(4):
        with here.journal(writer=("here", "there")[round_ % 2]) as journal:
            note(here, journal, f"round {round_}")
        noted += here.governance.audit.audit_heads()
    assert damages(here, *noted) == ()


# --- chains and checkpoints ----------------------------------------------------------------------------------------------------


def checkpoints(site: Site, writer: str) -> list[list[tuple[str, int]]]:
    """The heads that each checkpoint of a chain notes."""
    return [
        [(head["writer"], head["seq"]) for head in json.loads(event.body)["remit.heads"]]
        for event in site.governance.audit.audit_events()
        if (event.writer, event.kind) == (writer, "checkpoint")
    ]


def test_opening_a_journal_links_the_other_chains_as_they_are(here: Site) -> None:
    with here.journal(writer="a") as journal:
        note(here, journal, "one")
    with here.journal(writer="b") as journal:
        note(here, journal, "one")
    with here.journal(writer="a"):
        pass
    assert checkpoints(here, "a") == [[("b", 2)]]
    assert checkpoints(here, "b") == [[("a", 1)]]


def test_a_journal_that_finds_the_other_chains_unchanged_adds_no_checkpoint(here: Site) -> None:
    with here.journal(writer="a") as journal:
        note(here, journal, "one")
    for _ in range(3):
        with here.journal(writer="b"):
            pass
    assert checkpoints(here, "b") == [[("a", 1)]]


def test_a_long_journal_links_the_other_chains_again_after_a_thousand_events(here: Site) -> None:
    with here.journal(writer="a") as first, here.journal(writer="b") as second:
        note(here, first, "one")
        note(here, second, *["x"] * CHECKPOINT_EVERY)
        note(here, second, "y")
        found = checkpoints(here, "b")
    assert found == [[("a", 1)]]


def test_two_journals_on_one_chain_leave_no_gap_and_no_fork(here: Site) -> None:
    with here.journal("r1") as first, here.journal() as second:
        futures = [(first, second)[number % 2].begin(intent(a_call(here, stamp=here.stamp))) for number in range(40)]
        assert {type(future.result(SECONDS)).__name__ for future in futures} == {"Started"}
        events = [event for event in here.governance.audit.audit_events() if event.writer == "here"]
    assert [event.seq for event in events] == list(range(1, 42))
    assert damages(here) == ()


# --- reading ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def trail(here: Site) -> Site:
    """Two chains that were written by turns, a second apart."""
    for number in range(3):
        for writer in ("a", "b"):
            with here.journal(writer=writer) as journal:
                here.clock.advance(timedelta(seconds=1))
                journal.note(fact(here, f"{writer}{number}", trace_id=f"trace-{number}")).result(SECONDS)
    return here


def facts_of(events: Iterable[AuditEvent]) -> list[str]:
    return [json.loads(event.body)["text"] for event in events if event.kind == "contract_drift"]


def test_the_trail_is_read_chain_by_chain(trail: Site) -> None:
    assert facts_of(trail.governance.audit.audit_events()) == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_the_newest_events_come_in_the_order_of_time(trail: Site) -> None:
    audit = trail.governance.audit
    newest = list(audit.audit_events(limit=4))
    assert [event.at for event in newest] == sorted(event.at for event in newest)
    assert (len(newest), facts_of(newest)[-1]) == (4, "b2")
    assert facts_of(audit.audit_events(limit=1000)) == ["a0", "b0", "a1", "b1", "a2", "b2"]
    assert list(audit.audit_events(limit=0)) == []


def test_the_events_of_one_trace_are_read_alone(trail: Site) -> None:
    audit = trail.governance.audit
    assert facts_of(audit.audit_events(trace_id="trace-1")) == ["a1", "b1"]
    assert facts_of(audit.audit_events(trace_id="trace-1", limit=1)) == ["b1"]
    assert list(audit.audit_events(trace_id="none")) == []


def test_the_heads_are_the_newest_events_by_writer(trail: Site) -> None:
    events = list(trail.governance.audit.audit_events())
    newest = {event.writer: Head(writer=event.writer, seq=event.seq, digest=event.digest) for event in events}
    assert trail.governance.audit.audit_heads() == tuple(newest.values())


def test_a_trail_longer_than_a_page_is_read_whole(here: Site) -> None:
    with here.journal() as journal:
        futures = [journal.note(fact(here)) for _ in range(5100)]
        for future in futures:
            future.result(SECONDS)
    events = list(here.governance.audit.audit_events())
    assert [event.seq for event in events] == list(range(1, 5101))


def test_an_empty_trail_has_no_events_and_no_heads(here: Site) -> None:
    audit = here.governance.audit
    assert (list(audit.audit_events()), list(audit.audit_events(limit=5)), audit.audit_heads()) == ([], [], ())
