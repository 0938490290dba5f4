"""The audit trail looked at as a whole: what each chain holds, what is wrong with it, which calls have no known outcome.

Decides which heads the trail itself notes (the linking checkpoints of undamaged events), which intents nothing ended, and
whether the trail tells of all that the rest of the database has. One pass over the events, which may be many: nothing of them
is kept but digests and the open intents. Pure.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit.core.audit import AuditEvent, AuditKind, Damage, Head, verify
from remit.core.canonical import Json, JsonObject

__all__ = ["AuditReview", "Chain", "Witness", "body_of", "heads_in", "review"]

_TOLD = {
    AuditKind.APPLIED: "applies",
    AuditKind.RUN_STARTED: "runs",
    AuditKind.CALL_INTENT: "calls that went out",
    AuditKind.APPROVAL_REQUESTED: "requests for approval",
    AuditKind.SUSPENDED: "suspensions",
}
"""What there is a row of in the database, by the event that tells of each."""

_ENDS = frozenset({AuditKind.CALL_OUTCOME.value, AuditKind.CALL_RECOVERED.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One writer's chain: how many events were found of it, and the newest."""

    writer: str
    events: int
    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What the rest of a database says of its trail, read before the trail is.

    `faults` are what is wrong with the guards of the trail, `rows` how many rows there are of what an event of each kind tells.
    """

    faults: tuple[str, ...] = ()
    rows: Mapping[AuditKind, int] = field(default_factory=dict[AuditKind, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReview:
    """What a pass over the trail found. `unanswered` are intents without an outcome: under way, or lost.

    `faults` concern no single event: guards that are gone, and events that must be there and are in no chain.
    """

    chains: tuple[Chain, ...]
    damages: tuple[Damage, ...]
    unanswered: tuple[AuditEvent, ...]
    faults: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged and nothing is missing."""
        return not self.damages and not self.faults


@dataclass(slots=True)
class _Pass:
    """What is gathered while `verify` walks the events."""

    counts: Counter[str] = field(default_factory=Counter[str])
    kinds: Counter[str] = field(default_factory=Counter[str])
    heads: dict[str, Head] = field(default_factory=dict[str, Head])
    noted: list[Head] = field(default_factory=list[Head])
    intents: dict[str, AuditEvent] = field(default_factory=dict[str, AuditEvent])
    ended: set[str] = field(default_factory=set[str])

    def over(self, events: Iterable[AuditEvent]) -> Iterator[AuditEvent]:
        for event in events:
            self.counts[event.writer] += 1
            self.kinds[event.kind] += 1
            self.heads[event.writer] = Head(writer=event.writer, seq=event.seq, digest=event.digest)
            self._look_into(event)
            yield event

    def _look_into(self, event: AuditEvent) -> None:
        if event.kind == AuditKind.CHECKPOINT.value:
            # A checkpoint that was edited would accuse another chain; its own chain shows the edit.
            if event.flaw is None and event.digest == event.expected_digest():
                self.noted += heads_in(body_of(event))
        elif event.kind == AuditKind.CALL_INTENT.value:
            action = _action_of(event)
            # An outcome in a chain that sorts before this one was walked first.
            if action in self.ended:
                self.ended.remove(action)
            else:
                self.intents[action] = event
        elif event.kind in _ENDS:
            action = _action_of(event)
            if self.intents.pop(action, None) is None:
                self.ended.add(action)

    def later(self, noted: Sequence[Head]) -> Iterator[Head]:
        """The heads known from elsewhere, then those of the checkpoints; asked for when every event was walked."""
        yield from noted
        yield from self.noted


def review(events: Iterable[AuditEvent], noted: Sequence[Head] = (), witness: Witness | None = None) -> AuditReview:
    """Look at a whole trail. `events` come ordered by writer and seq; `noted` are heads that were exported before."""
    found = _Pass()
    damages = verify(found.over(events), found.later(noted))
    chains = (Chain(writer=name, events=found.counts[name], head=found.heads[name]) for name in sorted(found.heads))
    unanswered = sorted(found.intents.values(), key=lambda event: (event.at, event.writer, event.seq))
    faults = () if witness is None else (*witness.faults, *_untold(witness.rows, found.kinds))
    return AuditReview(chains=tuple(chains), damages=damages, unanswered=tuple(unanswered), faults=faults)


def _untold(rows: Mapping[AuditKind, int], kinds: Counter[str]) -> Iterator[str]:
    for kind, count in rows.items():
        if (told := kinds[kind.value]) < count:
            yield f"missing: the database has {count:,} {_TOLD[kind]}, and the trail tells of {told:,} ({kind.value})"


def body_of(event: AuditEvent) -> JsonObject:
    """What an event holds; empty where its row was edited into something that is no JSON object."""
    try:
        body: object = json.loads(event.body)
    except (ValueError, RecursionError):
        return {}
    return cast("JsonObject", body) if isinstance(body, dict) else {}


def heads_in(body: JsonObject) -> tuple[Head, ...]:
    """The heads that a checkpoint's body notes."""
    heads = body.get("remit.heads")
    listed = cast("Sequence[Json]", heads) if isinstance(heads, list) else ()
    return tuple(head for each in listed if (head := _head(each)) is not None)


def _head(value: Json) -> Head | None:
    match value:
        case {"writer": str(writer), "seq": int(seq), "digest": str(digest)}:
            return Head(writer=writer, seq=seq, digest=digest)
        case _:
            return None


def _action_of(event: AuditEvent) -> str:
    action = body_of(event).get("remit.action_id")
    # Without a readable id an intent is open, and an outcome ends nothing.
    return action if isinstance(action, str) else f"{event.writer}:{event.seq}"
