"""A watch on a terminal: events and plans scroll by as lines, a panel below shows how everything is at the moment.

Decides what the panel holds: each server with its answer and how it is watched, the files, the last plan, what drifted.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from remit.cli.terminal import Terminal
from remit.cli.watch_view import TextLines
from remit.cli.watch_words import answer_words, attention_words, files_words, plan_words, rejected_words
from remit.config.loader import Loaded, Rejected
from remit.errors import RemitError
from remit.reconcile.applying import Applied
from remit.reconcile.watch import Cause
from remit.reconcile.watch_servers import ServerState
from remit.render.escape import escape_terminal
from remit.render.layout import counted
from remit.render.shapes import PlanDocument

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["LivePanel", "live_panel"]

_MOST_SERVERS = 15
_REFRESHES = 2


class LivePanel:
    """The lines of a `TextLines`, and a panel that is drawn from the newest of each."""

    def __init__(self, terminal: Terminal, clock: Callable[[], datetime], *, applies: bool):
        self._lines = TextLines(terminal, clock, applies=applies)
        self._mode = "applies what the file asks for" if applies else "shows plans, applies nothing"
        self._clock = clock
        self._servers: dict[str, tuple[ServerState, datetime]] = {}
        self._files = "reading the files"
        self._held = False
        self._plan = "none yet"
        self._drift = ""
        self._trouble = ""

    def files(self, loaded: Loaded) -> None:
        """The files hold."""
        declared = {each.name for each in loaded.desired.servers if each.enabled}
        self._servers = {name: each for name, each in self._servers.items() if name in declared}
        self._files, self._held = files_words(loaded), True
        self._lines.files(loaded)

    def rejected(self, rejected: Rejected) -> None:
        """The files do not hold."""
        self._files = rejected_words(rejected, held=self._held)
        self._lines.rejected(rejected)

    def server(self, state: ServerState) -> None:
        """A server answered otherwise than before."""
        self._servers[state.server] = (state, self._clock())
        self._lines.server(state)

    def plan(self, document: PlanDocument, cause: Cause, *, is_news: bool) -> None:
        """A plan was made."""
        self._plan = f"{self._clock().astimezone():%H:%M:%S}  {plan_words(document)}"
        addresses = [each["address"] for each in (*document["drift"], *document["held"])]
        more = f" and {len(addresses) - 3} more" if len(addresses) > 3 else ""
        self._drift = ", ".join(escape_terminal(each, limit=60) for each in addresses[:3]) + more
        self._lines.plan(document, cause, is_news=is_news)

    def applied(self, applied: Applied, document: PlanDocument) -> None:
        """A plan was applied."""
        self._lines.applied(applied, document)

    def trouble(self, error: RemitError) -> None:
        """Something is in the way."""
        self._trouble = escape_terminal(str(error))
        self._lines.trouble(error)

    def mended(self) -> None:
        """It is no more."""
        self._trouble = ""
        self._lines.mended()

    def __rich__(self) -> "Table":
        """The panel, as it is at this moment."""
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        rows = [("watch", f"{self._mode}; Ctrl-C ends it"), ("files", self._files)]
        for name, (state, since) in sorted(self._servers.items())[:_MOST_SERVERS]:
            words = f"{answer_words(state)}; {attention_words(state)}; since {since.astimezone():%H:%M:%S}"
            rows.append((f"server {escape_terminal(name, limit=30)}", words))
        if len(self._servers) > _MOST_SERVERS:
            rows.append(("", f"and {counted(len(self._servers) - _MOST_SERVERS, 'more server')}"))
        rows.append(("plan", self._plan))
        rows += [(head, words) for head, words in (("look at", self._drift), ("trouble", self._trouble)) if words]
        table.add_row(Text("-" * 5, style="dim"))
        for head, words in rows:
            # Text and never markup: a server's words are in it.
            table.add_row(Text(head, style="bold"), Text(words, overflow="ellipsis", no_wrap=True))
        return table


@contextmanager
def live_panel(terminal: Terminal, clock: Callable[[], datetime], *, applies: bool) -> Generator[LivePanel]:
    """A panel that is on the screen while the context lasts; what is printed meanwhile goes above it."""
    from rich.console import Console
    from rich.live import Live

    panel = LivePanel(terminal, clock, applies=applies)
    console = Console(no_color=not terminal.colour)
    with Live(panel, console=console, refresh_per_second=_REFRESHES, transient=True, redirect_stderr=True):
        yield panel
