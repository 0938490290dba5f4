"""The small parts of laid-out text: paint, columns, counts.

Decides how things line up, never what they say. Colour is never the only signal: every painted word stands for itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum

__all__ = ["WIDEST", "Painter", "Style", "aligned", "counted", "plural", "repeated"]

WIDEST = 96
"""Characters up to which a cell of a plan makes its column wider: an alias of 64 behind the name of its assistant."""


class Style(Enum):
    """What a colour stands for."""

    ADD = "32"
    REMOVE = "31"
    CHANGE = "33"
    DANGER = "1;31"
    SAFER = "36"
    HEAD = "1"
    QUIET = "2"


class Painter:
    """Paints words where colour is wanted, and leaves them alone where it is not."""

    def __init__(self, *, colour: bool):
        self._colour = colour

    def __call__(self, style: Style, text: str) -> str:
        """The text in the style's colour."""
        return f"\x1b[{style.value}m{text}\x1b[0m" if self._colour else text


def aligned(rows: Sequence[Sequence[str]], *, widest: int) -> list[str]:
    """Each row as one line with its cells in columns, two spaces apart.

    A cell over `widest` characters makes no room for itself: it pushes only its own line. Cells are plain, not painted.
    """
    widths: list[int] = []
    for row in rows:
        widths += [0] * (len(row) - len(widths))
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], len(cell) if len(cell) <= widest else 0)
    return ["  ".join(_padded(row, widths)).rstrip() for row in rows]


def _padded(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    return (cell.ljust(width) for cell, width in zip(row, widths, strict=False) if width or cell)


def repeated(lines: Iterable[str]) -> list[str]:
    """Each line once, where it stands first, with how often it comes."""
    return [line if times == 1 else f"{line} ({times:,} times)" for line, times in Counter(lines).items()]


def counted(number: int, word: str) -> str:
    """`1 error`, `2 errors`, `2,417 tools`."""
    return f"{number:,} {word if number == 1 else plural(word)}"


def plural(word: str) -> str:
    """The plural of one of our own words."""
    return word[:-1] + "ies" if word.endswith("y") and word[-2] not in "aeiou" else word + "s"
