"""The check of an answer: every figure in it must stand in what the tools returned.

Decides which numbers of a text are figures, and when a figure and a returned number are the same. Pure.

A figure is a number as it is written: digits with an optional sign, thousands separators (comma, apostrophe, no-break or
narrow no-break space), decimals, exponent, a scale word (k, thousand, M, million) and a unit (ms, s, seconds, %, percent).
These are not figures, because they claim nothing about the returned rows:

- dates and times of day: `2026-06-24`, `24 June`, `June 24, 2026`, `14:05`;
- numbers inside a name: `p95`, `gpt-4`, `v2.1`, and ordinals: `95th`;
- the number of a list item at the start of a line: `1.` or `2)`;
- what repeats the question: the same number before the same word (`7 days`), unless that word is a unit.

A figure is found where a returned number, rounded to the decimals shown, is that figure; half a unit of the last digit is
the whole tolerance, so "about 18,000 ms" for 18,263.5 is not found. Units must agree as far as returned.py knows them.

The check does not see numbers in words ("nine thousand"), a right figure given to the wrong agent, or a wrong date. What a
model computed itself (a difference, a ratio, how many rows there are) is not in the rows, so it is flagged.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from remit_ops_agent.model import ToolMessage
from remit_ops_agent.returned import Returned, Unit, returned_numbers

__all__ = ["Check", "Figure", "Found", "check_figures", "figures_in"]

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DAY = r"[0-3]?\d(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"

_NO_FIGURES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"(?<![\w.])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?(?!\w)",
        r"(?<![\w.:])[0-2]?\d:[0-5]\d(?::[0-5]\d)?(?![\w:])",
        rf"(?<![\w.,]){_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?(?!\w)",
        rf"(?<!\w){_MONTH} (?:{_DAY}(?:,? {_YEAR})?|{_YEAR})(?![\w.,]*\d)",
        r"(?<![\w.,])\d+(?:\.\d+)?(?:st|nd|rd|th)(?!\w)",
        # A name: at most three digits after a letter and two after a hyphen, so that no figure hides in `dispatch-18263`.
        r"(?<!\w)[^\W\d](?:[^\W\d]|-(?=[^\W\d]|\d{1,2}(?!\d))|\d{1,3}(?!\d))*(?:(?<=\d)\.\d{1,2}(?!\d))?",
        r"^[ \t]*\d{1,2}[.)](?=[ \t])",
    )
)

_SPACE = r"[ \t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]?"
_SEPARATOR = r"[,'\N{RIGHT SINGLE QUOTATION MARK}\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]"
_END = r"(?![^\W_])"

_FIGURE = re.compile(
    r"(?P<sign>(?<![\w)])[-\N{MINUS SIGN}])?"
    rf"(?P<whole>\d{{1,3}}(?:{_SEPARATOR}\d{{3}}(?!\d))+|\d+)"
    r"(?:\.(?P<decimals>\d+))?"
    r"(?:[eE](?P<exponent>[+-]?\d{1,3})(?!\d))?"
    rf"(?:{_SPACE}(?P<scale>[kKM]|thousand|million){_END})?"
    rf"(?:{_SPACE}(?P<unit>%|(?:percent|ms|milliseconds?|s|sec|secs|seconds?){_END}))?"
)

_WORD = re.compile(r"[\s-]*([^\W\d_]+)")

_SCALES: Mapping[str, int] = {"k": 3, "K": 3, "thousand": 3, "M": 6, "million": 6}

_WORDS: Mapping[str, Unit] = {
    "%": Unit.PERCENT,
    "percent": Unit.PERCENT,
    "ms": Unit.MS,
    "millisecond": Unit.MS,
    "milliseconds": Unit.MS,
    "s": Unit.SECONDS,
    "sec": Unit.SECONDS,
    "secs": Unit.SECONDS,
    "second": Unit.SECONDS,
    "seconds": Unit.SECONDS,
}

_ONE = Decimal(1)
_MILLI = Decimal("0.001")
_FACTORS: Mapping[tuple[Unit, Unit], Sequence[Decimal]] = {
    (Unit.MS, Unit.MS): (_ONE,),
    (Unit.MS, Unit.SECONDS): (Decimal(1000),),
    (Unit.MS, Unit.UNKNOWN): (_ONE,),
    (Unit.SECONDS, Unit.SECONDS): (_ONE,),
    (Unit.SECONDS, Unit.MS): (_MILLI,),
    (Unit.SECONDS, Unit.UNKNOWN): (_ONE, _MILLI),
    (Unit.PERCENT, Unit.PERCENT): (_ONE,),
    (Unit.PERCENT, Unit.SHARE): (Decimal(100),),
    (Unit.PERCENT, Unit.UNKNOWN): (_ONE, Decimal(100)),
}
"""What turns a returned number into the unit of a figure; no entry, no match. A bare figure matches any unit as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: `text` is `answer[start:end]`, unit included; `tolerance` is half a unit of the last digit shown."""

    text: str
    start: int
    end: int
    value: Decimal
    tolerance: Decimal
    unit: Unit | None

    def shows(self, returned: Returned) -> bool:
        """Whether this is the returned number, rounded as shown."""
        factors = (_ONE,) if self.unit is None else _FACTORS.get((self.unit, returned.unit), ())
        return any(abs(returned.value * factor - self.value) <= self.tolerance for factor in factors)


@dataclass(frozen=True, slots=True)
class Found:
    """A figure and the first returned number that it shows."""

    figure: Figure
    returned: Returned


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The figures of an answer in order: those found in the returned rows, and those that nothing returned."""

    found: tuple[Found, ...]
    unfound: tuple[Figure, ...]

    @property
    def holds(self) -> bool:
        """Whether every figure was found; also true of an answer without figures."""
        return not self.unfound


def check_figures(answer: str, question: str, results: Iterable[ToolMessage]) -> Check:
    """Look for every figure of an answer in the results of the calls that it rests on."""
    returned = tuple(returned_numbers(results))
    found: list[Found] = []
    unfound: list[Figure] = []
    for figure in figures_in(answer, question):
        match = next((number for number in returned if figure.shows(number)), None)
        if match is None:
            unfound.append(figure)
        else:
            found.append(Found(figure, match))
    return Check(found=tuple(found), unfound=tuple(unfound))


def figures_in(text: str, question: str = "") -> Iterator[Figure]:
    """The figures of a text in order; what repeats the question is none."""
    asked = frozenset(_echoes(question)) if question else frozenset[tuple[Decimal, str]]()
    for match, figure in _numbers(text):
        if (figure.value, _word_after(text, match)) not in asked:
            yield figure


def _echoes(question: str) -> Iterator[tuple[Decimal, str]]:
    for match, figure in _numbers(question):
        word = _word_after(question, match)
        if figure.unit is None and word:
            yield figure.value, word


def _numbers(text: str) -> Iterator[tuple[re.Match[str], Figure]]:
    spans = [match.span() for pattern in _NO_FIGURES for match in pattern.finditer(text)]
    for match in _FIGURE.finditer(_blanked(text, spans)):
        yield match, _figure(match)


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the digits inside the spans made letters, so that every other place stays where it is."""
    characters = list(text)
    for start, end in spans:
        characters[start:end] = ["x" if character.isdecimal() else character for character in characters[start:end]]
    return "".join(characters)


def _figure(match: re.Match[str]) -> Figure:
    decimals = match["decimals"] or ""
    power = int(match["exponent"] or 0) + _SCALES.get(match["scale"] or "", 0)
    digits = "".join(character for character in match["whole"] if character.isdecimal())
    value = Decimal(f"{digits}.{decimals}" if decimals else digits).scaleb(power)
    return Figure(
        text=match.group(),
        start=match.start(),
        end=match.end(),
        value=-value if match["sign"] else value,
        tolerance=Decimal("0.5").scaleb(power - len(decimals)),
        unit=_WORDS[match["unit"]] if match["unit"] else None,
    )


def _word_after(text: str, match: re.Match[str]) -> str:
    """The word that a number counts, in the singular; empty where the number has a unit or no word follows."""
    following = _WORD.match(text, match.end())
    return following[1].casefold().removesuffix("s") if following and not match["unit"] else ""
