r"""Secrets whose characters are escaped, each on its own: `\/`, `\u002B`, `\x2b`, `\n`, `%2f`, and these escaped once more.

Decides which escapes are read: only those of a character that a secret has, so that a text full of others costs no more than
one search. What is read is searched for the secrets as they are, and the places are those in the text as it came. Everything
is linear in the text, whatever it is made of.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

__all__ = ["Escapes", "Span", "occurrences"]

Span = tuple[int, int]
"""From the first character to behind the last one."""

_SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", '"': '"', "'": "'", "/": "/", "\\": "\\"}
_LETTERS = {letter: character for character, letter in _SHORT.items()}
_ONE_BYTE = 0x100
_UNIT = 4
"""Hexadecimal digits of what JSON escapes at once."""


class Escapes:
    """The escaped spellings of some secrets."""

    def __init__(self, secrets: Iterable[str]):
        self._needles = frozenset(secrets)
        self._characters = {character for needle in self._needles for character in needle}
        self._pattern = _pattern_of(self._characters) if self._needles else None

    def spans(self, text: str) -> Sequence[Span]:
        """Where a secret stands with its characters escaped, some or all."""
        pieces = self._cut(text)
        plain = "".join(_read(pieces))
        found = [span for needle in self._needles for span in occurrences(needle, plain)] if len(pieces) > 1 else []
        # Most texts end here; where each escape stands is worked out for the others only.
        return _origins(found, pieces) if found else ()

    def may_hold_one(self, document: str) -> bool:
        """Whether a string of a JSON document, given as its text, may hold a secret with escapes."""
        pieces = self._cut(document)
        if len(pieces) == 1:
            return False
        # A backslash of the secret's own is read once, and in the text of a document it is escaped twice.
        plain = "".join(_read(pieces))
        return "\\" in self._characters or any(needle in plain for needle in self._needles)

    def _cut(self, text: str) -> list[str]:
        """The text in pieces, every other of which is an escape."""
        if self._pattern is None or ("\\" not in text and "%" not in text):
            return [text]
        return self._pattern.split(text)


def occurrences(needle: str, text: str) -> Iterator[Span]:
    """Every place of a needle, none of which overlap."""
    first = text.find(needle)
    while first >= 0:
        last = first + len(needle)
        yield first, last
        first = text.find(needle, last)


def _read(pieces: Sequence[str]) -> Sequence[str]:
    """The pieces with the characters that the escapes stand for."""
    read = list(pieces)
    escapes = pieces[1::2]
    stands_for = {escape: _character_of(escape) for escape in set(escapes)}
    read[1::2] = [stands_for[escape] for escape in escapes]
    return read


def _origins(found: Iterable[Span], pieces: Sequence[str]) -> Sequence[Span]:
    """Places in the text that was read, as places in the text that came."""
    # Where each escape stands in what was read, and by how much what came is longer up to behind it.
    places = [place - 1 for place in accumulate(len(piece) + 1 for piece in pieces[:-1:2])]
    shifts = [0, *accumulate(len(escape) - 1 for escape in pieces[1::2])]
    return [
        (first + shifts[bisect_left(places, first)], last + shifts[bisect_left(places, last)]) for first, last in found
    ]


def _pattern_of(characters: set[str]) -> re.Pattern[str]:
    wide = _any_of(map(_units, characters))
    narrow = _any_of(f"{ord(character):02x}" for character in characters if ord(character) < _ONE_BYTE)
    short = _any_of(re.escape(_SHORT[character]) for character in characters & _SHORT.keys())
    percent = _any_of(map(_percent, characters))
    # However often a text was escaped, one backslash became several; only where a secret has one itself they count. Each
    # run of them is looked at once: its first one has none before it, and it is taken whole.
    run = "" if "\\" in characters else r"(?<!\\\\)\\*+"
    again = "" if "%" in characters else "(?:25)*+"
    escaped = rf"(?i:u(?:{wide})|x(?:{narrow}))|{short}"
    return re.compile(rf"(\\{run}(?:{escaped})|%{again}(?i:{percent}))")


def _any_of(patterns: Iterable[str]) -> str:
    """One of these; of none, what never matches."""
    return "|".join(sorted(patterns)) or "(?!)"


def _units(character: str) -> str:
    # Outside of the first plane JSON escapes the two halves of a character, each on its own.
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return units if len(units) == _UNIT else rf"{units[:_UNIT]}\\++u{units[_UNIT:]}"


def _percent(character: str) -> str:
    return "%".join(f"{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def _character_of(escape: str) -> str:
    if escape.startswith("%"):
        code = escape[1:]
        while code.startswith("25") and len(code) > len("25"):
            code = code[2:]
        return bytes.fromhex(code.replace("%", "")).decode("utf-8", "surrogatepass")
    code = escape.lstrip("\\")
    if len(code) <= 1:
        return _LETTERS[code or "\\"]
    if code[0] in "xX":
        return chr(int(code[1:], 16))
    units = code[1:] if len(code) == _UNIT + 1 else code[1 : _UNIT + 1] + code[-_UNIT:]
    return bytes.fromhex(units).decode("utf-16-be", "surrogatepass")
