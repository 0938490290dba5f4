"""Progress of a listing or of a call: a live line where a person is looking, nothing elsewhere."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit.core.live import Observation
from remit.core.remote_ports import OnProgress, Progress
from remit.reconcile.observe import ObserveProgress
from remit.render.escape import escape_terminal
from remit.render.layout import counted

if TYPE_CHECKING:
    from rich.status import Status

__all__ = ["Silent", "call_progress", "listing_progress"]

_SHOWN = 3


class Silent:
    """Progress that nobody sees."""

    def started(self, server: str) -> None:
        """Say nothing."""

    def finished(self, server: str, observation: Observation) -> None:
        """Say nothing."""


class _Live:
    """One line: how many servers answered, and which ones are still being waited for."""

    def __init__(self, status: "Status", total: int):
        self._status = status
        self._total = total
        self._done = 0
        self._waiting: list[str] = []

    def started(self, server: str) -> None:
        self._waiting.append(server)
        self._show()

    def finished(self, server: str, observation: Observation) -> None:
        self._waiting.remove(server)
        self._done += 1
        self._show()

    def _show(self) -> None:
        from rich.markup import escape

        names = ", ".join(self._waiting[:_SHOWN])
        more = f" and {len(self._waiting) - _SHOWN} more" if len(self._waiting) > _SHOWN else ""
        waiting = f", waiting for {names}{more}" if names else ""
        self._status.update(escape(f"listed {self._done} of {counted(self._total, 'server')}{waiting}"))


@contextmanager
def listing_progress(total: int, *, visible: bool, colour: bool) -> Generator[ObserveProgress]:
    """Progress over `total` servers, shown on stderr while the context lasts."""
    if not visible or not total:
        yield Silent()
        return
    from rich.console import Console

    console = Console(stderr=True, no_color=not colour)
    with console.status(f"listing {counted(total, 'server')}") as status:
        yield _Live(status, total)


@contextmanager
def call_progress(tool: str, *, visible: bool, colour: bool) -> Generator[OnProgress | None]:
    """Progress of one call, shown on stderr while the context lasts; None where nobody looks."""
    if not visible:
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    name = escape_terminal(tool)
    with Console(stderr=True, no_color=not colour).status(escape(f"calling {name}")) as status:

        async def show(progress: Progress) -> None:
            total = "" if progress.total is None else f" of {progress.total:g}"
            said = "" if progress.message is None else f": {escape_terminal(progress.message, limit=80)}"
            status.update(escape(f"calling {name}: {progress.progress:g}{total}{said}"))

        yield show
