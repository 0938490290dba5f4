"""What `remit audit` prints: the newest events, and what a pass over the whole trail found. Decides layout only."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypedDict

from remit.core.audit import AuditEvent, Damage, Head, flaw_of
from remit.core.audit_review import AuditReview, Chain, body_of
from remit.core.canonical import Json
from remit.render.escape import escape_json, escape_terminal, harmless_json, well_formed
from remit.render.layout import Painter, Style, aligned, counted
from remit.render.shapes import FORMAT_VERSION
from remit.render.spans import timestamp

__all__ = [
    "AuditEventDocument",
    "AuditReviewDocument",
    "AuditTailDocument",
    "ExportedEventDocument",
    "ExportedHeadsDocument",
    "audit_event_document",
    "audit_heads_line",
    "audit_line",
    "audit_review_document",
    "audit_review_text",
    "audit_tail_document",
    "audit_tail_text",
]

_VALUE_CUT = 80
_LINE_CUT = 400
_DIGEST_SHOWN = 16
_WIDEST = 48

_LABELS = {
    "gen_ai.tool.name": "tool",
    "remit.server": "server",
    "remit.address": "address",
    "remit.workspace": "workspace",
    "remit.serial": "serial",
    "remit.outcome": "outcome",
    "remit.state": "state",
    "remit.approval_state": "approval_state",
    "error.type": "error",
    "remit.reason": "reason",
    "remit.drift": "drift",
    "remit.duration_ms": "ms",
    "remit.assistant": "assistant",
    "remit.approval_id": "approval",
    "remit.action_id": "action",
    "remit.run_id": "run",
    "remit.heads": "heads",
}
"""What a line tells of an event, in this order; digests and the rest are in the JSON forms."""


class AuditEventDocument(TypedDict):
    """One event as it is kept. `body` is the JSON text that `digest` was taken over."""

    writer: str
    seq: int
    at: str
    kind: str
    actor: str
    trace_id: str | None
    body: str
    previous: str
    digest: str


class AuditTailDocument(TypedDict):
    """The newest events, the oldest of them first."""

    format_version: str
    events: list[AuditEventDocument]


class _HeadDocument(TypedDict):
    """The newest event of a chain."""

    writer: str
    seq: int
    digest: str


class _ChainDocument(TypedDict):
    """One chain: how many events were found, and its head."""

    writer: str
    events: int
    head: _HeadDocument


class _DamageDocument(TypedDict):
    """The first thing that is wrong with a chain."""

    writer: str
    seq: int
    what: str


class ExportedEventDocument(AuditEventDocument):
    """A line of `remit audit export`."""

    type: Literal["event"]


class ExportedHeadsDocument(TypedDict):
    """The last line of `remit audit export`: the heads of what was exported."""

    type: Literal["heads"]
    format_version: str
    heads: list[_HeadDocument]


class AuditReviewDocument(TypedDict):
    """What `remit audit verify` found; `faults` concern no single event, `unknown` are the intents without an outcome."""

    format_version: str
    sound: bool
    chains: list[_ChainDocument]
    damages: list[_DamageDocument]
    faults: list[str]
    unknown: list[AuditEventDocument]


def audit_event_document(event: AuditEvent) -> AuditEventDocument:
    """One event as JSON."""
    return {
        "writer": well_formed(event.writer),
        "seq": event.seq,
        "at": well_formed(event.at),
        "kind": well_formed(event.kind),
        "actor": well_formed(event.actor),
        "trace_id": None if event.trace_id is None else well_formed(event.trace_id),
        "body": well_formed(event.body),
        "previous": well_formed(event.previous),
        "digest": well_formed(event.digest),
    }


def audit_tail_document(events: Sequence[AuditEvent]) -> AuditTailDocument:
    """`{format_version, events[]}`."""
    return {"format_version": FORMAT_VERSION, "events": [audit_event_document(each) for each in events]}


def audit_review_document(review: AuditReview) -> AuditReviewDocument:
    """`{format_version, sound, chains[], damages[], faults[], unknown[]}`."""
    return {
        "format_version": FORMAT_VERSION,
        "sound": review.is_sound,
        "chains": [_chain(each) for each in review.chains],
        "damages": [_damage(each) for each in review.damages],
        "faults": [well_formed(each) for each in review.faults],
        "unknown": [audit_event_document(each) for each in review.unanswered],
    }


def audit_line(event: AuditEvent) -> str:
    """One event as a line of an export, without its end."""
    line: ExportedEventDocument = {"type": "event", **audit_event_document(event)}
    return harmless_json(json.dumps(line))


def audit_heads_line(heads: Sequence[Head]) -> str:
    """The last line of an export: the heads of what was exported, to hold a later trail against."""
    line: ExportedHeadsDocument = {
        "type": "heads",
        "format_version": FORMAT_VERSION,
        "heads": [_head(each) for each in heads],
    }
    return harmless_json(json.dumps(line))


def _chain(chain: Chain) -> _ChainDocument:
    return {"writer": well_formed(chain.writer), "events": chain.events, "head": _head(chain.head)}


def _head(head: Head) -> _HeadDocument:
    return {"writer": well_formed(head.writer), "seq": head.seq, "digest": well_formed(head.digest)}


def _damage(damage: Damage) -> _DamageDocument:
    return {"writer": well_formed(damage.writer), "seq": damage.seq, "what": damage.what}


# -- text --------------------------------------------------------------------------------------------------------------


def audit_tail_text(events: Sequence[AuditEvent], *, colour: bool) -> str:
    """A line for each event: time, kind, actor, what it is about, its place and trace; ends with a newline."""
    paint = Painter(colour=colour)
    rows = [[_at(each), escape_terminal(each.kind), escape_terminal(each.actor), _about(each)] for each in events]
    places = (paint(Style.QUIET, _place(each)) for each in events)
    lines = [f"{line}  {place}" for line, place in zip(aligned(rows, widest=_WIDEST), places, strict=True)]
    return "\n".join(lines or ["no events"]) + "\n"


def audit_review_text(review: AuditReview, *, colour: bool) -> str:
    """Every chain with its head, then what is wrong and which calls have no outcome; ends with a newline."""
    paint = Painter(colour=colour)
    total = sum(each.events for each in review.chains)
    head = f"Audit trail: {counted(len(review.chains), 'chain')}, {counted(total, 'event')}"
    lines = [paint(Style.HEAD, head), *_chain_lines(review.chains)]
    lines += [
        f"{paint(Style.DANGER, 'DAMAGED')}  chain {escape_terminal(each.writer)}, event {each.seq}: {escape_terminal(each.what)}"
        for each in review.damages
    ]
    lines += [f"{paint(Style.DANGER, 'DAMAGED')}  {escape_terminal(each)}" for each in review.faults]
    if review.unanswered:
        lines.append(f"{counted(len(review.unanswered), 'call')} without an outcome: under way, or unknown")
        lines += [f"  {_at(each)}  {_about(each)}  {_place(each)}" for each in review.unanswered]
    if review.is_sound:
        lines.append("sound: every event follows the one before it, and none was changed")
    return "\n".join(lines) + "\n"


def _chain_lines(chains: Sequence[Chain]) -> list[str]:
    rows = [
        [
            escape_terminal(each.writer),
            counted(each.events, "event"),
            f"head {escape_terminal(each.head.writer)}:{each.head.seq}:{escape_terminal(each.head.digest)}",
        ]
        for each in chains
    ]
    return [f"  {line}" for line in aligned(rows, widest=_WIDEST)]


def _at(event: AuditEvent) -> str:
    """The time to the second; one that was edited into something else, as it stands."""
    try:
        moment = datetime.fromisoformat(event.at)
        return escape_terminal(event.at) if moment.tzinfo is None else timestamp(moment)
    except (ValueError, OverflowError):
        return escape_terminal(event.at)


def _place(event: AuditEvent) -> str:
    trace = f"  trace {escape_terminal(event.trace_id)}" if event.trace_id else ""
    return f"{escape_terminal(event.writer)}:{event.seq}{trace}"


def _about(event: AuditEvent) -> str:
    if (flaw := flaw_of(event)) is not None:
        return f"DAMAGED: {escape_terminal(flaw)}"
    body = body_of(event)
    known = [(label, body[key]) for key, label in _LABELS.items() if key in body]
    told = [f"{escape_terminal(key)}={_value(value)}" for key, value in known or body.items() if value is not None]
    words = " ".join(told)
    return words if len(words) <= _LINE_CUT else f"{words[:_LINE_CUT]}..."


def _value(value: Json) -> str:
    return escape_json(value, limit=_VALUE_CUT)
