"""Whether a tree has the shape that layout.py asks for; every difference is a finding at its exact place.

Decides kinds, known and missing keys, grammars, choices and ranges. A wrong value is never repeated in a message, as it
may be a secret in the wrong place; keys and the words of a choice are. What several keys mean together is decided elsewhere.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import assert_never

from remit.config.credentials import is_showable
from remit.config.findings import Findings, line_of
from remit.config.nodes import Kind, ListNode, MapNode, Node, Scalar, Unusable, kind_of
from remit.config.shapes import (
    Choice,
    Constant,
    Days,
    Flag,
    ListOf,
    MapOf,
    Number,
    Record,
    Shape,
    Text,
    TextOr,
    Variant,
)
from remit.core.addresses import nearest
from remit.render.escape import escape_character, is_visible

__all__ = ["check_shape"]

_REFERENCE_FORM = re.compile(r"\$\{|\$[A-Za-z_]")
_MAX_DIGITS = 30
_NAMED = frozenset({"invalid-alias", "invalid-name", "invalid-namespace"})
"""Codes whose wrong value is a name, which may be repeated."""
_FLAG_WORDS: Mapping[str, str] = {
    "true": "true", "yes": "true", "on": "true", "y": "true", "false": "false", "no": "false", "off": "false", "n": "false",
}  # fmt: skip


def check_shape(root: Node, shape: Record, findings: Findings) -> None:
    """Report every place where the tree is not of the shape."""
    _Check(findings).value(root, shape, "the file", root)


@cache
def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})\Z")


class _Check:
    """One walk. `label` is how the value is spoken of, `owner` the node that a missing key is reported at."""

    def __init__(self, findings: Findings):
        self._findings = findings

    def value(self, node: Node, shape: Shape, label: str, owner: Node) -> None:
        match shape:
            case Text():
                self._text(node, shape, label)
            case Record():
                self._record(node, shape, label, owner)
            case Flag():
                self._flag(node, label)
            case Choice():
                self._choice(node, shape, label)
            case MapOf():
                self._map(node, shape, label)
            case ListOf():
                self._list(node, shape, label)
            case Number() | Days():
                self._number(node, shape, label)
            case Variant() | TextOr():
                self._alternative(node, shape, label, owner)
            case Constant():
                self._constant(node, shape, label)
            case _:
                assert_never(shape)

    def _text(self, node: Node, shape: Text, label: str) -> None:
        if not isinstance(node, Scalar) or (kind := node.kind) is Kind.NULL:
            if shape.references:
                self._hide(node)
            if not shape.nullable or not isinstance(node, Scalar):
                self._wrong_kind(node, label, shape.what, _text_hint(node))
        elif kind is not Kind.TEXT:
            # A number may be a password, so one that could stand under env or headers is not repeated.
            quotable = not shape.references and len(node.text) <= _MAX_DIGITS
            hint = f'write "{node.text}" in quotes' if quotable else "write it in quotes"
            self._wrong_kind(node, label, shape.what, hint)
        elif len(node.text) > shape.max_length:
            self._findings.add("too-long", node.source, f"{label} is longer than {shape.max_length} characters")
        else:
            self._characters(node, shape, label)

    def _characters(self, node: Scalar, shape: Text, label: str) -> None:
        text = node.text
        if not shape.references and "$" in text and _REFERENCE_FORM.search(text):
            self._findings.add(
                "reference-not-allowed",
                node.source,
                f"{label} is written out: what is reviewed is what holds",
                hint="references are allowed in command arguments, env, cwd, url path and query, headers and auth",
            )
        elif shape.name and (hidden := _hidden_character(text)):
            self._findings.add(
                "unsafe-character",
                node.source,
                f"{label} holds the character {escape_character(hidden)}, which no reader sees",
                hint="delete it; type the text anew instead of pasting it",
            )
        elif shape.pattern and not _whole(shape.pattern).match(text):
            shown = f"`{text}`" if shape.code in _NAMED and is_showable(text) else label
            self._findings.add(shape.code, node.source, f"{shown} is not {shape.what}: {shape.rule}")

    def _flag(self, node: Node, label: str) -> None:
        if isinstance(node, Scalar) and node.kind is Kind.FLAG:
            return
        meant = _FLAG_WORDS.get(node.text.strip().lower()) if isinstance(node, Scalar) else None
        hint = f"write `{meant}`, without quotes" if meant else None
        if meant and isinstance(node, Scalar) and node.plain:
            hint = f"`{node.text}` is text in YAML 1.2; write `{meant}`"
        self._wrong_kind(node, label, Kind.FLAG.value, hint)

    def _choice(self, node: Node, shape: Choice, label: str) -> None:
        if not isinstance(node, Scalar) or node.kind is not Kind.TEXT:
            self._wrong_kind(node, label, f"a {shape.what}", f"one of {_listed(shape.values)}")
        elif node.text not in shape.values:
            shown = f"`{node.text}` is" if is_showable(node.text) else "this is"
            self._findings.add(
                "wrong-value",
                node.source,
                f"{shown} no {shape.what}",
                hint=_did_you_mean(node.text, shape.values) or f"one of {_listed(shape.values)}",
            )

    def _number(self, node: Node, shape: Number | Days, label: str) -> None:
        days = isinstance(shape, Days)
        if not isinstance(node, Scalar) or node.kind not in (Kind.INTEGER, Kind.INTEGER if days else Kind.FLOAT):
            hint = "write it without quotes" if _is_quoted_number(node) else None
            self._wrong_kind(node, label, "a whole number of days" if days else "a number of seconds", hint)
            return
        number = node.number
        if number is None or not 0 <= number <= shape.maximum or (number == 0 and not days):
            allowed = f"from 0 to {shape.maximum} days" if days else f"above 0 and at most {shape.maximum} seconds"
            self._findings.add("out-of-range", node.source, f"{label} must be {allowed}")

    def _constant(self, node: Node, shape: Constant, label: str) -> None:
        if not isinstance(node, Scalar) or node.kind is not Kind.INTEGER:
            self._wrong_kind(node, label, f"the number {shape.value}", f"write `{shape.value}`, without quotes")
        elif node.number != shape.value:
            self._findings.add(
                "unsupported-version",
                node.source,
                f"this remit reads version {shape.value} only",
                hint="a later version needs a later remit",
            )

    def _list(self, node: Node, shape: ListOf, label: str) -> None:
        if not isinstance(node, ListNode):
            if isinstance(shape.item, Text) and shape.item.references:
                self._hide(node)
            self._wrong_kind(node, label, "a list", _collection_hint(node, shape.example, "[]"))
            return
        if shape.at_least_one and not node.items:
            self._findings.add(
                "empty-list", node.source, f"{label} needs at least one entry", hint=f"as in {shape.example}"
            )
        for item in node.items:
            self.value(item, shape.item, f"an entry of {label}", item)
        if shape.unique:
            self._unique(node)

    def _unique(self, node: ListNode) -> None:
        seen: dict[str, Scalar] = {}
        for item in node.items:
            if isinstance(item, Scalar) and (first := seen.setdefault(item.text, item)) is not item:
                self._findings.add(
                    "duplicate-item",
                    item.source,
                    f"this entry stands in {line_of(first.source, item.source)} already",
                    hint="delete one",
                )

    def _map(self, node: Node, shape: MapOf, label: str) -> None:
        if not isinstance(node, MapNode):
            if isinstance(shape.value, Text) and shape.value.references:
                self._hide(node)
            self._wrong_kind(node, label, "a mapping", _collection_hint(node, shape.example, "{}"))
            return
        for text, entry in node.entries.items():
            self._text(entry.key, shape.key, f"a key of {label}")
            self.value(entry.value, shape.value, f"`{text}`" if is_showable(text) else f"a value of {label}", entry.key)

    def _record(self, node: Node, shape: Record, label: str, owner: Node) -> None:
        if not isinstance(node, MapNode):
            keys = ", ".join(list(shape.fields)[:3])
            self._wrong_kind(
                node, label, "a mapping", f"with the keys {keys}" + (" ..." if len(shape.fields) > 3 else "")
            )
            return
        fields, given = shape.fields, set(node.entries)
        for text, entry in node.entries.items():
            known = fields.get(text)
            if known:
                self.value(entry.value, known.shape, f"`{text}`", entry.key)
            else:
                # A misspelt key is one mistake: the one that was meant is not missing as well.
                given.add(self._unknown(entry.key, entry.value, shape) or text)
        self._missing(given, shape, label, owner)

    def _unknown(self, key: Scalar, value: Node, shape: Record) -> str | None:
        """Report a key; gives the one that was probably meant."""
        if shape.secretive or not isinstance(value, Scalar):
            # Nobody judges what stands under a misspelt `headers` or `token`, so nobody shows it either.
            self._hide(value)
        # Looking for a near name is the costly part, and nobody sees it once the list is full.
        near = None if self._findings.full else _nearest(key.text, shape.fields)
        hint = shape.elsewhere.get(key.text) or (near and f"did you mean `{near}`?")
        name = f"`{key.text}`" if is_showable(key.text) else "this"
        self._findings.add(
            "unknown-key",
            key.source,
            f"{name} is no key of {_title(shape)}",
            hint=hint or f"known are {_listed(shape.fields)}",
        )
        return near

    def _missing(self, given: Collection[str], shape: Record, label: str, owner: Node) -> None:
        for key, known in shape.fields.items():
            if known.required and key not in given:
                self._findings.add(
                    "missing-key", owner.source, f"`{key}` is missing in {label}", hint=known.description
                )
        if shape.either and not any(key in given for key in shape.either):
            names = " or ".join(f"`{key}`" for key in shape.either)
            self._findings.add("missing-key", owner.source, f"{label} needs {names}", hint=None)

    def _alternative(self, node: Node, shape: Variant | TextOr, label: str, owner: Node) -> None:
        match shape:
            case Variant():
                self._variant(node, shape, label, owner)
            case TextOr(text=text, record=record):
                self.value(node, record if isinstance(node, MapNode) else text, label, owner)

    def _variant(self, node: Node, shape: Variant, label: str, owner: Node) -> None:
        if not isinstance(node, MapNode):
            self._hide(node)
            self._wrong_kind(node, label, "a mapping", f"with `type`: one of {_listed(shape.records)}")
            return
        chosen = node.node("type")
        if chosen is None:
            hint = f"one of {_listed(shape.records)}"
            self._findings.add("missing-key", owner.source, f"`type` is missing in {label}", hint=hint)
        elif isinstance(chosen, Scalar) and chosen.text in shape.records:
            self._record(node, shape.records[chosen.text], label, owner)
        else:
            self._choice(chosen, Choice(what=f"{shape.title} type", values=tuple(shape.records)), "`type`")

    def _hide(self, node: Node) -> None:
        if not isinstance(node, Scalar) or node.kind is Kind.TEXT:
            self._findings.hide(node.span)

    def _wrong_kind(self, node: Node, label: str, wanted: str, hint: str | None) -> None:
        if not isinstance(node, Unusable):
            self._findings.add("wrong-type", node.source, f"{label} takes {wanted}, not {_kind_words(node)}", hint=hint)


def _hidden_character(text: str) -> str | None:
    if text.isascii() and text.isprintable():
        return None
    return next((character for character in text if not is_visible(character)), None)


def _kind_words(node: Node) -> str:
    match node:
        case Scalar():
            return node.kind.value
        case ListNode():
            return "a list"
        case MapNode():
            return "a mapping"
        case Unusable():
            return "this"
        case _:
            assert_never(node)


def _text_hint(node: Node) -> str | None:
    if isinstance(node, MapNode) and set(node.entries) == {"python"}:
        return 'write "{python}" in quotes'
    return None


def _collection_hint(node: Node, example: str, empty: str) -> str:
    if isinstance(node, Scalar) and node.kind is Kind.NULL:
        return f"write `{empty}` if there are none, or delete the key"
    return f"as in {example}"


def _is_quoted_number(node: Node) -> bool:
    return isinstance(node, Scalar) and kind_of(node.text) in (Kind.INTEGER, Kind.FLOAT)


def _nearest(text: str, known: Iterable[str]) -> str | None:
    folded = {name.casefold(): name for name in known}
    near = nearest(text.casefold()[:64], folded)
    return folded[near] if near else None


def _did_you_mean(text: str, known: Iterable[str]) -> str | None:
    near = _nearest(text, known)
    return f"did you mean `{near}`?" if near else None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _title(shape: Record) -> str:
    return f"`{shape.title}`" if shape.title.isidentifier() else shape.title
