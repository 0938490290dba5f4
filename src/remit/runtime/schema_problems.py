"""What a compiled JSON Schema objects to in a value, in a few lines that a model can act on.

Decides the words and their bounds; the verdict is the validator's, which comes in as a port because upstream owns it. A line
names the place and what was expected. It never holds a value that was sent, nor a default or an example of the schema; names
that were sent are shown, cut and escaped. Listing every error of a value costs time and memory for each, and the validator
lists all or one: where that would be much, one is given.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol, TypeAlias, cast

from remit.core.addresses import nearest
from remit.core.argument_names import ArgumentNames
from remit.core.arguments import path_text
from remit.core.canonical import Json, JsonObject
from remit.core.schema_work import Weight, multiplies

__all__ = [
    "MAX_CHARACTERS",
    "MAX_LINES",
    "CompiledSchema",
    "SchemaCompiler",
    "SchemaProblem",
    "SchemaProblemKind",
    "Wording",
    "bounded_lines",
    "problem_lines",
    "unknown_line",
]

MAX_LINES = 5
MAX_CHARACTERS = 600
"""What one message may take."""

_MAX_LINE = 240
_MAX_LISTING = 100_000
"""Bytes of the value times schemas that apply to one value, up to which every error is listed: some 0.2 s at worst."""

_MAX_BRANCHES_DEEP = 4
_SHOWN = 120
_NAMES_COMPARED = 200


class SchemaProblemKind(Protocol):
    """The keyword that objects, and its operand (`maximum: 5`: 5; anyOf: the problems of each branch)."""

    @property
    def name(self) -> str:
        """The keyword."""
        ...

    @property
    def value(self) -> object:
        """The operand."""
        ...


class SchemaProblem(Protocol):
    """One objection of a validator: the part of jsonschema_rs.ValidationError that is read here."""

    @property
    def instance_path(self) -> Sequence[str | int]:
        """Where in the value."""
        ...

    @property
    def instance(self) -> object:
        """The value there; only its type is ever told."""
        ...

    @property
    def kind(self) -> SchemaProblemKind:
        """What was expected."""
        ...


class CompiledSchema(Protocol):
    """The part of jsonschema_rs.Validator that is used here."""

    def is_valid(self, instance: object) -> bool:
        """The verdict."""
        ...

    def validate(self, instance: object) -> None:
        """Raise the first problem: a ValueError that is a SchemaProblem."""
        ...

    def iter_errors(self, instance: object) -> Iterable[SchemaProblem]:
        """Every problem, all of them made before the first is given."""
        ...


SchemaCompiler: TypeAlias = Callable[[JsonObject], CompiledSchema]
"""Makes a validator that fetches nothing, asserts no format and bounds each pattern. Raises ValueError."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What a value is called as a whole. `names` serve to guess what a refused name should have been."""

    root: str
    names: ArgumentNames | None = None


def problem_lines(compiled: CompiledSchema, value: Json, *, weight: Weight, wording: Wording) -> list[str]:
    """Why a value that the validator refuses is wrong, a line for each problem, without repeats.

    `weight` is the schema's. Where its references multiply with the depth of the value no problem is looked for.
    """
    lines: dict[str, None] = {}
    if weight.referring is not None and multiplies(weight.referring, value):
        return [f"{wording.root}: the schema refuses this; its alternatives are too many to say where"]
    for problem in islice(_problems(compiled, value, weight.applied), 1_000):
        lines.update(dict.fromkeys(_lines_of(problem, wording)))
    return list(lines) or [f"{wording.root}: the schema refuses this"]


def bounded_lines(lines: Sequence[str]) -> str:
    """At most MAX_LINES lines and MAX_CHARACTERS characters; the last line counts what was left out."""
    shown: list[str] = []
    room = MAX_CHARACTERS - len(_more(len(lines)))
    for line in lines:
        cut = line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 3] + "..."
        last = len(shown) == len(lines) - 1
        if len(shown) + (not last) >= MAX_LINES or len(cut) + 1 > room:
            break
        shown.append(cut)
        room -= len(cut) + 1
    rest = len(lines) - len(shown)
    return "\n".join([*shown, _more(rest)] if rest else shown)


def unknown_line(path: Sequence[str | int], name: str, known: Iterable[str]) -> str:
    """What is said of an argument that is not known, with the name that was probably meant, or those that there are."""
    names = sorted(known)
    near = nearest(name[:_SHOWN], islice(names, _NAMES_COMPARED))
    if near is not None:
        way_out = f"; did you mean {path_text([near])}?"
    else:
        listed = ", ".join(path_text([each]) for each in names)
        way_out = f"; known are {listed}" if 0 < len(listed) <= _SHOWN else "" if names else "; none is taken here"
    return f"{path_text([*path, name])}: unknown argument{way_out}"


def _problems(compiled: CompiledSchema, value: Json, weight: int) -> Iterable[SchemaProblem]:
    if len(json.dumps(value, ensure_ascii=False)) * weight <= _MAX_LISTING:
        return compiled.iter_errors(value)
    try:
        compiled.validate(value)
    except ValueError as first:
        return [cast("SchemaProblem", first)]
    return []


# --- words -------------------------------------------------------------------------------------------------------------


def _more(count: int) -> str:
    return f"and {count} more problem{'' if count == 1 else 's'}"


def _lines_of(problem: SchemaProblem, wording: Wording, deep: int = 0) -> Iterator[str]:
    keyword, operand, path = problem.kind.name, problem.kind.value, list(problem.instance_path)
    if keyword == "required" and isinstance(operand, str):
        yield f"{path_text([*path, operand])}: required, but missing"
    elif keyword in ("additionalProperties", "unevaluatedProperties") and isinstance(operand, list):
        unexpected = islice(cast("list[str]", operand), MAX_LINES + 1)
        if wording.names is None:
            yield from (f"{path_text([*path, name])}: is not allowed" for name in unexpected)
        else:
            known = wording.names.known_at(path)
            yield from (unknown_line(path, name, known) for name in unexpected)
    elif keyword in ("anyOf", "oneOf"):
        yield from _lines_of_branches(problem, wording, deep)
    else:
        yield f"{path_text(path, wording.root)}: {_expectation(problem)}"


def _lines_of_branches(problem: SchemaProblem, wording: Wording, deep: int) -> Iterator[str]:
    """The problems of the branch that was meant where one can be told, the types of all branches, or how many there are."""
    path, place = list(problem.instance_path), path_text(problem.instance_path, wording.root)
    branches = cast("list[list[SchemaProblem]]", problem.kind.value)
    if not all(branches):
        yield f"{place}: fits more than one alternative of {problem.kind.name}, expected exactly one"
        return
    fitting = [branch for branch in branches if not _has(branch, path, "type")]
    meant = [branch for branch in fitting if not _has(branch, path, "const", "enum", below=True)] or fitting
    if not fitting:
        types = dict.fromkeys(each for branch in branches for each in _types_in(branch, path))
        yield f"{place}: expected {' or '.join(types)}, got {_type_of(problem.instance)}"
    elif choices := _choices(fitting):
        yield from (
            f"{path_text(at, wording.root)}: expected one of {_options(options)}" for at, options in choices.items()
        )
    elif len(meant) == 1 and deep < _MAX_BRANCHES_DEEP:
        for inner in meant[0]:
            yield from _lines_of(inner, wording, deep + 1)
    else:
        yield f"{place}: fits none of the {len(branches)} alternatives of {problem.kind.name}"
        if deep < _MAX_BRANCHES_DEEP:
            yield from _lines_of(min(meant, key=len)[0], wording, deep + 1)


def _choices(branches: Sequence[Sequence[SchemaProblem]]) -> dict[tuple[str | int, ...], list[Json]]:
    """The values that would choose a branch, by their place, where every branch asks for another value in one place."""
    asked: dict[tuple[str | int, ...], list[list[Json]]] = {}
    for problem in chain.from_iterable(branches):
        wanted, keyword = cast("Json", problem.kind.value), problem.kind.name
        if keyword in ("const", "enum"):
            options = [wanted] if keyword == "const" else cast("list[Json]", wanted)
            asked.setdefault(tuple(problem.instance_path), []).append(options)
    everywhere = {at: options for at, options in asked.items() if len(options) == len(branches) > 1}
    return {at: list(chain.from_iterable(options)) for at, options in everywhere.items()}


def _has(branch: Sequence[SchemaProblem], path: Sequence[str | int], *keywords: str, below: bool = False) -> bool:
    deepest = len(path) + below
    return any(problem.kind.name in keywords and len(problem.instance_path) <= deepest for problem in branch)


def _types_in(branch: Sequence[SchemaProblem], path: Sequence[str | int]) -> Iterator[str]:
    for problem in branch:
        if problem.kind.name == "type" and len(problem.instance_path) == len(path):
            yield from cast("list[str]", problem.kind.value)


_LIMITS: Mapping[str, str] = {
    "maximum": "a number of at most {}",
    "minimum": "a number of at least {}",
    "exclusiveMaximum": "a number less than {}",
    "exclusiveMinimum": "a number greater than {}",
    "multipleOf": "a multiple of {}",
    "maxLength": "at most {} characters",
    "minLength": "at least {} characters",
    "maxItems": "at most {} items",
    "minItems": "at least {} items",
    "additionalItems": "at most {} items",
    "maxProperties": "at most {} members",
    "minProperties": "at least {} members",
    "pattern": "a text that matches the pattern {}",
    "const": "exactly {}",
}
"""What a keyword with an operand expects."""

_PLAIN: Mapping[str, str] = {
    "uniqueItems": "items that differ from each other",
    "contains": "more, or fewer, items of the kind that the schema says it contains",
    "unevaluatedItems": "fewer items",
    "falseSchema": "nothing here",
    "not": "something else (the schema excludes it with not)",
}
"""What a keyword expects whose operand says nothing to a caller."""


def _expectation(problem: SchemaProblem) -> str:
    keyword, operand = problem.kind.name, problem.kind.value
    if keyword == "type":
        return f"expected {' or '.join(cast('list[str]', operand))}, got {_type_of(problem.instance)}"
    if keyword == "enum":
        return f"expected one of {_options(cast('list[Json]', operand))}"
    if keyword == "propertyNames":
        return f"a name in it is not allowed: {_expectation(cast('SchemaProblem', operand))}"
    if keyword in _LIMITS:
        return f"expected {_LIMITS[keyword].format(_shown(cast('Json', operand)))}"
    return f"expected {_PLAIN[keyword]}" if keyword in _PLAIN else f"does not meet `{keyword}` of the schema"


def _options(options: Sequence[Json]) -> str:
    text = ""
    for count, option in enumerate(options):
        more = (", " if count else "") + _shown(option)
        if len(text) + len(more) > _SHOWN and count:
            return f"{text} and {len(options) - count} more"
        text += more
    return text


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = text if text.isprintable() else json.dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _type_of(value: object) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object"), (list, "array"),
    )  # fmt: skip
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
