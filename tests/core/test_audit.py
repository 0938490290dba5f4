from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from remit.core.audit import GENESIS, AuditEvent, AuditFact, AuditKind, Damage, Head, chained, verify
from remit.core.canonical import sha256_hex

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def fact(number: int) -> AuditFact:
    return AuditFact(kind=AuditKind.CALL_INTENT, at=NOW, actor="user:ana", trace_id="t", body={"n": number, "a": "é"})


def chain(length: int, writer: str = "here") -> list[AuditEvent]:
    head = Head(writer=writer, seq=0, digest=GENESIS)
    events: list[AuditEvent] = []
    for number in range(length):
        events.append(chained(fact(number), head, NOW.isoformat()))
        head = head_of(events[-1])
    return events


def head_of(event: AuditEvent) -> Head:
    return Head(writer=event.writer, seq=event.seq, digest=event.digest)


def test_an_event_holds_its_fact_its_place_and_what_it_follows() -> None:
    before = Head(writer="here", seq=6, digest="ab" * 32)
    assert chained(fact(1), before, "2026-11-30T12:00:00.000000+00:00") == AuditEvent(
        writer="here",
        seq=7,
        at="2026-11-30T12:00:00.000000+00:00",
        kind="call_intent",
        actor="user:ana",
        trace_id="t",
        body='{"a":"é","n":1}',
        previous="ab" * 32,
        digest=sha256_hex(
            "audit-v2",
            "here",
            "7",
            "2026-11-30T12:00:00.000000+00:00",
            "call_intent",
            "user:ana",
            "of t",
            '{"a":"é","n":1}',
            "ab" * 32,
        ),
    )


def test_a_fact_without_canonical_json_has_no_place_in_a_chain() -> None:
    for body in ({"n": float("nan")}, {"text": "\ud800"}):
        with pytest.raises(ValueError):  # noqa: PT011 (UnicodeEncodeError is one too)
            chained(replace(fact(1), body=body), Head(writer="here", seq=0, digest=GENESIS), "")


def test_a_whole_trail_is_sound_and_so_is_an_empty_one() -> None:
    events = [*chain(3, "a"), *chain(2, "b")]
    assert verify(events) == ()
    assert verify(events, [head_of(events[1]), head_of(events[-1])]) == ()
    assert verify([]) == ()


@pytest.mark.parametrize("field", ["at", "kind", "actor", "trace_id", "body"])
def test_any_changed_field_is_named_by_chain_and_number(field: str) -> None:
    events = chain(4)
    events[1] = replace(events[1], **{field: "else"})
    assert verify(events) == (Damage(writer="here", seq=2, what="its content was changed"),)


def test_no_trace_and_an_empty_one_and_one_of_that_name_are_three_events() -> None:
    (event,) = chain(1)
    digests = {replace(event, trace_id=each).expected_digest() for each in (None, "", "none", "of none")}
    assert len(digests) == 4


def rewritten(events: Sequence[AuditEvent]) -> list[AuditEvent]:
    """An event changed with a digest that fits again; the next one still follows the old one."""
    changed = replace(events[1], body="{}")
    changed = replace(changed, digest=changed.expected_digest())
    return [events[0], changed, *events[2:]]


DAMAGES: Sequence[tuple[str, Callable[[Sequence[AuditEvent]], Sequence[AuditEvent]], Damage]] = [
    (
        "one-removed",
        lambda events: [events[0], *events[2:]],
        Damage(writer="here", seq=2, what="missing: event 3 follows 1"),
    ),
    ("the-first-removed", lambda events: events[1:], Damage(writer="here", seq=1, what="missing: event 2 follows 0")),
    (
        "two-exchanged",
        lambda events: [events[0], events[2], events[1], events[3]],
        Damage(writer="here", seq=2, what="missing: event 3 follows 1"),
    ),
    (
        "one-twice",
        lambda events: [*events[:2], *events[1:]],
        Damage(writer="here", seq=2, what="missing: event 2 follows 2"),
    ),
    ("one-rewritten", rewritten, Damage(writer="here", seq=3, what="does not follow the event before it")),
]


@pytest.mark.parametrize(("damage", "found"), [pytest.param(*case[1:], id=case[0]) for case in DAMAGES])
def test_what_was_done_to_a_chain_is_named_where_it_shows_first(
    damage: Callable[[Sequence[AuditEvent]], Sequence[AuditEvent]], found: Damage
) -> None:
    assert verify(damage(chain(4))) == (found,)


def test_a_cut_tail_shows_only_against_a_head_that_was_noted() -> None:
    events = chain(4)
    assert verify(events[:2]) == ()
    assert verify(events[:2], [head_of(events[3])]) == (
        Damage(writer="here", seq=4, what="missing: the chain was cut before it"),
    )


def test_a_tail_that_was_cut_and_written_anew_is_not_the_one_that_was_noted() -> None:
    events = chain(4)
    anew = chained(replace(fact(9), actor="user:eve"), head_of(events[2]), NOW.isoformat())
    assert verify([*events[:3], anew], [head_of(events[3])]) == (
        Damage(writer="here", seq=4, what="not the event that was noted elsewhere"),
    )


def test_a_whole_chain_that_is_gone_shows_only_against_a_head_that_was_noted() -> None:
    gone = chain(2, "gone")
    assert verify(chain(1), [head_of(gone[1])]) == (
        Damage(writer="gone", seq=2, what="missing: the chain was cut before it"),
    )


def test_every_chain_has_its_first_damage_only_and_the_others_stay_sound() -> None:
    first, second, third = chain(4, "a"), chain(4, "b"), chain(4, "c")
    first[0], first[2] = replace(first[0], body="{}"), replace(first[2], body="{}")
    noted = [head_of(first[3]), Head(writer="a", seq=9, digest="0"), head_of(third[3])]
    assert verify([*first, *second[1:], *third], noted) == (
        Damage(writer="a", seq=1, what="its content was changed"),
        Damage(writer="b", seq=1, what="missing: event 2 follows 0"),
    )
