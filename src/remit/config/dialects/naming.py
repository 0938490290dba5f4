"""The names of imported servers.

Decides which name of a source mcp.yaml can have, and what becomes of any other; never by a number, as that would depend on the
order of the files.
"""

import re

from remit.config.dialects.literals import looks_secret
from remit.config.layout import NAME_PATTERN

__all__ = ["name_of", "slug_of"]


def slug_of(declared: str) -> str:
    """`[a-z0-9_-]`: lower case, each run of anything else one `_`; a name in another script as domain names write it (`xn--...`).

    Two names with one slug are never both imported.
    """
    slug = re.sub(r"[^a-z0-9_-]+", "_", declared.lower()).strip("_-")
    letters = "" if slug else "".join(each for each in declared.lower() if each.isalnum())
    return f"xn--{letters.encode('punycode').decode()}" if letters else slug


def name_of(declared: str) -> str | None:
    """The name that mcp.yaml can have: the declared one, else its slug; None where it has neither, or is a secret."""
    if looks_secret("", declared):
        return None
    if re.fullmatch(NAME_PATTERN, declared):
        return declared
    slug = slug_of(declared)
    return slug if slug and slug[0] != "-" and len(slug) <= 64 else None
