"""How fast a watch goes: every time that it waits for, in seconds, in one place.

Decides the numbers, and nothing with them.
"""

from dataclasses import dataclass

__all__ = ["WatchPace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPace:
    """The times of one watch.

    `poll` is between two listings of a server that cannot say that it changed, `interval` between two of everything (None:
    never). `still` is how long the files must not change before they are read, and `apply_still` before their plan is
    applied: what an editor writes in two steps is one change. `tick` is between two looks for what no event told.
    """

    poll: float = 30.0
    interval: float | None = None
    still: float = 0.15
    apply_still: float = 1.0
    tick: float = 1.0
    gap: float = 0.5
    """The least between the beginnings of two listings of one server; it doubles while its pushes change nothing."""
    first_answers: float = 5.0
    """The longest that the first plan waits for servers."""
    answers: float = 0.3
    """The longest that any later plan waits for servers that it does not know yet."""
    backoff: float = 1.0
    """The pause after the first failed listing of a server; it doubles, up to `poll`."""
    database_tick: float = 2.0
    """Between two looks at the database: whether it is there, and whether somebody else applied."""
    patience: float = 2.0
    """The longest wait for a busy database at one look: it is tried again anyway, and Ctrl-C waits for this."""
    lease: float = 15.0
    """How long a lease lasts; it is renewed three times in that time."""

    def retry(self, failures: int) -> float:
        """The pause after so many failed listings in a row."""
        return min(self.backoff * 2.0 ** min(failures - 1, 30), max(self.poll, self.backoff))

    def gap_after(self, idle_pushes: int) -> float:
        """The least between two listings after so many pushes in a row that changed nothing."""
        return min(self.gap * 2.0 ** min(idle_pushes, 30), max(self.poll, self.gap))

    def trusted_for(self) -> float:
        """How long a listing of a server that says when it changes is good without a word from it."""
        return 10.0 * self.poll
