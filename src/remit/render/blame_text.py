"""What `remit blame` prints: the applies that attached and changed an attachment, as text and as JSON.

Decides layout and the words for whose approval it was.
"""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from remit.core.addresses import attachment_address, tool_address
from remit.core.blame import BlamedAttachment, Deed
from remit.core.operations import OpName
from remit.render.diagnostics import source_document
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import WIDEST, Painter, Style, aligned
from remit.render.shapes import FORMAT_VERSION, SourceDocument
from remit.render.spans import timestamp

__all__ = ["BlameDocument", "BlamedDocument", "DeedDocument", "blame_document", "blame_text"]

_APPROVALS = {
    "file": "approved by the review of the file",
    "lock": "approved by the review of the lock",
    "rows": "approved before",
    "accepted": "accepted by {actor}",
}
_UNCERTAIN = "; perhaps not by this apply, which did not run all of its plan"
_COMMIT, _DIGEST = 12, len("sha256:") + 12


class DeedDocument(TypedDict):
    """One operation, with the apply that carried it out."""

    op: Annotated[str, OpName]
    serial: int
    at: str
    actor: str
    commit: str | None
    plan_digest: str
    reason: str
    approval: str
    source: SourceDocument | None
    certain: bool


class BlamedDocument(TypedDict):
    """One attachment; `attached` and `refreshed` are null where history does not have them."""

    address: str
    assistant: str
    provider_name: str
    server: str
    remote_name: str
    canonical_id: str
    definition_digest: str
    source: SourceDocument | None
    attached: DeedDocument | None
    refreshed: DeedDocument | None
    changed: list[DeedDocument]


class BlameDocument(TypedDict):
    """The attachments that were asked for."""

    format_version: str
    workspace: str
    attachments: list[BlamedDocument]


def blame_document(workspace: str, blamed: Sequence[BlamedAttachment]) -> BlameDocument:
    """`{format_version, workspace, attachments[]}`; `changed` has policies and names, newest first."""
    return {
        "format_version": FORMAT_VERSION,
        "workspace": workspace,
        "attachments": [_attachment(each) for each in blamed],
    }


def _attachment(blamed: BlamedAttachment) -> BlamedDocument:
    return {
        "address": attachment_address(blamed.assistant, blamed.provider_name),
        "assistant": blamed.assistant,
        "provider_name": blamed.provider_name,
        "server": blamed.server,
        "remote_name": well_formed(blamed.remote_name),
        "canonical_id": blamed.canonical_id,
        "definition_digest": blamed.definition_digest,
        "source": source_document(blamed.source),
        "attached": _last(blamed, "attach"),
        "refreshed": _last(blamed, "refresh"),
        "changed": [_deed(each) for each in blamed.deeds if each.op not in ("attach", "refresh")],
    }


def _last(blamed: BlamedAttachment, op: str) -> DeedDocument | None:
    return next((_deed(each) for each in blamed.deeds if each.op == op), None)


def _deed(deed: Deed) -> DeedDocument:
    return {
        "op": deed.op,
        "serial": deed.serial,
        "at": timestamp(deed.at),
        "actor": well_formed(deed.actor),
        "commit": deed.commit,
        "plan_digest": deed.digest,
        "reason": deed.reason,
        "approval": deed.approval,
        "source": source_document(deed.source),
        "certain": deed.certain,
    }


def blame_text(blamed: Sequence[BlamedAttachment], *, colour: bool) -> str:
    """For each attachment what it is, the line that selects it, and what was done to it, newest first; ends with a newline."""
    paint = Painter(colour=colour)
    return "\n\n".join("\n".join(_lines(each, paint)) for each in blamed) + "\n"


def _lines(blamed: BlamedAttachment, paint: Painter) -> list[str]:
    tool = escape_terminal(tool_address(blamed.server, blamed.remote_name))
    head = paint(Style.HEAD, escape_terminal(attachment_address(blamed.assistant, blamed.provider_name)))
    where = "" if blamed.source is None else f"  selected at {escape_terminal(str(blamed.source))}"
    rows = [_cells(each) for each in blamed.deeds]
    lines = aligned(rows, widest=WIDEST) or ["no apply in the history attached it"]
    return [f"{head}  {tool}{where}", *(f"  {line}" for line in lines)]


def _cells(deed: Deed) -> list[str]:
    actor = escape_terminal(deed.actor)
    return [
        deed.op.replace("_", " "),
        f"serial {deed.serial}",
        timestamp(deed.at),
        f"by {actor}",
        f"commit {escape_terminal(deed.commit)[:_COMMIT]}" if deed.commit else "no commit",
        f"plan {escape_terminal(deed.digest)[:_DIGEST]}",
        escape_terminal(str(deed.source)) if deed.source else "",
        _APPROVALS[deed.approval].format(actor=actor) + ("" if deed.certain else _UNCERTAIN),
    ]
