"""The audit trail in the database: appended to by several, edited by nobody, and any damage shows."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from remit.core.audit import AuditEvent, AuditFact, AuditKind, Damage, Head
from remit.core.audit_review import review
from remit.core.governance import Suspension, SuspensionTarget
from remit.errors import StoreError
from remit.store.chains import CHECKPOINT_EVERY
from remit.store.journal import Journal
from tests.store.calls import SECONDS, Site, a_call, intent, site
from tests.store.tampering import edited


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


def damages(site: Site, *noted: Head) -> tuple[Damage, ...]:
    return review(site.governance.audit.audit_events(), noted).damages


# --- append only -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A trail of two events, for tests that change nothing of it."""
    made = site(tmp_path_factory.mktemp("noted"))
    with made.journal() as journal:
        note(made, journal, "one", "two")
    return made


SAME = "seq, at, kind, 'user:eve', trace_id, body, previous, digest FROM audit_events WHERE seq = 1"
COLUMNS = "writer, seq, at, kind, actor, trace_id, body, previous, digest"


@pytest.mark.parametrize("recursive", ["ON", "OFF"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_events SET body = '{}' WHERE seq = 1",
        "UPDATE audit_events SET seq = 9",
        "UPDATE OR REPLACE audit_events SET seq = 2 WHERE seq = 1",
        "DELETE FROM audit_events",
        "DELETE FROM audit_events WHERE seq = 2",
        f"INSERT OR REPLACE INTO audit_events SELECT writer, {SAME}",
        f"REPLACE INTO audit_events SELECT writer, {SAME}",
        f"REPLACE INTO audit_events SELECT writer, CAST(seq AS TEXT), {SAME.removeprefix('seq, ')}",
        f"REPLACE INTO audit_events (rowid, {COLUMNS}) SELECT rowid, 'elsewhere', {SAME}",
        f"INSERT INTO audit_events SELECT writer, {SAME} ON CONFLICT DO UPDATE SET actor = 'user:eve'",
    ],
)
def test_the_database_itself_refuses_to_change_replace_or_drop_an_event(
    noted: Site, statement: str, recursive: str
) -> None:
    before = list(noted.governance.audit.audit_events())
    raw = sqlite3.connect(noted.path)
    raw.execute(f"PRAGMA recursive_triggers = {recursive}")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw.execute(statement)
    raw.close()
    assert (len(before), list(noted.governance.audit.audit_events())) == (2, before)


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
            Damage(writer="here", seq=2, what="its actor is no text"),
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
            Damage(writer="here", seq=5, what="it stands under 'x', which is no number"),
            id="under-a-number-that-is-none",
        ),
        pytest.param(
            "UPDATE audit_events SET seq = 2.5 WHERE seq = 3",
            Damage(writer="here", seq=3, what="it stands under 2.5, which is no number"),
            id="under-a-fraction",
        ),
        pytest.param(
            "UPDATE audit_events SET seq = CAST(x'ff' AS TEXT) WHERE seq = 4",
            Damage(writer="here", seq=4, what="it stands under '\\udcff', which is no number"),
            id="under-what-is-not-even-text",
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


def test_events_whose_missing_trace_was_made_an_empty_one_are_named(here: Site) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two")
    edited(here, "UPDATE audit_events SET trace_id = '' WHERE trace_id IS NULL")
    assert damages(here) == (Damage(writer="here", seq=1, what="its content was changed"),)


@pytest.mark.parametrize("column", ["at", "kind", "actor", "trace_id", "body", "previous", "digest"])
def test_a_text_that_is_no_utf8_hides_no_other_event_and_is_named(here: Site, column: str) -> None:
    for writer in ("here", "there"):
        with here.journal(writer=writer) as journal:
            note(here, journal, "one", "two", "three")
    edited(here, f"UPDATE audit_events SET {column} = CAST(x'61ff62' AS TEXT) WHERE writer = 'here' AND seq = 2")
    found = list(here.governance.audit.audit_events())
    assert [(event.seq, event.flaw) for event in found if event.writer == "here"] == [
        (1, None),
        (2, f"its {column} is no UTF-8"),
        (3, None),
    ]
    assert {event.flaw for event in found if event.writer == "there"} == {None}
    assert len(list(here.governance.audit.audit_events(limit=100))) == len(found)
    assert damages(here) == (Damage(writer="here", seq=2, what=f"its {column} is no UTF-8"),)


@pytest.mark.parametrize("name", ["CAST(x'61ff' AS TEXT)", "x'61ff'", "CAST(x'ff' AS TEXT)", "x'00'"])
def test_a_chain_whose_name_is_no_text_hides_no_other_and_is_named(here: Site, name: str) -> None:
    for writer in ("a", "here", "z"):
        with here.journal(writer=writer) as journal:
            note(here, journal, "one", "two")
    edited(here, f"UPDATE audit_events SET writer = {name} WHERE writer = 'here'")
    found = review(here.governance.audit.audit_events())
    assert {chain.writer for chain in found.chains} >= {"a", "z"}
    (damage,) = (each for each in found.damages if each.writer != "here")
    assert (damage.seq, damage.what) in {(1, "its writer is no UTF-8"), (1, "its writer is no text")}
    # The others noted that chain; theirs are sound, and go on.
    assert [each.seq for each in found.damages if each.writer == "here"] == [3]
    with here.journal(writer="z") as journal:
        note(here, journal, "three")


@pytest.mark.parametrize(("body", "what"), [("{", "its body is no JSON"), ("[]", "its body is no JSON object")])
def test_a_body_that_is_no_json_is_named_also_where_its_digest_was_made_to_fit(
    here: Site, body: str, what: str
) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two")
    last = list(here.governance.audit.audit_events())[-1]
    forged = replace(last, body=body)
    edited(here, f"UPDATE audit_events SET body = '{body}', digest = '{forged.expected_digest()}' WHERE seq = 2")
    assert damages(here) == (Damage(writer="here", seq=2, what=what),)


# --- writing on --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ("seq = 'x'", "event 'x' has a number that is none"),
        ("seq = 2.5", "event 2.5 has a number that is none"),
        ("digest = x'ff'", "event 2 has a digest that is no text"),
        ("digest = CAST(x'ff' AS TEXT)", "event 2 has a digest that is no text"),
    ],
)
def test_nothing_follows_an_event_that_is_none_and_the_error_names_it(here: Site, edit: str, told: str) -> None:
    with here.journal() as journal:
        note(here, journal, "one", "two")
        edited(here, f"UPDATE audit_events SET {edit} WHERE seq = 2")
        refused = journal.note(fact(here)).exception(SECONDS)
    assert isinstance(refused, StoreError)
    assert (refused.code, refused.place, told in refused.message) == ("audit-damaged", "audit chain here", True)
    with pytest.raises(StoreError) as opened, here.journal():
        pass
    assert (opened.value.code, opened.value.message) == ("audit-damaged", refused.message)


@pytest.mark.parametrize("edit", ["seq = 'x'", "digest = x'ff'", "digest = CAST(x'ff' AS TEXT)"])
def test_a_damaged_chain_stops_no_other_which_notes_nothing_of_it(here: Site, edit: str) -> None:
    with here.journal(writer="bad") as journal:
        note(here, journal, "one", "two")
    edited(here, f"UPDATE audit_events SET {edit} WHERE writer = 'bad' AND seq = 2")
    with here.journal(writer="good") as journal:
        note(here, journal, "one")
    assert checkpoints(here, "good") == []
    assert [(each.writer, each.seq) for each in damages(here)] == [("bad", 2)]


def test_a_checkpoint_that_was_made_unreadable_is_made_anew(here: Site) -> None:
    for writer in ("a", "b"):
        with here.journal(writer=writer) as journal:
            note(here, journal, "one")
    edited(here, "UPDATE audit_events SET body = '{' WHERE writer = 'b' AND kind = 'checkpoint'")
    with here.journal(writer="b") as journal:
        note(here, journal, "two")
    assert [(each.writer, each.seq) for each in damages(here)] == [("b", 1)]


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
