r"""Text that others wrote, made safe for a terminal and a CI log.

Decides what may reach the screen: printable characters only, one line, no workflow command. Everything else becomes a
visible escape (`\x1b`, `\u202e`, `\U000e0041`), and a backslash is doubled, so that no text can pretend to be an escaped
one. Shortens long text and states its length. Does not know Markdown.
"""

import json
import re

from remit.core.canonical import Json

__all__ = [
    "begins_command",
    "escape_character",
    "escape_json",
    "escape_terminal",
    "harmless_json",
    "is_visible",
    "json_lines",
    "well_formed",
]

_INVISIBLE = frozenset(
    chr(point)
    for first, last in (
        (0x034F, 0x034F),  # combining grapheme joiner
        (0x115F, 0x1160),  # Hangul fillers
        (0x17B4, 0x17B5),  # Khmer inherent vowels
        (0x180B, 0x180F),  # Mongolian selectors
        (0x2800, 0x2800),  # blank Braille pattern
        (0x3164, 0x3164),  # Hangul filler
        (0xFE00, 0xFE0F),  # variation selectors, which can carry hidden bytes
        (0xFFA0, 0xFFA0),  # half-width Hangul filler
        (0xE0100, 0xE01EF),  # more variation selectors
    )
    for point in range(first, last + 1)
)
"""Characters that `str.isprintable` lets through although nobody sees them."""

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}
_BRACKETED = re.compile(r"#(?=#[A-Za-z]*\[)")
_COMMAND = re.compile(rf"\A(?P<space> *):(?=:|\Z)|{_BRACKETED.pattern}")
"""`::name` begins a workflow command after spaces at the start of a line; `##[name]` and `##vso[name]` anywhere.

A colon alone is broken too: our own may follow it.
"""


def escape_terminal(text: str, *, limit: int = 200) -> str:
    """The text in one printable line of about `limit` characters; a longer one ends with `... (N characters)`.

    Unshortened output can be read back: no two texts look the same.
    """
    if text.isprintable() and "\\" not in text and (text.isascii() or _INVISIBLE.isdisjoint(text)):
        safe = text if len(text) <= limit else _shortened(text[:limit], len(text))
    else:
        safe = _escaped(text, limit)
    return _COMMAND.sub(_neutral, safe) if "##" in safe or ":" in safe else safe


def escape_character(character: str) -> str:
    r"""One character as its visible escape, whether it needs one or not: `\n`, `\xa0`, `\u200b`, `\U000e0041`."""
    if character in _SHORT:
        return _SHORT[character]
    point = ord(character)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def is_visible(character: str) -> bool:
    """Whether a character may be shown as itself: printable, and seen by a reader."""
    return character.isprintable() and character not in _INVISIBLE


def escape_json(value: Json, *, limit: int = 200) -> str:
    r"""A value as JSON in one printable line. JSON escapes quotes and backslashes itself, so none is doubled here."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    shown = "".join(each if is_visible(each) else escape_character(each) for each in text[:limit])
    safe = shown if len(text) <= limit else _shortened(shown, len(text))
    return _COMMAND.sub(_neutral, safe)


def json_lines(value: Json) -> list[str]:
    r"""A value as indented JSON, whole, each line printable: what cannot be seen is escaped as JSON does, `\u202e`.

    The lines together are the same JSON. No string begins a line of its own, as JSON escapes line breaks.
    """
    lines = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True).split("\n")
    return [
        harmless_json("".join(each if is_visible(each) else json.dumps(each)[1:-1] for each in line)) for line in lines
    ]


def begins_command(text: str, index: int) -> bool:
    """Whether `##[name]` or `##vso[name]` begins at an index: a CI runner obeys these wherever they stand in a line."""
    return _BRACKETED.match(text, index) is not None


def harmless_json(document: str) -> str:
    r"""JSON as it was, for a log: what would begin a workflow command inside a string is spelled with `\u0023`.

    `::name` cannot begin a line of JSON, as every string stands behind its quote.
    """
    return _BRACKETED.sub(r"\\u0023", document)


def well_formed(text: str) -> str:
    r"""The text with each lone surrogate as the six characters `\udXXX`, as UTF-8 has no bytes for one.

    For documents: a definition holds none (it could not be hashed), but the name of a quarantined tool may.
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escaped(text: str, limit: int) -> str:
    pieces: list[str] = []
    room = limit
    for character in text:
        piece = character if is_visible(character) and character != "\\" else escape_character(character)
        room -= len(piece)
        if room < 0:
            return _shortened("".join(pieces), len(text))
        pieces.append(piece)
    return "".join(pieces)


def _shortened(start: str, length: int) -> str:
    return f"{start}... ({length} characters)"


def _neutral(match: re.Match[str]) -> str:
    space = match["space"]
    return r"\x23" if space is None else space + r"\x3a"
