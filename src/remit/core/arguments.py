"""Arguments as a model emitted them: JSON text, or an object that a library caller parsed, into one exact JSON object.

Decides what counts as arguments at all (reference: security.md items 45 to 47): one JSON object whose hash is what runs, so
nothing that two readers could read differently. Whether a tool takes them is runtime/arguments_model.py's. Every check is an
iteration over what is there, bounded by MAX_TEXT_BYTES and MAX_DEPTH; nothing recurses before the depth is known. Pure.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import TypeAlias, cast

from remit.core.canonical import Json, JsonObject

__all__ = [
    "MAX_DEPTH",
    "MAX_INTEGER_DIGITS",
    "MAX_TEXT_BYTES",
    "Objected",
    "is_too_large",
    "parse_arguments",
    "path_text",
]

MAX_TEXT_BYTES = 4 * 1024 * 1024
"""UTF-8 bytes of one call's arguments as JSON text."""

MAX_DEPTH = 64
"""Objects and lists inside each other, the arguments object counted."""

MAX_INTEGER_DIGITS = 1_000
"""Decimal digits of an integer; smaller ones stay exact."""

_SHOWN_NAME = 64
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKET = re.compile(r"[^\[\]{}]+")
_STEPS = {"{": 1, "[": 1, "}": -1, "]": -1}
_SURROGATE = re.compile("[\ud800-\udfff]")
_SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])|[\ud800-\udfff]|[0-9]{300}")
"""What a flaw of a single value looks like in JSON text; text without it needs no second look."""


class _Inexact(float):
    """A number whose float is another one than was written, so that the walk can say where."""


_TOO_BIG = 10**MAX_INTEGER_DIGITS
_KINDS: Mapping[type, str] = {
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    _Inexact: "a number",
    bool: "a boolean",
    type(None): "null",
}
_TOO_DEEP = f"the arguments are nested deeper than {MAX_DEPTH} levels"
_TOO_LARGE = f"the arguments are larger than {MAX_TEXT_BYTES} bytes of JSON"
_NOT_FINITE = "NaN and infinity are no JSON numbers"
_INEXACT = "a number has more digits than a 64-bit float keeps; round it, or send it as text where the tool takes one"
_TOO_MANY_DIGITS = f"an integer has more than {MAX_INTEGER_DIGITS} digits"


@dataclass(frozen=True, slots=True)
class Objected:
    """Why arguments cannot be used, in words for the model that sent them. Holds names, never values."""

    message: str


def parse_arguments(raw: str | JsonObject) -> JsonObject | Objected:
    """The arguments as plain dicts and lists of their own, or why they are none.

    Text must be one JSON object without duplicate keys. An object that was parsed elsewhere may hold dict, list, str, int,
    float, bool and None only, and is copied, so that nobody changes what was decided on. Neither may hold NaN, an infinity
    (1e999 is one), a lone surrogate or a NUL, and text no number that a float would change: what was written is sent.
    """
    return _parse_text(raw) if isinstance(raw, str) else _take_object(raw)


def is_too_large(text: str) -> bool:
    """Whether arguments have more than MAX_TEXT_BYTES as text, whatever else they are."""
    return len(text) > MAX_TEXT_BYTES or _utf8_size(text) > MAX_TEXT_BYTES


def path_text(path: Iterable[str | int], root: str = "arguments") -> str:
    """A place in a value as `query.limit` or `rows[3]["odd name"]`; the value as a whole is called `root`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif (step.isidentifier() or _PLAIN_NAME.fullmatch(step)) and len(step) <= _SHOWN_NAME:
            text += f".{step}" if text else step
        else:
            shown = step if len(step) <= _SHOWN_NAME else step[: _SHOWN_NAME - 3] + "..."
            text += f"[{json.dumps(shown)}]"
    return text or root


# --- text --------------------------------------------------------------------------------------------------------------


class _Doubled(dict[str, Json]):
    """An object that had a key twice, so that the walk can say where."""

    def __init__(self, pairs: Sequence[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.key = next(key for key, _ in pairs if key in seen or seen.add(key))


class _Doubtful(Exception):
    pass


def _object_of(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Doubtful
    return members


def _doubled_object_of(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Doubled(pairs)


def _refuse_constant(_name: str) -> Json:
    raise _Doubtful


def _is_exact(text: str, value: float) -> bool:
    if repr(value) == text:
        return True
    try:
        return math.isfinite(value) and Decimal(text) == Decimal(repr(value))
    except ArithmeticError:  # An exponent that no Decimal has either.
        return False


def _float_of(text: str) -> float:
    value = float(text)
    if not _is_exact(text, value):
        raise _Doubtful
    return value


def _marked_float_of(text: str) -> float:
    value = float(text)
    return value if _is_exact(text, value) else _Inexact(value)


_STRICT = json.JSONDecoder(object_pairs_hook=_object_of, parse_float=_float_of, parse_constant=_refuse_constant)
_LENIENT = json.JSONDecoder(object_pairs_hook=_doubled_object_of, parse_float=_marked_float_of)
"""Reads what the strict one will not, for the walk to name the place."""


def _parse_text(text: str) -> JsonObject | Objected:
    flaw = _flaw_of_whole(text)
    if flaw is not None:
        return Objected(flaw)
    try:
        value = cast("Json", _STRICT.decode(text))
        return _judged(value) if not isinstance(value, dict) or _SUSPICIOUS.search(text) else cast("JsonObject", value)
    except _Doubtful:
        return _reread(text)
    except json.JSONDecodeError as error:
        return Objected(f"the arguments are not valid JSON: {error.msg} (character {error.pos + 1})")
    except ValueError:  # Python itself refuses to read integers of thousands of digits.
        return Objected(_TOO_MANY_DIGITS)


def _reread(text: str) -> JsonObject | Objected:
    try:
        return _judged(cast("Json", _LENIENT.decode(text)))
    except ValueError:
        return Objected("the arguments are not valid JSON")


def _flaw_of_whole(text: str) -> str | None:
    if not text or text.isspace():
        return "the arguments are empty; send {} where a tool takes none"
    if is_too_large(text):
        return _TOO_LARGE
    return _TOO_DEEP if _is_deep(text) else None


def _is_deep(text: str) -> bool:
    """Whether brackets outside of strings stand more than MAX_DEPTH deep. Linear, and free where there are few brackets."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    brackets = _NO_BRACKET.sub("", _STRINGS.sub("", text))
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# --- objects -----------------------------------------------------------------------------------------------------------


def _take_object(value: JsonObject) -> JsonObject | Objected:
    judged = _judged(value)
    # A copy by way of text keeps integers and floats exact, and nothing of the caller's stays in it.
    return judged if isinstance(judged, Objected) else cast("JsonObject", json.loads(json.dumps(judged)))


_Place: TypeAlias = "tuple[dict[str, object] | list[object], int, _Place | None, str | int]"
"""An object or list, how deep it stands, the place around it, and its key or index there."""


class _Flawed(Exception):
    def __init__(self, flaw: str, place: "_Place | None" = None, *steps: str | int) -> None:
        super().__init__(flaw if place is None else f"{path_text([*_path_of(place), *steps])}: {flaw}")


def _judged(value: Json) -> JsonObject | Objected:
    """The value where it is an object without flaws."""
    if not isinstance(value, dict):
        return Objected(f"the arguments must be one JSON object, not {_KINDS.get(type(value), 'something else')}")
    try:
        _look_through((cast("dict[str, object]", value), 1, None, ""))
    except _Flawed as flaw:
        return Objected(str(flaw))
    return cast("JsonObject", value)


def _look_through(root: _Place) -> None:
    """Visit each value once, and none after the first flaw. Raises _Flawed."""
    pending, size = [root], 0
    while pending:
        place = pending.pop()
        container, depth, _, _ = place
        size += _length_of(place)
        if depth > MAX_DEPTH:
            raise _Flawed(_TOO_DEEP)
        # The sum is looked at before each value, so that what is too large is never read to its end.
        for step, entry in container.items() if isinstance(container, dict) else enumerate(container):
            if size > MAX_TEXT_BYTES:
                raise _Flawed(_TOO_LARGE)
            if isinstance(entry, dict | list):
                pending.append((cast("dict[str, object] | list[object]", entry), depth + 1, place, step))
            else:
                length = _look_at(entry)
                if isinstance(length, str):
                    raise _Flawed(length, place, step)
                size += length
    if size > MAX_TEXT_BYTES:
        raise _Flawed(_TOO_LARGE)


def _path_of(place: _Place) -> list[str | int]:
    steps: list[str | int] = []
    _, _, around, step = place
    while around is not None:
        steps.append(step)
        _, _, around, step = around
    return steps[::-1]


def _length_of(place: _Place) -> int:
    """The fewest bytes that an object or list takes in JSON beside its values. Raises _Flawed for its type and its keys."""
    container = place[0]
    # Exact types, as json.loads makes no others: a subclass could read as one thing here and go out as another.
    kind = type(container)
    if kind is list:
        return len(container) + 1
    if isinstance(container, _Doubled):
        raise _Flawed(f"the key {path_text([container.key])} is given twice", place)
    if kind is not dict:
        raise _Flawed(f"{_name_of(kind)} is no type of JSON", place)
    size = 1 + 4 * len(container)
    for key in cast("dict[object, object]", container):
        if type(key) is not str:
            raise _Flawed("a key is no string", place)
        flaw = _flaw_of_text(key)
        if flaw is not None:
            raise _Flawed(f"a key {flaw}", place)
        size += len(key)
    return size


def _look_at(value: object) -> int | str:
    """The fewest bytes that a value takes in JSON, or what is wrong with it."""
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        return _flaw_of_text(text) or len(text) + 2
    if kind is int:
        return 1 if -_TOO_BIG < cast("int", value) < _TOO_BIG else _TOO_MANY_DIGITS
    if kind is float:
        return 1 if math.isfinite(cast("float", value)) else _NOT_FINITE
    if kind is _Inexact:
        return _INEXACT if math.isfinite(cast("_Inexact", value)) else _NOT_FINITE
    return 4 if value is None or kind is bool else f"{_name_of(kind)} is no type of JSON"


def _name_of(kind: type) -> str:
    return kind.__name__[:_SHOWN_NAME]


def _flaw_of_text(text: str) -> str | None:
    if "\0" in text:
        return "holds a NUL character"
    if not text.isascii() and _SURROGATE.search(text):
        return "holds half of a surrogate pair"
    return None
