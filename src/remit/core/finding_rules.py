"""What in a text deserves a reviewer's eye: characters that hide, phrases that address the model, blobs and URLs.

Rules over one string at a time. Emoji sequences and the joiners and marks of scripts that need them are ordinary text.
The phrases are in core/finding_phrases.py; which strings are looked at is decided in core/findings.py. Pure.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from remit.core.finding_phrases import EXFILTRATION, FOREIGN, FOREIGN_PHRASES, PHRASES, Hit, Phrase, lowered

__all__ = ["UNUSUAL", "Detector", "Hit", "detectors_for"]

_HIDING = (
    r"\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
UNUSUAL = re.compile(f"[{_HIDING}]")
"""Characters outside ASCII that show nothing, reorder text or control a terminal."""

_SUSPECT = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f{_HIDING}]")
_JOINING_SCRIPTS = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff]"
)
_FLAG_TAGS = re.compile("\U0001f3f4(?:\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
                        "|\U000e0077\U000e006c\U000e0073))\U000e007f")  # fmt: skip
_ZWNJ, _ZWJ, _KEYCAP = "\u200c", "\u200d", "\u20e3"
_DIRECTION_MARKS = frozenset("\u200e\u200f\u061c")


def _characters_in(text: str) -> Iterator[Hit]:
    """The first character of each rule that hides, reorders or controls, unless its script or an emoji needs it."""
    ordinary = {place for flag in _FLAG_TAGS.finditer(text) for place in range(*flag.span())}
    marks = frozenset[str]() if _writes_right_to_left(text) else _DIRECTION_MARKS
    seen: set[str] = set()
    for match in _SUSPECT.finditer(text):
        place = match.start()
        rule = None if place in ordinary else _rule_for(text, place, marks)
        if rule is not None and rule not in seen:
            seen.add(rule)
            yield rule, place, place + 1


def _rule_for(text: str, place: int, marks: frozenset[str]) -> str | None:
    character = text[place]
    code = ord(character)
    if code < 0xA0:
        return _control_rule(text, place)
    if 0xE0000 <= code <= 0xE007F:
        return "tag-character"
    if character in _DIRECTION_MARKS:
        return "bidi-control" if character in marks else None
    if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "bidi-control"
    return None if _is_needed(text, place) else "invisible-character"


def _control_rule(text: str, place: int) -> str | None:
    if text[place] == "\r" and text[place + 1 : place + 2] == "\n":
        return None
    return "ansi-escape" if text[place] in "\x1b\x90\x9b\x9d" else "control-character"


def _writes_right_to_left(text: str) -> bool:
    # The right-to-left mark itself counts as a strong character, so letters are asked for.
    letters = (character for character in text if character.isalpha())
    return not text.isascii() and any(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in letters)


def _is_needed(text: str, place: int) -> bool:
    code, before, after = ord(text[place]), text[max(0, place - 1) : place], text[place + 1 : place + 2]
    if text[place] in {_ZWNJ, _ZWJ}:
        return _joins_letters(before, after) or (text[place] == _ZWJ and _joins_emoji(text, place))
    if 0xFE0E <= code <= 0xFE0F:
        return _is_symbol(before) or (before in set("0123456789#*") and after == _KEYCAP)
    if 0xFE00 <= code <= 0xFE0D or 0xE0100 <= code <= 0xE01EF:
        return before >= "\u2200" and unicodedata.category(before) in {"Lo", "Sm"}
    return 0x180B <= code <= 0x180D and "\u1820" <= before <= "\u18aa"


def _joins_letters(before: str, after: str) -> bool:
    ended = not after or after.isspace() or after in ".,;:!?)\"'"
    return bool(_JOINING_SCRIPTS.match(before)) and (ended or bool(_JOINING_SCRIPTS.match(after)))


def _joins_emoji(text: str, place: int) -> bool:
    """Between two symbols; the first may carry a variation selector or a skin tone."""
    before = text[max(0, place - 3) : place].rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
    return _is_symbol(before[-1:]) and _is_symbol(text[place + 1 : place + 2])


def _is_symbol(character: str) -> bool:
    return character > "\x7f" and unicodedata.category(character) in {"So", "Sm", "Sk", "Po", "Pd"}


_TRIGGERS = tuple(dict.fromkeys(trigger for phrase in PHRASES for trigger in phrase.triggers))
_WORDS = tuple(trigger for trigger in _TRIGGERS if "<" not in trigger and ">" not in trigger)
_PHONE = re.compile(r"\+\d{7}")
_RUN = 120
_RUNS = bytes(0x61 if re.match(rb"[A-Za-z0-9+/_-]", bytes([code])) else 0x20 for code in range(256))
_BLOB = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_RUN},}}")
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>`(){}\[\]|\\^]+")
_MAYBE_ESCAPED = re.compile(r"\\[ubfr]")
_ESCAPED_CONTROL = re.compile(r"(\\+)[ubfr]")


@dataclass(frozen=True, slots=True)
class Detector:
    """One way to look at a string: `hits` yields what it meets. `reads_names`: also the keys of a schema."""

    hits: Callable[[str], Iterator[Hit]]
    reads_names: bool = True


def detectors_for(canonical: str) -> tuple[Detector, ...]:
    """The detectors that may meet something in a definition, from one scan over its canonical JSON text.

    Most texts need none, which is what makes thousands of definitions cheap.
    """
    urls = canonical.count("://")
    has_url = bool(urls) and urls > canonical.count('"$schema":"http')
    chosen = [Detector(_characters_in)] if _holds_suspects(canonical) else []
    chosen.extend(Detector(phrase.hits) for phrase in _phrases_for(lowered(canonical), has_url))
    if _has_long_run(canonical):
        chosen.append(Detector(_blobs_in, reads_names=False))
    if has_url:
        chosen.append(Detector(_urls_in, reads_names=False))
    return tuple(chosen)


def _holds_suspects(canonical: str) -> bool:
    if not canonical.isascii() and UNUSUAL.search(canonical):
        return True
    if "\x7f" in canonical:
        return True
    # An even run of backslashes is written-out backslashes before a letter, as in the pattern of a word boundary.
    escapes = _ESCAPED_CONTROL.finditer(canonical) if _MAYBE_ESCAPED.search(canonical) else ()
    return any(len(match[1]) % 2 for match in escapes)


def _phrases_for(plain: str, has_url: bool) -> Iterator[Phrase]:
    flat = plain.replace("\\n", " ").replace("\\t", " ")
    met = {trigger for trigger in (_TRIGGERS if "<" in flat else _WORDS) if trigger in flat}
    foreign = FOREIGN_PHRASES if not flat.isascii() and FOREIGN.search(flat) else ()
    addressed = has_url or "@" in flat or _PHONE.search(flat) is not None
    if not met and not addressed and not foreign:
        return
    # Unescaped as far as the patterns care: every string stands on lines of its own.
    lines = plain.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', "'").replace('"', "\n")
    for phrase in PHRASES:
        wanted = (phrase is EXFILTRATION and addressed) or not met.isdisjoint(phrase.triggers)
        if wanted and phrase.meets(lines):
            yield phrase
    for phrase in foreign:
        if any(trigger in flat for trigger in phrase.triggers) and phrase.meets(lines):
            yield phrase


def _has_long_run(text: str) -> bool:
    """Whether a run of base64 characters is long enough."""
    return b"a" * _RUN in text.encode(errors="replace").translate(_RUNS)


def _blobs_in(text: str) -> Iterator[Hit]:
    """Long runs that look like base64: mixed cases and digits, few separators, many different characters."""
    for match in _BLOB.finditer(text):
        run = match.group()
        mixed = re.search("[a-z]", run) and re.search("[A-Z]", run) and re.search("[0-9]", run)
        if mixed and len(set(run)) >= 16 and run.count("/") + run.count("_") + run.count("-") < len(run) / 10:
            yield "encoded-blob", *match.span()


def _urls_in(text: str) -> Iterator[Hit]:
    """The URLs of a text, closing punctuation left out."""
    for match in _URL.finditer(text) if "://" in text else ():
        yield "url", match.start(), match.start() + len(match.group().rstrip(".,;:!?*_"))
