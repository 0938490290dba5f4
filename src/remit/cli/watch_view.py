"""A watch as lines for people.

Decides what is told in full and what in a line: a plan is shown whole where it says something new, and whenever a person saved
a file, who waits for it. Each line begins with its time.
"""

from collections.abc import Callable
from datetime import datetime

from remit.cli.applied import applied_text
from remit.cli.terminal import Terminal
from remit.cli.watch_words import (
    answer_words,
    attention_words,
    cause_words,
    files_words,
    has_content,
    held_words,
    plan_words,
    rejected_words,
)
from remit.config.loader import Loaded, Rejected
from remit.errors import RemitError
from remit.reconcile.applying import Applied
from remit.reconcile.watch import Cause
from remit.reconcile.watch_servers import ServerState
from remit.render.escape import escape_terminal
from remit.render.plan_text import plan_text
from remit.render.shapes import PlanDocument

__all__ = ["TextLines"]

_TOLD_ANYWAY = (Cause.START, Cause.FILES)


class TextLines:
    """For people. Events and plans go to stdout, diagnostics and errors to stderr. `applies` is whether the watch does."""

    def __init__(self, terminal: Terminal, clock: Callable[[], datetime], *, applies: bool):
        self._terminal = terminal
        self._clock = clock
        self._applies = applies
        self._held = False

    def files(self, loaded: Loaded) -> None:
        """The files hold."""
        self._held = True
        self._terminal.diagnose(loaded.warnings)
        self._line(f"read {files_words(loaded)}")

    def rejected(self, rejected: Rejected) -> None:
        """The files do not hold."""
        self._terminal.diagnose(rejected.diagnostics)
        self._line(rejected_words(rejected, held=self._held))

    def server(self, state: ServerState) -> None:
        """A server answered otherwise than before."""
        self._line(f"server {escape_terminal(state.server)}: {answer_words(state)}; {attention_words(state)}")

    def plan(self, document: PlanDocument, cause: Cause, *, is_news: bool) -> None:
        """A plan was made."""
        if not is_news and cause not in (*_TOLD_ANYWAY, Cause.INTERVAL):
            return
        as_before = "" if is_news else ", as before"
        self._line(f"plan ({cause_words(cause)}{as_before}): {plan_words(document)}")
        if has_content(document) and (is_news or cause in _TOLD_ANYWAY):
            self._terminal.result("\n" + plan_text(document, colour=self._terminal.colour, width=self._terminal.width))
            self._hints(document)

    def applied(self, applied: Applied, document: PlanDocument) -> None:
        """A plan was applied."""
        self._terminal.diagnose(applied.vetoes)
        self._line(applied_text(applied, document))

    def trouble(self, error: RemitError) -> None:
        """Something is in the way."""
        self._terminal.fail(error)
        self._line("will be tried again")

    def mended(self) -> None:
        """It is no more."""
        self._line("works again")

    def _hints(self, document: PlanDocument) -> None:
        for words in held_words(document):
            self._line(words)
        if document["operations"] and not self._applies:
            self._line("next: remit apply (or watch with --apply)")

    def _line(self, text: str) -> None:
        self._terminal.result(f"{self._clock().astimezone():%H:%M:%S}  {text}")
