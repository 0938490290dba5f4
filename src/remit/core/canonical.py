"""Canonical JSON and the hashes built on it.

Canonical means: sorted keys, no white space, UTF-8, integers exact at any size, no NaN or infinity, no lone surrogates.
Sorting is by code point, which differs from RFC 8785 only outside the BMP; integers beyond 2^53 keep their exact digits,
where RFC 8785 refuses them (an int64 `maximum` is common in real schemas). Pure.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["Json", "JsonObject", "base32_of", "canonical_json", "sha256_hex"]

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
JsonObject: TypeAlias = Mapping[str, Json]

# json.dumps makes an encoder anew each time, which costs as much as encoding a small object.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Json) -> str:
    """The one text of a JSON value. Raises ValueError on NaN, infinity or a lone surrogate."""
    text = _ENCODER.encode(value)
    text.encode("utf-8")
    return text


def sha256_hex(*parts: str) -> str:
    """Hex sha256 of the parts joined by NUL, UTF-8: how every hash input of the design is spelled."""
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()


def base32_of(length: int, *parts: str) -> str:
    """The first `length` characters of the lower-case, unpadded base32 of sha256 over the NUL-joined parts."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8")).digest()
    return base64.b32encode(digest).decode("ascii").lower()[:length]
