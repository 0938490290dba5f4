"""Which line of a selection selects a tool: exact names by look-up, globs one by one.

Decides that an exclusion wins over any inclusion and an exact name over a glob, as a person wrote it out. Looking every
name up in every line would cost the square of a long list, so a selection is indexed once. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from remit.core.desired import Pattern, Selection

__all__ = ["Selector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """One selection, indexed. `exact` and `excluded` are keyed by remote name."""

    selection: Selection
    exact: Mapping[str, Pattern]
    globs: tuple[Pattern, ...]
    excluded: frozenset[str]
    excluding_globs: tuple[Pattern, ...]

    @classmethod
    def of(cls, selection: Selection) -> "Selector":
        """Index a selection. Of several lines that select a name the first in the file counts, in whatever order given."""
        include = sorted(selection.include, key=lambda pattern: pattern.source)
        return cls(
            selection=selection,
            exact={pattern.text: pattern for pattern in reversed(include)},
            globs=tuple(pattern for pattern in include if pattern.is_glob),
            excluded=frozenset(pattern.text for pattern in selection.exclude),
            excluding_globs=tuple(pattern for pattern in selection.exclude if pattern.is_glob),
        )

    def pattern_for(self, remote_name: str) -> Pattern | None:
        """The line that selects a name; None if none does, or another takes it out again."""
        if remote_name in self.excluded or any(glob.matches(remote_name) for glob in self.excluding_globs):
            return None
        exact = self.exact.get(remote_name)
        return exact or next((glob for glob in self.globs if glob.matches(remote_name)), None)

    def names_among(self, listed: Iterable[str]) -> list[str]:
        """Every name that may be selected: the exact ones, listed or not, and the listed ones that a glob matches."""
        written = {name for name, pattern in self.exact.items() if not pattern.is_glob}
        matched = (
            {name for name in listed if any(glob.matches(name) for glob in self.globs)} if self.globs else set[str]()
        )
        return sorted(written | matched)
