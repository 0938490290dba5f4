"""`remit audit`: read the audit trail, prove that nobody touched it, take it out. Writes nothing to the database.

Decides that an event which is none costs the reading of no other: it is shown as far as it can be, named on stderr, and makes
the exit code 1.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from remit.cli.governance import Reading, open_reading
from remit.cli.options import file_option, format_option, no_color_option
from remit.config.file_set import FileSet
from remit.core.audit import AuditEvent, Head, flaw_of
from remit.errors import StoreError
from remit.render.audit_text import (
    audit_heads_line,
    audit_line,
    audit_review_document,
    audit_review_text,
    audit_tail_document,
    audit_tail_text,
)

__all__ = ["command"]

_HEAD = re.compile(r"(?P<writer>.+):(?P<seq>[0-9]{1,18}):(?P<digest>[0-9a-f]{64})")
_CHARACTERS_AT_ONCE = 1 << 20
_NAMED = 20
"""Damaged events that are named one by one."""


def _heads(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Head, ...]:
    found = [_HEAD.fullmatch(value) for value in values]
    for value, match in zip(values, found, strict=True):
        if match is None:
            raise click.BadParameter(f"{value!r} is not WRITER:SEQ:DIGEST, as `remit audit verify` prints a head")
    return tuple(
        Head(writer=match["writer"], seq=int(match["seq"]), digest=match["digest"]) for match in found if match
    )


@click.group(name="audit")
def command() -> None:
    """Read the audit trail, verify it, export it."""


@command.command(name="tail")
@click.option(
    "-n", "limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many events."
)
@click.option("--trace", "trace_id", metavar="ID", help="Only events of this trace.")
@file_option
@format_option
@no_color_option
def tail(*, limit: int, trace_id: str | None, config: FileSet, form: str, no_color: bool) -> None:
    """Show the newest events, the newest last. Exit codes: 0 fine, 1 one of them is damaged."""
    reading = open_reading(config, colour=not no_color)
    events, terminal = tuple(reading.desks.audit.audit_events(limit=limit, trace_id=trace_id)), reading.terminal
    if form == "json":
        terminal.document(audit_tail_document(events))
    else:
        terminal.result(audit_tail_text(events, colour=terminal.colour))
    flaws = _Flaws()
    for event in events:
        flaws.look_at(event)
    flaws.end(reading)


@command.command(name="verify")
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="WRITER:SEQ:DIGEST",
    callback=_heads,
    help="A head that was noted before: the trail must still hold it. Repeatable.",
)
@file_option
@format_option
@no_color_option
def verify(*, heads: tuple[Head, ...], config: FileSet, form: str, no_color: bool) -> None:
    """Follow every chain from its first event, and show its head.

    A tail that was cut off shows for sure only against a head that was noted elsewhere: keep the heads of an export, and pass
    them. Exit codes: 0 sound, 1 an event was changed, removed or put in, or nothing keeps anybody from doing so.
    """
    from remit.core.audit_review import review

    reading = open_reading(config, colour=not no_color)
    audit, terminal = reading.desks.audit, reading.terminal
    # What must be told is counted first: what is written meanwhile is in the trail by the time that is read.
    witness = audit.witness()
    found = review(audit.audit_events(), heads, witness)
    if form == "json":
        terminal.document(audit_review_document(found))
    else:
        terminal.result(audit_review_text(found, colour=terminal.colour))
    raise click.exceptions.Exit(0 if found.is_sound else 1)


@command.command(name="export")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write this file, mode 0600, not stdout.")
@file_option
def export(*, out: Path | None, config: FileSet) -> None:
    """Write every event as a line of JSON, and all heads as the last line.

    Exit codes: 0 fine, 1 an event is damaged; it is in the export as it stands, and so are all others.
    """
    reading, flaws = open_reading(config, colour=False), _Flaws()
    pieces = _pieces(_lines(reading.desks.audit.audit_events(), flaws))
    if out is None:
        for piece in pieces:
            reading.terminal.result(piece)
    else:
        from remit.reconcile.whole_file import write_pieces

        write_pieces(out, pieces)
        reading.terminal.note(f"exported to {out}")
    flaws.end(reading)


class _Flaws:
    """The damaged events among those that are read; of many only the first are kept."""

    def __init__(self) -> None:
        self._named: list[StoreError] = []
        self._others = 0

    def look_at(self, event: AuditEvent) -> None:
        """Keep what is wrong with an event, if anything is."""
        if (flaw := flaw_of(event)) is None:
            return
        if len(self._named) == _NAMED:
            self._others += 1
            return
        place, hint = f"audit chain {event.writer}, event {event.seq}", "`remit audit verify` looks at the whole trail"
        self._named.append(StoreError(flaw, code="audit-damaged", place=place, hint=hint))

    def end(self, reading: Reading) -> None:
        """Name them and end the command with 1; nothing where there are none."""
        if not self._named:
            return
        for error in self._named:
            reading.terminal.fail(error)
        if self._others:
            reading.terminal.note(f"and {self._others:,} more")
        raise click.exceptions.Exit(1)


def _lines(events: Iterable[AuditEvent], flaws: _Flaws) -> Iterator[str]:
    # The heads are those of the events that were written, whatever was added meanwhile.
    heads: dict[str, Head] = {}
    for event in events:
        flaws.look_at(event)
        heads[event.writer] = Head(writer=event.writer, seq=event.seq, digest=event.digest)
        yield audit_line(event)
    yield audit_heads_line([heads[writer] for writer in sorted(heads)])


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """The lines, each with its end, as few texts of bounded size."""
    waiting, size = list[str](), 0
    for line in lines:
        waiting.append(f"{line}\n")
        size += len(line)
        if size >= _CHARACTERS_AT_ONCE:
            yield "".join(waiting)
            waiting.clear()
            size = 0
    if waiting:
        yield "".join(waiting)
