"""What looks like a credential that somebody wrote into a file.

Decides, by name (`API_KEY`, `Authorization`, `--token`), by shape (`ghp_...`, a JWT, a key block) and by randomness,
whether a literal must be a reference instead, and which parts of a source line may be shown. It is a net, not a proof: a
short password under a harmless name passes. It never gives back the value it found. Pure.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from remit.core.references import EnvReference, FileReference, InvalidReference, Literal, parse_references

__all__ = [
    "credential_in_argument",
    "credential_in_env",
    "credential_in_header",
    "credential_in_text",
    "credential_in_url",
    "is_secret_name",
    "is_showable",
    "looks_random",
    "mask_line",
    "secret_field_literal",
]

_SECRET_WORDS = frozenset(
    {
        "APIKEY", "AUTHORIZATION", "COOKIE", "CREDENTIAL", "CREDENTIALS", "JWT", "PASSCODE", "PASSPHRASE", "PASSWD",
        "PASSWORD", "PAT", "PWD", "SECRET", "TOKEN",
    }
)  # fmt: skip
_SECRET_ENDINGS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY")
_KEY_OWNERS = frozenset(
    {
        "ACCESS", "ACCOUNT", "API", "AUTH", "ENCRYPTION", "LICENSE", "MASTER", "PRIVATE", "SECRET", "SERVICE", "SHARED",
        "SIGNING", "SUBSCRIPTION",
    }
)  # fmt: skip
"""Words that make `KEY` after them a credential; `KEY` alone is one only in the query of a URL."""

_HARMLESS_ENDINGS = frozenset(
    {
        "AGE", "ALGORITHM", "AUDIENCE", "AUTH", "BACKEND", "BUDGET", "CACHE", "COUNT", "DIR", "DIRECTORY", "ENABLED",
        "ENDPOINT", "EXPIRY", "FILE", "FORMAT", "HEADER", "HOST", "ID", "ISSUER", "LENGTH", "LIFETIME", "LIMIT", "MAX",
        "METHOD", "MIN", "MODE", "NAME", "PATH", "POLICY", "PREFIX", "PROVIDER", "RATE", "REGION", "REQUIRED", "ROTATION",
        "SCOPE", "SCOPES", "SECONDS", "SIZE", "STDIN", "STORE", "STRATEGY", "TIMEOUT", "TTL", "TYPE", "URI", "URL", "USER",
        "USERNAME", "VERSION", "WINDOW",
    }
)  # fmt: skip
"""A name that ends so speaks about a credential without being one: TOKEN_URL, SECRET_NAME, PASSWORD_FILE."""

_QUERY_NAMES = frozenset({"KEY", "SIG", "SIGNATURE", "AUTH"})
_MAX_SHOWN = 64
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("a GitHub token", r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})"),
        ("a GitLab token", r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{16,}"),
        ("an API key", r"(?<![A-Za-z0-9_-])(?:sk|rk)[-_](?:[A-Za-z0-9]{20,}|(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,})"),
        ("a Slack token", r"(?<![A-Za-z0-9])(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}"),
        ("an AWS access key", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,}"),
        ("a Google credential", r"(?<![A-Za-z0-9])(?:AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{10,})"),
        ("a token", r"(?<![A-Za-z0-9])(?:hf_|npm_|dop_v1_|whsec_|shpat_|lin_api_|pypi-|SG\.)[A-Za-z0-9_-]{16,}"),
        ("a JWT", r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*"),
        ("a key block", r"-----BEGIN[ A-Z0-9-]*"),
        ("a URL with a password", r"(?<=://)[^/\s:@\0]*:(?!\0@)[^/\s@]+(?=@)"),
    )
)
"""What issuers made recognisable on purpose. `\\0` stands for a reference."""

_ASSIGNMENT = re.compile(
    r"""(?<!\w)(?P<name>[A-Za-z][\w-]{0,63})["']?\s*(?:=|(?<=["'])\s*:)\s*["']?(?P<value>[^\s;,&"'}]+)"""
)
_HEADER_LINE = re.compile(r"\A(?P<name>[A-Za-z][A-Za-z0-9-]*):\s*(?P<value>.+)\Z", re.DOTALL)
_FLAG = re.compile(r"\A--?(?P<name>[A-Za-z][\w-]*)\Z")
_SCHEME = re.compile(r"\A\s*(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate|DPoP)\b\s*", re.IGNORECASE)
_HARMLESS = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|[0-9]{1,3}|(?:~|\.{1,2})?/[\w.-]*(?:/[\w. -]+)+|~/.*|\./.*)?\Z",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z0-9_+=-]{24,}")
_DIGEST_BEFORE = re.compile(r"(?:sha[0-9]{1,3}[:-]|@)\Z")
_MAX_JUDGED = 8192
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_HEX = re.compile(r"(?:[0-9a-f]+|[0-9A-F]+)\Z")


def is_secret_name(name: str) -> bool:
    """Whether a variable, header, flag or field of this name holds a credential: `GITHUB_TOKEN`, `X-Api-Key`, `dbPassword`."""
    words = _words(name)
    if not words or words[-1] in _HARMLESS_ENDINGS or words in (["PWD"], ["OLDPWD"]):
        return False
    if any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words):
        return True
    return any(second == "KEY" and first in _KEY_OWNERS for first, second in pairwise(words))


def credential_in_env(name: str, text: str) -> str | None:
    """What a variable's value gives away, in words (`a value for API_KEY`), or None."""
    if is_secret_name(name) and _stands_for_itself(text):
        return f"a literal value for {name}"
    return credential_in_text(text)


def credential_in_header(name: str, text: str) -> str | None:
    """What a header's value gives away, or None; `Bearer ${env:TOKEN}` gives nothing away."""
    if is_secret_name(name) and _stands_for_itself(text):
        return f"a literal value for the header {name}"
    return credential_in_text(text)


def credential_in_url(text: str) -> str | None:
    """What a URL gives away in its query, its path or before its host, or None."""
    _, _, query = text.partition("?")
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        named = is_secret_name(name) or not _QUERY_NAMES.isdisjoint(_words(name)[-1:])
        if named and _stands_for_itself(value):
            return f"a literal value for the query key {name}"
    return credential_in_text(text)


def credential_in_argument(arguments: Sequence[str], index: int) -> str | None:
    """What one argument of a command gives away, alone or as the value of the flag before it, or None."""
    text = arguments[index]
    flag = _FLAG.match(arguments[index - 1]) if index else None
    if flag and not text.startswith("-") and is_secret_name(flag["name"]) and _stands_for_itself(text):
        return f"a literal value for {flag.group()}"
    if "://" in text and (found := credential_in_url(text)):
        return found
    # A digest pins a package or an image in a command; elsewhere hexadecimal text has no business in a file.
    return credential_in_text(text, hexadecimal=False)


def secret_field_literal(text: str) -> bool:
    """Whether a field that must be a reference (`auth.token`) holds none, or has a literal as default."""
    literals, defaults, references = _split(text)
    return not references or any(defaults) or credential_in_text(literals) is not None


def credential_in_text(text: str, *, hexadecimal: bool = True) -> str | None:
    """What any text gives away by itself, defaults of references included, or None."""
    literals, defaults, _ = _split(text[:_MAX_JUDGED])
    for part in (literals, *defaults):
        found = _shape_of(part) or _assigned_in(part)
        if found:
            return found
        if any(looks_random(word, hexadecimal=hexadecimal) for word in _unexplained_words(part)):
            return "a long random text"
    return None


def is_showable(text: str) -> bool:
    """Whether a name that a file gives may be repeated in a message: short, visible, and no secret by its looks."""
    return 0 < len(text) <= _MAX_SHOWN and text.isascii() and text.isprintable() and not looks_random(text)


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


def mask_line(line: str) -> str:
    """A source line for people, with whatever could be a credential as asterisks; its length does not change."""
    for _, pattern in _SHAPES:
        line = pattern.sub(lambda match: "*" * len(match.group()), line)
    line = _WORD.sub(lambda match: "*" * len(match.group()) if looks_random(match.group()) else match.group(), line)
    return _NAMED_VALUE.sub(_mask_named, line)


_NAMED_VALUE = re.compile(
    r"""(?<!\w)(?P<name>[A-Za-z][\w-]{0,63})(?P<middle>["']?\s*[:=]\s*)(?P<value>"[^"]*"?|'[^']*'?|\[[^\]]*|[^\s,}\]{\[][^,}\]]*)"""
)
_REFERENCE = re.compile(r"\$\{[^{}]*\}|\$\$")


def _mask_named(match: re.Match[str]) -> str:
    value = match["value"]
    is_secret = is_secret_name(match["name"]) or match["name"] == "auth"
    literal = _SCHEME.sub("", _REFERENCE.sub("", value.split("${", 1)[0]).strip("\"' {"))
    if not is_secret or not literal or _HARMLESS.match(literal):
        return match.group()
    return match["name"] + match["middle"] + "*" * len(value)


def _words(name: str) -> list[str]:
    return [word.upper() for word in _NOT_WORD.split(_CAMEL.sub("_", name)) if word] if name else []


def _split(text: str) -> tuple[str, list[str], int]:
    """Literal text with NUL for each reference, the defaults of the references, and how many there are."""
    try:
        parts = parse_references(text)
    except InvalidReference:
        return text, [], 0
    literals = "".join(part.text if isinstance(part, Literal) else "\0" for part in parts)
    references = [part for part in parts if isinstance(part, EnvReference | FileReference)]
    return (
        literals,
        [part.default for part in references if isinstance(part, EnvReference) and part.default],
        len(references),
    )


def _stands_for_itself(text: str) -> bool:
    """Whether a value under a telling name is a literal credential: no reference carries it, or a default does."""
    if _REFERENCE_LIKE.search(text):
        _, defaults, _ = _split(text)
        return any(not _HARMLESS.match(default) for default in defaults)
    return not _HARMLESS.match(_SCHEME.sub("", text).strip())


_REFERENCE_LIKE = re.compile(r"\$\{[^{}]+\}|\A(?:[A-Za-z]+ )?\$[A-Z_][A-Z0-9_]*\Z")
"""A reference, or the form that another tool uses for one: that is another mistake, reported as such."""


def _shape_of(text: str) -> str | None:
    return next((name for name, pattern in _SHAPES if pattern.search(text)), None)


def _assigned_in(text: str) -> str | None:
    header = _HEADER_LINE.match(text)
    if header and is_secret_name(header["name"]) and "\0" not in text and _stands_for_itself(header["value"]):
        return f"a literal value for {header['name']}"
    for match in _ASSIGNMENT.finditer(text):
        if is_secret_name(match["name"]) and "\0" not in match["value"] and _stands_for_itself(match["value"]):
            return f"a literal value for {match['name']}"
    return None


def _unexplained_words(text: str) -> list[str]:
    found = _WORD.finditer(text)
    return [match.group() for match in found if not _DIGEST_BEFORE.search(text, 0, match.start())]


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
