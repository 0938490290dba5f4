"""Sections of Markdown fitted into a number of bytes: the gravest pieces are kept, what is left out is counted by kind.

Decides what is dropped, and says so; knows nothing of plans. What is kept is a prefix of the pieces in order of gravity:
after the first one that does not fit nothing more is taken, so that no harmless line stands where a danger was dropped.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["LEAST_BUDGET", "Piece", "Section", "fitted"]

LEAST_BUDGET = 4_000
"""Bytes. What is always there (marker, title, counts, digest, what was left out) needs most of it in the worst case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some whole lines. `rank` 0 is the gravest, `kind` is how it is counted where it is left out, one of our own words."""

    rank: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading over pieces, which keep their order. `lead` stands before them; `fold` folds them under these words.

    Nothing of anyone else's may be in `fold`: it is HTML.
    """

    title: str
    pieces: tuple[Piece, ...]
    lead: str = ""
    fold: str = ""


def fitted(head: str, sections: Sequence[Section], *, budget_bytes: int) -> str:
    """Head and sections as one text of at most `budget_bytes` bytes of UTF-8, ending with a newline.

    Raises ValueError for a budget below LEAST_BUDGET. The head must fit into that beside the notice of what was left out.
    """
    if budget_bytes < LEAST_BUDGET:
        raise ValueError(f"the smallest budget is {LEAST_BUDGET} bytes")
    # The notice about everything is at least as long as the one about some of it.
    everything = Counter(piece.kind for section in sections for piece in section.pieces)
    room = budget_bytes - _size(head) - 1
    kept = _gravest(sections, room)
    if len(kept) < everything.total():
        kept = _gravest(sections, room - _size(_left_out(everything)) - 2)
    gone = everything - Counter(sections[index].pieces[place].kind for index, place in kept)
    bodies = (_body(section, kept, index) for index, section in enumerate(sections))
    return "\n\n".join(part for part in (head, _left_out(gone), *bodies) if part) + "\n"


def _gravest(sections: Sequence[Section], room: int) -> set[tuple[int, int]]:
    """The places (section, piece) of what fits into `room` bytes."""
    ranked = sorted(
        (piece.rank, index, place)
        for index, section in enumerate(sections)
        for place, piece in enumerate(section.pieces)
    )
    kept: set[tuple[int, int]] = set()
    opened: set[int] = set()
    for _, index, place in ranked:
        section = sections[index]
        room -= _size(section.pieces[place].text) + 1
        room -= 0 if index in opened else _size(_wrapped(section, "-")) + 2
        if room < 0:
            break
        kept.add((index, place))
        opened.add(index)
    return kept


def _body(section: Section, kept: Iterable[tuple[int, int]], index: int) -> str:
    places = sorted(place for each, place in kept if each == index)
    text = "\n".join(section.pieces[place].text for place in places)
    return _wrapped(section, text) if places else ""


def _wrapped(section: Section, text: str) -> str:
    body = (f"<details><summary>{section.fold}</summary>", text, "</details>") if section.fold else (text,)
    return "\n\n".join(part for part in (f"### {section.title}", section.lead, *body) if part)


def _left_out(counts: Mapping[str, int]) -> str:
    words = ", ".join(f"{number:,} {kind}" for kind, number in sorted(counts.items()) if number)
    return f"**Left out, as there is no room:** {words}. The JSON has it all." if words else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
