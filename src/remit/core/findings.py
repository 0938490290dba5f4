"""What a reviewer should see in the text of a definition before approving it.

Decides which strings a model would read and collects findings on them: `high` for characters that hide and for
instructions aimed at the model, `low` for URLs and names of other tools. Findings flag, they never hide and never change
a text (DESIGN.md section 5); what is done about them is decided by the plan. The rules are in core/finding_rules.py. Pure.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, cast

from remit.core.canonical import Json, JsonObject
from remit.core.definition import Definition
from remit.core.finding_rules import Detector, Hit, detectors_for

__all__ = ["Finding", "FindingSeverity", "find", "find_new"]

_Path: TypeAlias = tuple[str | int, ...]
_String: TypeAlias = tuple[_Path, str, bool]

_EXCERPT, _LEAD = 80, 24
_REFERENCES = frozenset({"$schema", "$ref", "$id"})
_TOKEN = re.compile(r"[A-Za-z0-9_./-]+")
_TELLING = re.compile(r"[A-Za-z0-9]+(?:[_./-]+[A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z0-9]+")
_SEPARATORS = str.maketrans(dict.fromkeys("\"'`{}[]()<>,:;*\\", " "))


class FindingSeverity(StrEnum):
    """`high` keeps a tool that a file names from being attached unseen; `low` is shown."""

    HIGH = "high"
    LOW = "low"


_LOW_RULES = frozenset({"url", "tool-name"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding: the rule that met (a slug), where, and an excerpt of at most about 80 characters.

    `path` starts at the definition's root and ends at the string, or at the property whose name was looked at. `excerpt` is
    as the server sent it: escape it before showing.
    """

    severity: FindingSeverity
    rule: str
    path: tuple[str | int, ...]
    excerpt: str


def find(definition: Definition, other_tools: Collection[str] = ()) -> tuple[Finding, ...]:
    """The findings on a definition, in the order of its text; one for each rule and place, one for each URL.

    `other_tools` are remote names of tools of other servers; pass a set, as it is only asked for membership. Only names
    that no English sentence holds by chance count: with `_ - . /` or a capital inside.
    """
    names = other_tools if isinstance(other_tools, AbstractSet) else frozenset(other_tools)
    detectors = detectors_for(definition.text)
    if names and not names.isdisjoint(_tokens(definition.text)):
        detectors = (*detectors, Detector(lambda text: _names_in(text, names), reads_names=False))
    if not detectors:
        return ()
    strings: list[_String] = []
    _gather((), _document(definition), strings)
    return tuple(_collected(strings, detectors))


def find_new(before: Definition, after: Definition, other_tools: Collection[str] = ()) -> tuple[Finding, ...]:
    """The findings on `after` without the URLs that stand anywhere in `before`."""
    findings = find(after, other_tools)
    if all(finding.rule != "url" for finding in findings):
        return findings
    known = {finding.excerpt for finding in find(before) if finding.rule == "url"}
    return tuple(finding for finding in findings if finding.rule != "url" or finding.excerpt not in known)


def _document(definition: Definition) -> Json:
    content = definition.content()
    return {
        "title": content.title,
        "description": content.description,
        "inputSchema": content.input_schema,
        "outputSchema": content.output_schema,
        "annotations": content.annotations,
    }


def _gather(path: _Path, node: Json, strings: list[_String]) -> None:
    """Every string and every key, as the model reads both."""
    if isinstance(node, str):
        strings.append((path, node, False))
    elif isinstance(node, Mapping):
        for key, value in cast("JsonObject", node).items():
            place = (*path, key)
            strings.append((place, key, True))
            _gather(place, value, strings)
    elif isinstance(node, Sequence):
        for index, value in enumerate(node):
            _gather((*path, index), value, strings)


def _collected(strings: Sequence[_String], detectors: Sequence[Detector]) -> Iterable[Finding]:
    found: dict[tuple[str, object], Finding] = {}
    for path, text, is_name in strings:
        plain_only = is_name or path[-1] in _REFERENCES
        for detector in detectors:
            if plain_only and not detector.reads_names:
                continue
            for hit in detector.hits(text):
                finding = _finding(path, text, hit)
                low = finding.severity is FindingSeverity.LOW
                found.setdefault((finding.rule, finding.excerpt if low else path), finding)
    return found.values()


def _finding(path: _Path, text: str, hit: Hit) -> Finding:
    rule, start, end = hit
    if rule in _LOW_RULES:
        excerpt = _cut(text[start:end])
        return Finding(severity=FindingSeverity.LOW, rule=rule, path=path, excerpt=excerpt)
    begin = max(0, start - _LEAD)
    excerpt = ("\u2026" if begin else "") + _cut(text[begin:])
    return Finding(severity=FindingSeverity.HIGH, rule=rule, path=path, excerpt=excerpt)


def _cut(text: str) -> str:
    return text[:_EXCERPT] + ("\u2026" if len(text) > _EXCERPT else "")


def _tokens(canonical: str) -> Sequence[str]:
    return canonical.replace("\\n", " ").translate(_SEPARATORS).replace(". ", " ").split()


def _names_in(text: str, names: AbstractSet[str]) -> Iterator[Hit]:
    for match in _TOKEN.finditer(text):
        token = match.group().rstrip("._/-")
        if token in names and _TELLING.fullmatch(token):
            yield "tool-name", match.start(), match.start() + len(token)
