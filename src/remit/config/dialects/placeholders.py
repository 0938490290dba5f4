"""What stands where a secret belongs and is none.

Decides by the words that people write there; nothing of it is ever valid.
"""

import re

__all__ = ["is_placeholder"]

_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey|Digest)\s+(?=\S)", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"<[^<>]*>|\{[^{}:\"']*\}|\[[^\[\]\"']*\]|\.{3,}|\*{3,}|[xX]{3,}.*|.*\b(?:your|my)[-_ ].*|.*(?:change[-_ ]?me|"
    r"replace[-_ ]?(?:me|with)|placeholder|goes[-_ ]here|insert[-_ ]).*|.*[-_](?:here|xxx+)",
    re.IGNORECASE,
)
"""Braces around a colon or a quote are JSON, which may hold anything."""


def is_placeholder(text: str) -> bool:
    """Whether a text stands where a secret belongs and is none: `YOUR_KEY`, `{secret}`, `<token>`, `xxx-your-token`."""
    return bool(_PLACEHOLDER.fullmatch(_SCHEME.sub("", text.strip(), count=1).strip()))
