"""What `remit suspend` and `remit resume` print, and the lines of suspensions in `remit status`. Decides layout only."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from remit.core.governance import Suspension
from remit.render.escape import escape_terminal, well_formed
from remit.render.layout import Painter, Style, aligned
from remit.render.shapes import FORMAT_VERSION
from remit.render.spans import span, timestamp

__all__ = [
    "SuspensionChangeDocument",
    "SuspensionDocument",
    "SuspensionsDocument",
    "suspension_change_document",
    "suspension_document",
    "suspension_rows",
    "suspensions_document",
    "suspensions_text",
]

_WIDEST = 80


class SuspensionDocument(TypedDict):
    """One suspension in force; of the three names of its target those are null that it does not limit itself to."""

    address: str
    server_id: str | None
    assistant: str | None
    remote_name: str | None
    actor: str
    at: str
    reason: str | None


class SuspensionsDocument(TypedDict):
    """The suspensions of an owner, by address."""

    format_version: str
    owner: str
    suspensions: list[SuspensionDocument]


class SuspensionChangeDocument(SuspensionsDocument):
    """What `suspend` and `resume` came to: `changed` is false where it was so already; the list is what is in force now."""

    address: str
    suspended: bool
    changed: bool


def suspension_document(suspension: Suspension) -> SuspensionDocument:
    """One suspension as JSON."""
    target = suspension.target
    return {
        "address": well_formed(suspension.address),
        "server_id": target.server_id,
        "assistant": target.assistant,
        "remote_name": None if target.remote_name is None else well_formed(target.remote_name),
        "actor": well_formed(suspension.actor),
        "at": timestamp(suspension.at),
        "reason": None if suspension.reason is None else well_formed(suspension.reason),
    }


def suspensions_document(owner: str, suspensions: Sequence[Suspension]) -> SuspensionsDocument:
    """`{format_version, owner, suspensions[]}`."""
    return {
        "format_version": FORMAT_VERSION,
        "owner": well_formed(owner),
        "suspensions": [suspension_document(each) for each in suspensions],
    }


def suspension_change_document(
    owner: str, suspensions: Sequence[Suspension], *, address: str, suspended: bool, changed: bool
) -> SuspensionChangeDocument:
    """`{format_version, owner, suspensions[], address, suspended, changed}`."""
    return {
        **suspensions_document(owner, suspensions),
        "address": well_formed(address),
        "suspended": suspended,
        "changed": changed,
    }


def suspensions_text(owner: str, suspensions: Sequence[Suspension], *, now: datetime, colour: bool) -> str:
    """A line for each suspension; ends with a newline."""
    head = Painter(colour=colour)(Style.HEAD, f"Suspensions of owner {escape_terminal(owner)}")
    rows = [[*row, f"{span(now - each.at)} ago"] for each, row in zip(suspensions, _rows(suspensions), strict=True)]
    return (
        "\n".join([head, *(f"  {line}" for line in aligned(rows, widest=_WIDEST) or ["nothing is suspended"])]) + "\n"
    )


def suspension_rows(suspensions: Sequence[SuspensionDocument]) -> list[list[str]]:
    """Address, reason, actor and time of each, for lines of a wider text."""
    return [
        [
            escape_terminal(each["address"]),
            "no reason given" if each["reason"] is None else escape_terminal(each["reason"]),
            f"by {escape_terminal(each['actor'])}",
            each["at"],
        ]
        for each in suspensions
    ]


def _rows(suspensions: Sequence[Suspension]) -> list[list[str]]:
    return suspension_rows([suspension_document(each) for each in suspensions])
