"""A watch as JSON lines for programs: one closed object for each thing that happens (docs/watch.md).

Decides the kinds of lines and nothing else: `WATCH_LINES` is all of them, and `remit schema watch` is made from it.
"""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal, TypeAlias, TypedDict

from remit.cli.applied import AppliedDocument, applied_document
from remit.cli.terminal import Terminal
from remit.config.loader import Loaded, Rejected
from remit.core.live import Listed, UnreachableReason
from remit.core.watch_ports import Attention
from remit.errors import RemitError
from remit.reconcile.applying import Applied
from remit.reconcile.watch import Cause
from remit.reconcile.watch_servers import ServerState
from remit.render.diagnostics import problem_document
from remit.render.escape import harmless_json
from remit.render.shapes import FORMAT_VERSION, ConfigFileDocument, PlanDocument, ProblemDocument

__all__ = ["WATCH_LINES", "JsonLines"]


class _Line(TypedDict):
    """`at` is when it was told, in ISO 8601."""

    format_version: str
    at: str


class FilesLine(_Line):
    """The files hold; `problems` are their warnings."""

    event: Literal["files"]
    files: list[ConfigFileDocument]
    servers: list[str]
    problems: list[ProblemDocument]


class RejectedLine(_Line):
    """The files do not hold, and why; the last ones that did stand."""

    event: Literal["rejected"]
    problems: list[ProblemDocument]


class ServerLine(_Line):
    """A server answered otherwise than before. `next_in` is in seconds; null where nobody asks it again by the clock."""

    event: Literal["server"]
    server: str
    status: Literal["listed", "unreachable"]
    tools: int | None
    quarantined: int | None
    reason: Annotated[str, UnreachableReason] | None
    detail: str | None
    attention: Annotated[str, Attention]
    next_in: float | None


class PlanLine(_Line):
    """A plan was made; `plan` is null where it says nothing that the one before did not."""

    event: Literal["plan"]
    cause: Annotated[str, Cause]
    is_news: bool
    digest: str
    plan: PlanDocument | None


class AppliedLine(_Line):
    """A plan was applied, or refused under the lock."""

    event: Literal["applied"]
    digest: str
    applied: AppliedDocument


class TroubleLine(_Line):
    """Something is in the way, and is tried again."""

    event: Literal["trouble"]
    code: str
    message: str
    place: str | None
    hint: str | None


class MendedLine(_Line):
    """What was in the way is no more."""

    event: Literal["mended"]


_AnyLine: TypeAlias = FilesLine | RejectedLine | ServerLine | PlanLine | AppliedLine | TroubleLine | MendedLine

WATCH_LINES: tuple[type, ...] = (
    FilesLine,
    RejectedLine,
    ServerLine,
    PlanLine,
    AppliedLine,
    TroubleLine,
    MendedLine,
)
"""Every kind of line, told apart by `event`."""


class JsonLines:
    """For programs: one object a line on stdout, nothing else there."""

    def __init__(self, terminal: Terminal, clock: Callable[[], datetime]):
        self._terminal = terminal
        self._clock = clock

    def files(self, loaded: Loaded) -> None:
        """The files hold."""
        desired = loaded.desired
        self._tell(
            {
                **self._head(),
                "event": "files",
                "files": [{"path": each.path, "sha256": each.sha256} for each in desired.files],
                "servers": [each.name for each in desired.servers],
                "problems": [problem_document(each) for each in loaded.warnings],
            }
        )

    def rejected(self, rejected: Rejected) -> None:
        """The files do not hold."""
        problems = [problem_document(each) for each in rejected.diagnostics]
        self._tell({**self._head(), "event": "rejected", "problems": problems})

    def server(self, state: ServerState) -> None:
        """A server answered otherwise than before."""
        seen = state.observation
        listed = isinstance(seen, Listed)
        self._tell(
            {
                **self._head(),
                "event": "server",
                "server": state.server,
                "status": "listed" if listed else "unreachable",
                "tools": len(seen.tools) if listed else None,
                "quarantined": len(seen.quarantined) if listed else None,
                "reason": None if listed else seen.reason.value,
                "detail": None if listed else seen.detail,
                "attention": state.attention.value,
                "next_in": state.next_in,
            }
        )

    def plan(self, document: PlanDocument, cause: Cause, *, is_news: bool) -> None:
        """A plan was made; it is there whole where it differs from the one before."""
        self._tell(
            {
                **self._head(),
                "event": "plan",
                "cause": cause.value,
                "is_news": is_news,
                "digest": document["digest"],
                "plan": document if is_news else None,
            }
        )

    def applied(self, applied: Applied, document: PlanDocument) -> None:
        """A plan was applied."""
        outcome = applied_document(applied)
        self._tell({**self._head(), "event": "applied", "digest": document["digest"], "applied": outcome})

    def trouble(self, error: RemitError) -> None:
        """Something is in the way, and is tried again."""
        self._tell(
            {
                **self._head(),
                "event": "trouble",
                "code": error.code,
                "message": error.message,
                "place": error.place,
                "hint": error.hint,
            }
        )

    def mended(self) -> None:
        """It is no more."""
        self._tell({**self._head(), "event": "mended"})

    def _head(self) -> _Line:
        return {"format_version": FORMAT_VERSION, "at": self._clock().isoformat()}

    def _tell(self, line: _AnyLine) -> None:
        self._terminal.result(harmless_json(json.dumps(line, ensure_ascii=True)))
