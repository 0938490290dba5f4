"""`remit blame`: which applies attached and last changed a tool, with commit, plan, actor and line. Asks no server."""

from pathlib import Path

import click

from remit.cli.options import file_option, format_option, no_color_option
from remit.cli.session import Session, open_session
from remit.config.file_set import FileSet
from remit.core.addresses import nearest
from remit.core.blame import BlamedAttachment
from remit.core.holdings import Holdings, holdings_of
from remit.core.ports import HistoryEntry
from remit.core.recorded import RecordedAttachment
from remit.errors import PlanUnreadable, UsageError
from remit.reconcile.blame import blame
from remit.reconcile.saved import checked_plan
from remit.render.blame_text import blame_document, blame_text
from remit.render.escape import escape_terminal
from remit.render.shapes import PlanDocument

__all__ = ["command"]

_EVERY = 1_000_000_000


@click.command(name="blame")
@click.argument("alias", metavar="ALIAS")
@file_option
@format_option
@no_color_option
def command(*, alias: str, config: FileSet, form: str, no_color: bool) -> None:
    """Show which applies attached and last changed ALIAS: commit, plan, who applied and who approved, time, file and line.

    ALIAS alone means it on every assistant that has it; ASSISTANT/ALIAS, or its address, on that one.
    """
    session = open_session(config, colour=not no_color, obeys_lock=False)
    session.existing_store()
    held, terminal = holdings_of(session.recorded, session.desired.workspace), session.terminal
    wanted = _wanted(held, alias)
    history = _History(session)
    blamed = [_blamed(held, each, history) for each in wanted]
    if form == "json":
        terminal.document(blame_document(held.workspace, blamed))
    else:
        terminal.result(blame_text(blamed, colour=terminal.colour))


class _History:
    """The applies of a workspace, newest first, each plan read and checked once."""

    def __init__(self, session: Session):
        self._session = session
        self._workspace = session.desired.workspace
        self._store = session.existing_store()
        self._plans: dict[int, PlanDocument | None] = {}
        self.entries = self._store.history(self._workspace, limit=_EVERY)

    def plan(self, entry: HistoryEntry) -> PlanDocument | None:
        """The plan of an apply; None, with a note, where it cannot be read any more."""
        if entry.serial not in self._plans:
            self._plans[entry.serial] = self._read(entry.serial)
        return self._plans[entry.serial]

    def _read(self, serial: int) -> PlanDocument | None:
        record = self._store.applied(self._workspace, serial)
        try:
            return None if record is None else checked_plan(record.plan, Path(f"apply {serial}"))
        except PlanUnreadable as error:
            self._session.terminal.note(f"note: {escape_terminal(str(error), limit=500)}; what it did is not shown")
            return None


def _wanted(held: Holdings, text: str) -> list[RecordedAttachment]:
    """The attachments that are meant. Raises UsageError where there are none."""
    assistant, slash, alias = text.removeprefix("assistant.").rpartition("/")
    found = [
        each for each in held.attachments if each.provider_name == alias and (not slash or each.assistant == assistant)
    ]
    if not found:
        known = {f"{each.assistant}/{each.provider_name}" if slash else each.provider_name for each in held.attachments}
        near = nearest(text.removeprefix("assistant."), known)
        raise UsageError(
            f"no assistant of workspace {held.workspace!r} has a tool called {text!r}",
            hint=f"did you mean {near}?" if near else "`remit state list` lists them",
        )
    return found


def _blamed(held: Holdings, attachment: RecordedAttachment, history: _History) -> BlamedAttachment:
    return BlamedAttachment(
        assistant=attachment.assistant,
        provider_name=attachment.provider_name,
        server=held.server_name(attachment.server_id),
        remote_name=attachment.remote_name,
        canonical_id=attachment.canonical_id,
        definition_digest=attachment.definition.definition_digest,
        source=attachment.source,
        deeds=blame(attachment.assistant, attachment.canonical_id, history.entries, history.plan),
    )
