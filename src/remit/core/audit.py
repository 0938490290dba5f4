"""The audit trail: facts chained by hash, one chain for each writer, and the proof that nothing was touched.

Decides the canonical form of an event, the link to the one before it, and what `verify` calls wrong, with the first bad
event by chain and number. A cut-off tail shows only against a head noted elsewhere: another chain's checkpoint, or one
that was exported. Appending and keeping are the store's. Pure.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from remit.core.canonical import JsonObject, canonical_json, sha256_hex

__all__ = [
    "GENESIS",
    "AuditEvent",
    "AuditFact",
    "AuditKind",
    "Damage",
    "Head",
    "chained",
    "flaw_of",
    "verify",
]

GENESIS = "0" * 64
"""What the first event of a chain follows."""


class AuditKind(StrEnum):
    """What happened."""

    CHECKPOINT = "checkpoint"
    RUN_STARTED = "run_started"
    RUN_ENDED = "run_ended"
    CALL_INTENT = "call_intent"
    CALL_OUTCOME = "call_outcome"
    CALL_DENIED = "call_denied"
    CALL_HANDED_OFF = "call_handed_off"
    CALL_LATE = "call_late"
    CALL_RECOVERED = "call_recovered"
    CALL_REPLAYED = "call_replayed"
    SESSION_RENEWED = "session_renewed"
    CONTRACT_DRIFT = "contract_drift"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_DECIDED = "approval_decided"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFact:
    """What is to be kept, before it has a place in a chain. `body` holds names as in OpenTelemetry where it has one."""

    kind: AuditKind
    at: datetime
    actor: str
    trace_id: str | None
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The newest event of a chain."""

    writer: str
    seq: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """A fact in its place. `at` is UTC ISO text as it is stored, `body` canonical JSON text, digests hex sha256.

    `flaw` is what its reader found that no event of ours has (a text that is none, a number that is none, which `seq` has 0
    for); None for an event that can be read.
    """

    writer: str
    seq: int
    at: str
    kind: str
    actor: str
    trace_id: str | None
    body: str
    previous: str
    digest: str
    flaw: str | None = None

    def expected_digest(self) -> str:
        """The digest that its own content gives."""
        return _digest(self.writer, self.seq, self.at, self.kind, self.actor, self.trace_id, self.body, self.previous)


def chained(fact: AuditFact, head: Head, at: str) -> AuditEvent:
    """The event that follows a head; `at` is the fact's time as the store spells times."""
    seq, kind, body = head.seq + 1, fact.kind.value, canonical_json(fact.body)
    return AuditEvent(
        writer=head.writer,
        seq=seq,
        at=at,
        kind=kind,
        actor=fact.actor,
        trace_id=fact.trace_id,
        body=body,
        previous=head.digest,
        digest=_digest(head.writer, seq, at, kind, fact.actor, fact.trace_id, body, head.digest),
    )


def _digest(
    writer: str, seq: int, at: str, kind: str, actor: str, trace_id: str | None, body: str, previous: str
) -> str:
    # No trace and an empty one are two things: one must not be made of the other unseen.
    trace = "none" if trace_id is None else f"of {trace_id}"
    return sha256_hex("audit-v2", writer, str(seq), at, kind, actor, trace, body, previous)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One thing that is wrong with a chain: where it shows first, and what it is."""

    writer: str
    seq: int
    what: str


def flaw_of(event: AuditEvent) -> str | None:
    """Why an event is none that remit wrote, whatever its digests say; None where it can be read as one."""
    if event.flaw is not None:
        return event.flaw
    try:
        body: object = json.loads(event.body)
    except (ValueError, RecursionError):
        return "its body is no JSON"
    return None if isinstance(body, dict) else "its body is no JSON object"


def verify(events: Iterable[AuditEvent], noted: Iterable[Head] = ()) -> tuple[Damage, ...]:
    """The first damage of every chain, and its first event that is none where that is another; nothing where all is sound.

    `events` come ordered by writer and seq. `noted` are heads known from elsewhere: linking checkpoints and exports; a
    chain that lacks one of them, or has another digest there, was cut or written anew.
    """
    damages: dict[str, Damage] = {}
    flawed: dict[str, Damage] = {}
    digests: dict[tuple[str, int], str] = {}
    for damage, is_flaw in _walk(events, digests):
        damages.setdefault(damage.writer, damage)
        if is_flaw:
            flawed.setdefault(damage.writer, damage)
    for head in noted:
        found = digests.get((head.writer, head.seq))
        if found == head.digest or head.writer in damages:
            continue
        what = "missing: the chain was cut before it" if found is None else "not the event that was noted elsewhere"
        damages[head.writer] = Damage(writer=head.writer, seq=head.seq, what=what)
    return tuple(each for writer in sorted(damages) for each in _both(damages[writer], flawed.get(writer)))


def _both(first: Damage, flawed: Damage | None) -> tuple[Damage, ...]:
    # An event moved out of its place leaves a gap before it: the gap alone would not say where it went.
    return (first,) if flawed in (None, first) else (first, flawed)


def _walk(events: Iterable[AuditEvent], digests: dict[tuple[str, int], str]) -> Iterator[tuple[Damage, bool]]:
    known: dict[str, Head] = {}
    for event in events:
        before = known.get(event.writer, Head(writer=event.writer, seq=0, digest=GENESIS))
        what = _objection(event, before)
        if what is not None:
            # What stands under no number has its place in the chain all the same.
            place = min(event.seq or before.seq + 1, before.seq + 1)
            yield Damage(writer=event.writer, seq=place, what=what), event.flaw is not None
        digests[event.writer, event.seq] = event.digest
        known[event.writer] = Head(writer=event.writer, seq=event.seq, digest=event.digest)


def _objection(event: AuditEvent, before: Head) -> str | None:
    if event.flaw is not None:
        return event.flaw
    if event.seq != before.seq + 1:
        return f"missing: event {event.seq} follows {before.seq}"
    if event.previous != before.digest:
        return "does not follow the event before it"
    if event.digest != event.expected_digest():
        return "its content was changed"
    return flaw_of(event)
