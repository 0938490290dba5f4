"""The audit trail in lines: the newest events, and what a pass over all of it found."""

import json
from dataclasses import replace

import pytest

from remit.core.audit import AuditEvent, Damage, Head
from remit.core.audit_review import AuditReview, Chain
from remit.render.audit_text import (
    audit_heads_line,
    audit_line,
    audit_review_document,
    audit_review_text,
    audit_tail_document,
    audit_tail_text,
)
from tests.render.governed_examples import HOSTILE, controls_of

HEAD = Head(writer="w-1", seq=2, digest="c" * 64)
EVENT = AuditEvent(
    writer="w-1",
    seq=2,
    at="2026-11-30T12:00:00.000000Z",
    kind="call_intent",
    actor="assistant:ops",
    trace_id="trace-1",
    body='{"gen_ai.tool.name":"create","remit.action_id":"1","remit.reason":null}',
    previous="b" * 64,
    digest="c" * 64,
)
DOCUMENT = {
    "writer": "w-1",
    "seq": 2,
    "at": "2026-11-30T12:00:00.000000Z",
    "kind": "call_intent",
    "actor": "assistant:ops",
    "trace_id": "trace-1",
    "body": EVENT.body,
    "previous": "b" * 64,
    "digest": "c" * 64,
}
ABOUT = 'tool="create" action="1"'


def test_an_event_is_one_line_with_its_time_kind_actor_facts_place_and_trace():
    assert audit_tail_text([EVENT], colour=False) == (
        f"2026-11-30T12:00:00Z  call_intent  assistant:ops  {ABOUT}  w-1:2  trace trace-1\n"
    )
    foreign = replace(EVENT, body='{"other":[1],"none":null}', trace_id=None)
    assert audit_tail_text([foreign], colour=False).endswith("  assistant:ops  other=[1]  w-1:2\n")
    assert audit_tail_text([], colour=False) == "no events\n"


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("2026-11-30T12:00:00.987654+00:00", "2026-11-30T12:00:00Z"),
        ("2026-11-30T13:30:00+01:30", "2026-11-30T12:00:00Z"),
        ("2026-11-30T12:00:00", "2026-11-30T12:00:00"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("noon", "noon"),
    ],
)
def test_people_read_a_time_to_the_second_and_programs_as_it_is_kept(kept: str, shown: str):
    event = replace(EVENT, at=kept)
    assert audit_tail_text([event], colour=False).startswith(f"{shown}  call_intent  ")
    assert audit_tail_document([event])["events"][0]["at"] == kept


def test_hostile_facts_forge_no_line_and_no_control_sequence():
    body = json.dumps({HOSTILE: HOSTILE, "nested": {"a": [HOSTILE]}})
    bad = replace(EVENT, at=HOSTILE, kind=HOSTILE, actor=HOSTILE, trace_id=HOSTILE, writer=HOSTILE, body=body)
    damage = Damage(writer=HOSTILE, seq=1, what=HOSTILE)
    chain = Chain(writer=HOSTILE, events=1, head=Head(writer=HOSTILE, seq=1, digest=HOSTILE))
    reviewed = audit_review_text(
        AuditReview(chains=(chain,), damages=(damage,), unanswered=(bad,), faults=(HOSTILE,)), colour=False
    )
    tail = audit_tail_text([bad], colour=False)
    assert (controls_of(tail), len(tail.splitlines())) == (set(), 1)
    assert (controls_of(reviewed), len(reviewed.splitlines())) == (set(), 6)
    assert not any(line.lstrip().startswith("::") for line in [*tail.splitlines(), *reviewed.splitlines()])


def test_a_sound_trail_is_told_with_a_head_that_can_be_passed_back():
    sound = AuditReview(chains=(Chain(writer="w-1", events=2, head=HEAD),), damages=(), unanswered=())
    assert audit_review_text(sound, colour=False) == (
        "Audit trail: 1 chain, 2 events\n"
        f"  w-1  2 events  head w-1:2:{'c' * 64}\n"
        "sound: every event follows the one before it, and none was changed\n"
    )


def test_damage_and_calls_without_an_outcome_are_named():
    damaged = AuditReview(
        chains=(Chain(writer="w-1", events=2, head=HEAD),),
        damages=(Damage(writer="w-1", seq=1, what="its content was changed"),),
        unanswered=(EVENT,),
        faults=("the trigger x is gone",),
    )
    assert audit_review_text(damaged, colour=False).splitlines()[2:] == [
        "DAMAGED  chain w-1, event 1: its content was changed",
        "DAMAGED  the trigger x is gone",
        "1 call without an outcome: under way, or unknown",
        f"  2026-11-30T12:00:00Z  {ABOUT}  w-1:2  trace trace-1",
    ]
    assert audit_review_document(damaged) == {
        "format_version": "1.0",
        "sound": False,
        "chains": [{"writer": "w-1", "events": 2, "head": {"writer": "w-1", "seq": 2, "digest": "c" * 64}}],
        "damages": [{"writer": "w-1", "seq": 1, "what": "its content was changed"}],
        "faults": ["the trigger x is gone"],
        "unknown": [DOCUMENT],
    }


def test_an_export_is_a_line_of_json_for_each_event_and_the_heads_last():
    assert audit_tail_document([EVENT]) == {"format_version": "1.0", "events": [DOCUMENT]}
    assert json.loads(audit_line(EVENT)) == {"type": "event", **DOCUMENT}
    assert json.loads(audit_heads_line([HEAD])) == {
        "type": "heads",
        "format_version": "1.0",
        "heads": [{"writer": "w-1", "seq": 2, "digest": "c" * 64}],
    }
    edited = audit_line(replace(EVENT, body="##[error]\n\x1b\ud800"))
    assert edited.isascii()
    assert edited.isprintable()
    assert "##[" not in edited
