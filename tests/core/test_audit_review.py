"""The audit trail as a whole: what each chain holds, what is wrong, and which calls have no outcome."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from remit.core.audit import GENESIS, AuditEvent, AuditFact, AuditKind, Damage, Head, chained
from remit.core.audit_review import Chain, review
from remit.core.canonical import JsonObject

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def chain(writer: str, *facts: tuple[AuditKind, JsonObject]) -> list[AuditEvent]:
    """Events of one writer, linked."""
    head, events = Head(writer=writer, seq=0, digest=GENESIS), list[AuditEvent]()
    for kind, body in facts:
        event = chained(
            AuditFact(kind=kind, at=NOON, actor="user:eva", trace_id="t", body=body), head, NOON.isoformat()
        )
        events.append(event)
        head = head_of(events)
    return events


def head_of(events: Sequence[AuditEvent]) -> Head:
    return Head(writer=events[-1].writer, seq=events[-1].seq, digest=events[-1].digest)


def intent(action: str) -> tuple[AuditKind, JsonObject]:
    return AuditKind.CALL_INTENT, {"remit.action_id": action}


def outcome(action: str) -> tuple[AuditKind, JsonObject]:
    return AuditKind.CALL_OUTCOME, {"remit.action_id": action}


def checkpoint(*heads: Head) -> tuple[AuditKind, JsonObject]:
    told = [{"writer": head.writer, "seq": head.seq, "digest": head.digest} for head in heads]
    return AuditKind.CHECKPOINT, {"remit.heads": told}


def test_a_sound_trail_names_each_chain_with_its_size_and_head():
    one, two = chain("a", intent("1"), outcome("1")), chain("b", intent("2"), outcome("2"), intent("3"))
    found = review([*one, *two])
    assert found.chains == (
        Chain(writer="a", events=2, head=head_of(one)),
        Chain(writer="b", events=3, head=head_of(two)),
    )
    assert (found.is_sound, found.damages) == (True, ())
    assert found.unanswered == (two[2],)


def test_an_empty_trail_is_sound():
    found = review([])
    assert (found.chains, found.is_sound, found.unanswered) == ((), True, ())


def test_an_outcome_in_another_chain_or_a_recovery_ends_an_intent():
    crashed = chain("a", intent("1"), intent("2"))
    recovered = chain("b", (AuditKind.CALL_RECOVERED, {"remit.action_id": "1"}), outcome("2"))
    assert review([*crashed, *recovered]).unanswered == ()


def test_an_outcome_that_is_walked_before_its_intent_ends_it_too():
    recovered = chain("a", (AuditKind.CALL_RECOVERED, {"remit.action_id": "1"}))
    crashed = chain("b", intent("1"), intent("2"))
    assert review([*recovered, *crashed]).unanswered == (crashed[1],)


def test_a_cut_tail_shows_against_the_checkpoint_of_another_chain():
    one = chain("a", intent("1"), outcome("1"))
    two = chain("b", checkpoint(head_of(one)))
    assert review([*one, *two]).is_sound
    assert review([*one[:1], *two]).damages == (Damage(writer="a", seq=2, what="missing: the chain was cut before it"),)


def test_a_chain_that_was_written_anew_shows_against_a_noted_head():
    noted = head_of(chain("a", intent("1"), outcome("1")))
    anew = chain("a", intent("1"), outcome("another"))
    assert review(anew, [noted]).damages == (Damage(writer="a", seq=2, what="not the event that was noted elsewhere"),)


def test_an_edited_checkpoint_accuses_its_own_chain_only():
    one = chain("a", intent("1"), outcome("1"))
    (event,) = chain("b", checkpoint(head_of(one)))
    forged = replace(event, body='{"remit.heads":[{"digest":"00","seq":9,"writer":"a"}]}')
    assert review([*one, forged]).damages == (Damage(writer="b", seq=1, what="its content was changed"),)


def test_an_edited_body_that_is_no_json_is_damage_and_no_failure():
    one = chain("a", intent("1"), outcome("1"))
    edited = [one[0], replace(one[1], body="[" * 50_000)]
    found = review(edited)
    assert found.damages == (Damage(writer="a", seq=2, what="its content was changed"),)
    assert found.unanswered == (one[0],)


def test_a_checkpoint_with_heads_that_are_none_notes_nothing():
    assert review(chain("a", (AuditKind.CHECKPOINT, {"remit.heads": [1, {"writer": 2}, "x"]}))).is_sound
