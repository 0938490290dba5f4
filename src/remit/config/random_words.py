"""Words that look generated: long and mixed as no name, path or identifier is.

Decides by length, kinds of characters, their changes and Shannon's entropy; what such a word is, its caller judges. Pure.
"""

import math
import re
from collections import Counter
from itertools import pairwise

__all__ = ["looks_random"]

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_HEX = re.compile(r"(?:[0-9a-f]+|[0-9A-F]+)\Z")


def looks_random(word: str, *, hexadecimal: bool = True) -> bool:
    """Whether a word is long and mixed like a generated key, unlike a path, a name in any case style or a UUID."""
    if len(word) < 24 or _UUID.match(word):
        return False
    if _HEX.match(word):
        return hexadecimal and len(word) >= 32 and not word.isdigit() and _entropy(word) >= 3.0
    kinds = [_character_class(character) for character in word]
    digits = kinds.count("0")
    # In CamelCase nearly every change of class is the fall from a capital to a small letter, so that one does not count.
    changes = sum(1 for a, b in pairwise(kinds) if a != b and (a, b) != ("A", "a"))
    if {"A", "a"} <= set(kinds):
        return digits >= 2 and changes / len(word) >= 0.3 and _entropy(word) >= 3.5
    return (
        len(word) >= 32 and digits >= 5 and "-" not in kinds and changes / len(word) >= 0.25 and _entropy(word) >= 3.5
    )


def _character_class(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return "-"


def _entropy(text: str) -> float:
    """Shannon's bits per character."""
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values())
