"""Masking of secrets by value.

Decides in which spellings a secret is recognised: as it is, in hex, in base64 (at each of the three alignments, so that `Basic`
credentials are found too), and with any of its characters percent-encoded or escaped as JSON allows (see
remit.upstream.escapes). It takes time in proportion to a text, also where the text was made to be compared for long: whoever
sends it knows the secret. It does not guess: only values that were resolved for a
connection are masked, and only those of eight characters or more, as shorter ones would mask ordinary words
(DESIGN.md section 2).
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast
from urllib.parse import quote_plus

from remit.core.canonical import Json, JsonObject
from remit.upstream.escapes import Escapes, occurrences

__all__ = ["MASK", "MIN_SECRET", "Redactor"]

MASK = "***"
MIN_SECRET = 8
"""Characters; a shorter value is not masked."""


class Redactor:
    """Masks a growing set of secrets. `repr` shows none of them."""

    def __init__(self, secrets: Iterable[str] = ()):
        self._secrets: set[str] = set()
        self._forms: set[str] = set()
        self._in_json: frozenset[str] = frozenset()
        self._escapes = Escapes(())
        for secret in secrets:
            self.add(secret)

    def __repr__(self) -> str:
        return "Redactor(...)"

    @property
    def masks(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._forms)

    def add(self, secret: str) -> None:
        """Mask one more value from now on; too short a value is ignored."""
        if len(secret) < MIN_SECRET:
            return
        self._secrets.add(secret)
        self._forms.update(_forms_of(secret))
        self._in_json = frozenset(map(_in_json, self._forms))
        self._escapes = Escapes(self._secrets)

    def text(self, text: str) -> str:
        """The text with every secret replaced by `MASK`."""
        # Searched for and cut out by hand: a pattern of all forms would compare each place with each of them.
        spans = [span for form in self._forms for span in occurrences(form, text)]
        spans += self._escapes.spans(text)
        if not spans:
            return text
        parts: list[str] = []
        end = 0
        for first, last in sorted(spans):
            if first >= end:
                parts += text[end:first], MASK
            # Of two secrets that overlap, one of them often the beginning of the other, nothing is left.
            end = max(end, last)
        return "".join([*parts, text[end:]])

    def document(self, value: Json) -> Json:
        """A JSON value with every secret masked in its strings and keys; the same object where there is no secret."""
        return self._masked(value) if self._may_hold_one(value) else value

    def object(self, value: JsonObject) -> JsonObject:
        """`document` for an object."""
        return cast("JsonObject", self.document(value))

    def _may_hold_one(self, value: Json) -> bool:
        if not self._forms:
            return False
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (RecursionError, ValueError, TypeError):
            return True
        return any(form in text for form in self._in_json) or self._escapes.may_hold_one(text)

    def _masked(self, root: Json) -> Json:
        # An explicit stack: what a server sends may be nested deeper than the interpreter's recursion limit.
        holder: list[Json] = [None]
        pending: list[tuple[Json, list[Json] | dict[str, Json], int | str]] = [(root, holder, 0)]
        while pending:
            value, parent, place = pending.pop()
            masked: Json = value
            if isinstance(value, str):
                masked = self.text(value)
            elif isinstance(value, Mapping):
                entries = cast("JsonObject", value)
                copy: dict[str, Json] = {self.text(key): None for key in entries}
                pending.extend((entry, copy, self.text(key)) for key, entry in entries.items())
                masked = copy
            elif isinstance(value, Sequence):
                items: list[Json] = [None] * len(value)
                pending.extend((item, items, index) for index, item in enumerate(value))
                masked = items
            parent[place] = masked  # type: ignore[index]  # the place fits its own parent; the pairing is not expressible
        return holder[0]


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _forms_of(secret: str) -> Iterable[str]:
    yield secret
    # A space as plus; all else of percent-encoding is found character by character.
    yield quote_plus(secret)
    yield re.sub(r"%[0-9A-F]{2}", lambda match: match.group().lower(), quote_plus(secret))
    yield json.dumps(secret)[1:-1]
    yield _in_json(secret)
    encoded = secret.encode("utf-8", "surrogatepass").hex()
    yield encoded
    yield encoded.upper()
    yield from _base64_forms(secret.encode("utf-8", "surrogatepass"))


def _base64_forms(secret: bytes) -> Iterable[str]:
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + secret).decode("ascii")
        # The first characters also hold bits of what stood before the secret, the last ones of what follows it.
        first = (offset * 8 + 5) // 6
        last = (offset + len(secret)) * 8 // 6
        kept = text[first:last]
        if len(kept) >= MIN_SECRET:
            yield kept
            yield kept.replace("+", "-").replace("/", "_")
