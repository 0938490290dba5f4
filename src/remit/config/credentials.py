"""What looks like a credential that somebody wrote into a file.

Decides, by name (`API_KEY`, `Authorization`, `--token`), by shape (`ghp_...`, a JWT, a key block) and by randomness,
whether a literal must be a reference instead, and which parts of a source line may be shown. It is a net, not a proof: a
short password under a harmless name passes. It never gives back the value it found. Pure.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from remit.config.named_literals import Judge, NamedLiteral, named_literals, names_in_json
from remit.config.random_words import looks_random
from remit.core.references import EnvReference, FileReference, InvalidReference, Literal, parse_references

__all__ = [
    "credential_by_shape",
    "credential_in_argument",
    "credential_in_env",
    "credential_in_header",
    "credential_in_text",
    "credential_in_url",
    "is_secret_name",
    "is_showable",
    "literal_beside",
    "literals_by_name",
    "mask_line",
    "secret_field_literal",
]

_SECRET_WORDS = frozenset(
    {
        "APIKEY", "AUTHORIZATION", "BEARER", "COOKIE", "CREDENTIAL", "CREDENTIALS", "CREDS", "JWT", "PASSCODE",
        "PASSPHRASE", "PASSWD", "PASSWORD", "PAT", "PWD", "SECRET", "TOKEN",
    }
)  # fmt: skip
_SECRET_ENDINGS = (
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "ACCESSKEY", "AUTHKEY", "PRIVATEKEY", "SECRETKEY", "PASSPHRASE",
)  # fmt: skip
_SECRET_LAST = frozenset({"PASS"})
"""Words that name a credential only at the end: DB_PASS, and not PASS_THROUGH."""

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
        "METHOD", "METHODS", "MIN", "MODE", "NAME", "PATH", "POLICY", "PREFIX", "PROVIDER", "RATE", "REGION", "REQUIRED", "ROTATION",
        "SCOPE", "SCOPES", "SECONDS", "SIZE", "STDIN", "STORE", "STRATEGY", "TIMEOUT", "TTL", "TYPE", "URI", "URL", "USER",
        "USERNAME", "VAR", "VARIABLE", "VERSION", "WINDOW",
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
        (
            "a token",
            r"(?<![A-Za-z0-9])(?:hf_|npm_|dop_v1_|whsec_|shpat_|lin_api_|ntn_|figd_|glsa_|gsk_|sbp_|tvly-|nvapi-|pypi-|SG\.)[A-Za-z0-9_-]{16,}",
        ),
        ("a JWT", r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*"),
        ("a key block", r"-----BEGIN[ A-Z0-9-]*"),
        ("a URL with a password", r"(?<=://)[^/\s:@]*:(?!\0+@|[0-9]{1,5}[?#\"',;])[^/\s@]+(?=@)"),
        ("a URL with a password", r"(?<=://)[^/\s:@]*:(?!(?:[0-9]{1,5}|\0+)[/?#\"',;@])[^\s@\"'<>,]+(?=@)"),
        ("a URL with a token", r"(?<=http[s:]:)//(?=[^/\s:@]*[0-9])[^/\s:@\0]{8,}(?=@)"),
        ("a bearer token", r"\A\s*[Bb]earer\s+[^\s\0]{6,}\s*\Z"),
        ("a basic credential", r"\A\s*[Bb]asic\s+(?=[A-Za-z0-9+/_-]*(?:[0-9=]|[a-z][A-Z]))[A-Za-z0-9+/_-]{8,}=*\s*\Z"),
    )
)
"""What issuers made recognisable on purpose. `\\0` stands for each character of a reference."""

_TOKEN_SEGMENT = re.compile(
    r"/(?:token|key|api-?key|secret|password)/(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_+=.-]{8,}(?=[/?#]|\Z)",
    re.IGNORECASE,
)
_FLAG = re.compile(r"\A--?(?P<name>[A-Za-z][\w-]*)\Z")
_VARIABLE_FLAG = re.compile(r"[a-z][a-z0-9-]*-env\Z")
_VARIABLE = re.compile(r"(?![A-Z]+[0-9][A-Z0-9]{8,}\Z)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*\Z")
_SCHEME = re.compile(r"\A\s*(?:Bearer|Basic|Token|Digest|ApiKey|Negotiate|DPoP)\s+(?=\S)", re.IGNORECASE)
_HARMLESS = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|[0-9]{1,3}|(?:~|\.{1,2})?/[\w.-]*(?:/[\w. -]+)+|~/.*|\./.*|[A-Za-z]:\\[^\s]*|"
    r"[\w.-]+\.(?:json|pem|crt|cer|key|p12|pfx|jks|ya?ml|toml|env|txt)|\*+)?\Z",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z0-9_+=-]{24,}")
_DIGEST_BEFORE = re.compile(r"(?:sha[0-9]{1,3}[:-]|@)\Z")
_MAX_JUDGED = 8192


def is_secret_name(name: str) -> bool:
    """Whether a variable, header, flag or field of this name holds a credential: `GITHUB_TOKEN`, `X-Api-Key`, `dbPassword`."""
    words = _words(name)
    if not words or words[-1] in _HARMLESS_ENDINGS or words in (["PWD"], ["OLDPWD"]):
        return False
    if words[-1] in _SECRET_LAST or any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words):
        return True
    return any(second == "KEY" and first in _KEY_OWNERS for first, second in pairwise(words))


def credential_in_env(name: str, text: str) -> str | None:
    """What a variable gives away, in words (`a literal value for API_KEY`), or None."""
    if found := credential_in_text(name):
        return f"{found} where a name belongs"
    if is_secret_name(name) and not _names_variable(name, text) and _stands_for_itself(text):
        return f"a literal value for {name}"
    return credential_in_text(text)


def credential_in_header(name: str, text: str) -> str | None:
    """What a header's value gives away, or None; `Bearer ${env:TOKEN}` gives nothing away."""
    if found := credential_in_text(name):
        return f"{found} where a name belongs"
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
    if _TOKEN_SEGMENT.search(text.partition("?")[0]):
        return "a literal value in its path"
    return credential_in_text(text)


def credential_in_argument(arguments: Sequence[str], index: int) -> str | None:
    """What one argument of a command gives away, alone or as the value of the flag before it, or None."""
    text = arguments[index]
    flag = _FLAG.match(arguments[index - 1]) if index else None
    named = flag and not text.startswith("-") and is_secret_name(flag["name"])
    if flag and named and not _names_variable(flag["name"], text) and _stands_for_itself(text):
        return f"a literal value for {flag.group()}"
    if "://" in text and (found := credential_in_url(text)):
        return found
    # A digest pins a package or an image in a command; elsewhere hexadecimal text has no business in a file.
    return credential_in_text(text, hexadecimal=False)


def secret_field_literal(text: str) -> bool:
    """Whether a field that must be a reference (`auth.token`) holds none, or has a literal as default."""
    references = _references(text)
    has_default = any(isinstance(each, EnvReference) and each.default for each in references)
    return not references or has_default or credential_in_text(text) is not None


def credential_in_text(text: str, *, hexadecimal: bool = True) -> str | None:
    """What any text gives away by itself, or None; the defaults of references by themselves, by their names, in their places."""
    text = text[:_MAX_JUDGED]
    references = _references(text)
    for each in references:
        named = each.name if isinstance(each, EnvReference) else each.path
        if found := _shape_of(named) or (
            isinstance(each, EnvReference) and looks_random(named) and "a long random text"
        ):
            return f"{found} where a name belongs"
    defaults = [each for each in references if isinstance(each, EnvReference) and each.default]
    for each in defaults:
        if is_secret_name(each.name) and not _HARMLESS.match(each.default or ""):
            return f"a literal default for {each.name}"
    parts = [_masked(text), *(each.default or "" for each in defaults), *([_expanded(text)] if defaults else [])]
    return next((found for part in parts if (found := _given_away(part, hexadecimal=hexadecimal))), None)


def _given_away(part: str, *, hexadecimal: bool) -> str | None:
    if found := _shape_of(part):
        return found
    named = next(iter(named_literals(part, literal_beside)), None)
    name = named.name if named else next(names_in_json(part, literal_beside), None)
    if name is not None:
        return f"a literal value for {name}"
    return "a long random text" if _holds_random_word(part, hexadecimal=hexadecimal) else None


def credential_by_shape(text: str) -> bool:
    """Whether a text holds an issuer's form of a credential or a long random word, whatever names stand in it."""
    return bool(_shape_of(text)) or _holds_random_word(text)


def literal_beside(name: str, value: str) -> bool:
    """Whether a value beside a name inside a text is a credential, by its first word, as prose may follow; NUL is a reference."""
    words = value.replace("$$", "$").split()
    told = "\0" not in value and bool(words) and is_secret_name(name) and not _names_variable(name, value)
    return told and not _SHELL_VALUE.match(words[0]) and _stands_for_itself(words[0])


def literals_by_name(text: str, judge: Judge, *, shell: bool = False) -> tuple[NamedLiteral, ...]:
    """The values inside a text that are credentials by the name beside them; references are NUL to the judge."""
    return named_literals(_masked(text), judge, shell=shell)


def is_showable(text: str) -> bool:
    """Whether a name that a file gives may be repeated in a message: short, visible, and no secret by its looks."""
    shown = 0 < len(text) <= _MAX_SHOWN and text.isascii() and text.isprintable()
    return shown and not looks_random(text) and credential_in_text(text) is None


def mask_line(line: str) -> str:
    """A source line for people, with whatever could be a credential as asterisks; its length does not change."""
    for _, pattern in _SHAPES:
        line = pattern.sub(lambda match: "*" * len(match.group()), line)
    line = _WORD.sub(lambda match: "*" * len(match.group()) if looks_random(match.group()) else match.group(), line)
    line = _DEFAULT.sub(_mask_judged, line)
    shown = _REFERENCE.sub(lambda each: "\0" * len(each.group()), line)
    for each in reversed(named_literals(shown, lambda name, value: value[0] != "*" and literal_beside(name, value))):
        line = line[: each.start] + "*" * (each.end - each.start) + line[each.end :]
    return _NAMED_VALUE.sub(_mask_named, _LISTED_FLAG.sub(_mask_judged, line))


_NAMED_VALUE = re.compile(
    r"""(?<!\w)(?P<name>[A-Za-z][\w-]{0,63})(?P<middle>["']?\s*[:=]\s*)(?P<value>"[^"]*"?|'[^']*'?|\[[^\]]*|[^\s,}\]{\[][^,}\]]*)"""
)
_DEFAULT = re.compile(r"(?<=\$\{env:)(?P<name>\w{1,64})(?P<middle>:-)(?P<value>[^{}$]+)")
_LISTED_FLAG = re.compile(
    r"""(?<![\w-])(?P<name>--?[A-Za-z][\w-]{0,63})(?P<middle>["']?\s*,\s*["']?)(?P<value>[^\s,"'\]$-][^,"'\]$]*)"""
)
_REFERENCE = re.compile(r"\$\{[^{}]*\}|\$\$")


def _mask_named(match: re.Match[str]) -> str:
    value = match["value"]
    is_secret = is_secret_name(match["name"]) or match["name"] == "auth"
    literal = _SCHEME.sub("", _REFERENCE.sub("", value.split("${", 1)[0]).strip("\"' {"))
    if not is_secret or not literal.strip("*") or _HARMLESS.match(literal):
        return match.group()
    return match["name"] + match["middle"] + "*" * len(value)


def _mask_judged(match: re.Match[str]) -> str:
    literal = is_secret_name(match["name"]) and not _HARMLESS.match(match["value"])
    return match["name"] + match["middle"] + "*" * len(match["value"]) if literal else match.group()


def _words(name: str) -> list[str]:
    """The words of a name in upper case, without the number that tells one of several apart."""
    words = (word.upper().rstrip("0123456789") for word in _NOT_WORD.split(_CAMEL.sub("_", name)))
    return [word for word in words if word]


def _references(text: str) -> list[EnvReference | FileReference]:
    try:
        return [part for part in parse_references(text) if isinstance(part, EnvReference | FileReference)]
    except InvalidReference:
        return []


def _masked(text: str) -> str:
    """The text with NUL for each character of a reference, so that what is found in it stands at the same place there."""
    if not _references(text):
        return text
    return _REFERENCE_FORM.sub(lambda each: "$$" if each.group() == "$$" else "\0" * len(each.group()), text)


def _expanded(text: str) -> str:
    """The text as it would be where no variable is set: a default is as literal as what stands around it."""
    parts = parse_references(text)
    return "".join(
        part.text if isinstance(part, Literal) else (isinstance(part, EnvReference) and part.default) or "\0"
        for part in parts
    )


def _stands_for_itself(text: str) -> bool:
    """Whether a value under a telling name is a literal credential: no reference carries it, or a default does."""
    if _REFERENCE_LIKE.search(text):
        defaults = [each.default or "" for each in _references(text) if isinstance(each, EnvReference)]
        return any(not _HARMLESS.match(default) for default in defaults)
    return not _HARMLESS.match(_SCHEME.sub("", text).strip())


def _names_variable(name: str, text: str) -> bool:
    """Whether a flag takes the name of a variable and gets one (`--token-env GITHUB_TOKEN`); `-var` says so by itself.

    Small letters are no such name here, nor a long word with digits, as either may be the secret; `TOKEN_ENV` is no flag.
    """
    return bool(_VARIABLE_FLAG.match(name) and _VARIABLE.match(text))


_REFERENCE_FORM = re.compile(r"\$\$|\$\{(?:env|file):[^{}$]*\}")
_REFERENCE_LIKE = re.compile(r"\$\{[^{}]+\}|\A(?:[A-Za-z]+ )?\$[A-Z_][A-Z0-9_]*\Z")
"""A reference, or the form that another tool uses for one: that is another mistake, reported as such."""

_SHELL_VALUE = re.compile(r"\$\(|\$\{\w|`")
"""What a shell puts another text in the place of."""


def _shape_of(text: str) -> str | None:
    return next((name for name, pattern in _SHAPES if pattern.search(text)), None)


def _holds_random_word(text: str, *, hexadecimal: bool = True) -> bool:
    return any(looks_random(word, hexadecimal=hexadecimal) for word in _unexplained_words(text))


def _unexplained_words(text: str) -> list[str]:
    found = _WORD.finditer(text)
    return [match.group() for match in found if not _DIGEST_BEFORE.search(text, 0, match.start())]
