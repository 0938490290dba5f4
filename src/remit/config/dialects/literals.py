"""Credentials that somebody wrote out in a client configuration, replaced by references.

Decides which part of a value is the credential, and what the variable is called that takes its place: after the server and
the key (`SERVER_KEY`), the same for the same value. Gives no value back: whoever asks gets text that holds a reference.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import urlsplit, urlunsplit

from remit.config.credentials import (
    credential_by_shape,
    credential_in_argument,
    credential_in_env,
    credential_in_header,
    credential_in_text,
    credential_in_url,
    is_secret_name,
    is_showable,
    literal_beside,
    literals_by_name,
)
from remit.config.dialects.packages import SHELL_FLAGS
from remit.config.dialects.placeholders import is_placeholder
from remit.config.dialects.references import variable_name
from remit.config.nodes import ListNode, MapNode, Node, Scalar

__all__ = ["Literals", "is_written_out", "leaves", "looks_secret", "written_values"]

_SCHEME = re.compile(
    r"(?P<scheme>(?:Bearer|Basic|Token|ApiKey|Digest)\s+)(?P<value>(?!.*\$\{)\S.{5,})\Z", re.IGNORECASE | re.DOTALL
)
_ANY_SCHEME = re.compile(r"(?:(?:Bearer|Basic|Token|ApiKey|Digest)\s+(?=\S))?", re.IGNORECASE)
_ELSEWHERE = re.compile(r"\$|os\.environ/|\{env:|\{file:|\{\{|[a-z][a-z0-9-]*://[^?@]*\Z")
_FLAG = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)\Z")
_NAMED = re.compile(r"-{0,2}(?P<name>[A-Za-z_][\w.-]*)=(?=[^=\s])")
_USER = re.compile(r"https?://(?P<user>[^/?#@:\s]*)@(?!\S*@)", re.IGNORECASE)
_MOST_BY_SHAPE = 512
_KEY = re.compile(r"(?:\A|[_-])(?:KEY|AUTH|PASS|PIN|CREDS?)\Z|[a-z](?:Key|Auth|Pass)\Z", re.IGNORECASE)
_TOKEN = re.compile(r"(?=.*[0-9])[A-Za-z0-9_+/=.-]{8,}")
_NO_TOKEN = re.compile(r"(?:\.{0,2}/|~|[0-9.]+\Z)")
_DEFAULT = re.compile(r"\$\{env:(?P<name>[A-Za-z_]\w*):-(?P<default>[^{}$]+)\}")
_LISTED = re.compile(
    r"(?P<scheme>(?:Bearer|Basic)\s+)(?P<value>[\w.~+/=-]+)(?P<rest>(?:[,;&]\s*[\w.-]+[=:].*)?)\Z",
    re.IGNORECASE | re.DOTALL,
)
_BARE = re.compile(r"[^\s=:;,&\"'{}\[\]]+=*\Z")
_DEEPEST = 2
_SHORTEST = 8
"""A shorter value is not searched for elsewhere: it would hit words."""


def looks_secret(name: str, text: str) -> bool:
    """Whether a text under a key or by itself is a credential; `Bearer` before it gives one away under any key."""
    return bool(_secret_value(name, text) or credential_in_url(text) or _SCHEME.match(text))


def written_values(text: str) -> list[str]:
    """The credentials inside a text by the names beside them, or the whole text: what somebody wrote where a secret belongs."""
    found = literals_by_name(text, _beside)
    return [text[each.start : each.end] for each in found] or [text]


def _secret_value(name: str, text: str) -> bool:
    """As mcp.yaml judges a value, and stricter: `AMAP_KEY` says enough where somebody else's file is copied."""
    # What begins like a reference and was not understood as one was escaped, and may be anything.
    if credential_in_env(name, text) or ("$${" in text and is_secret_name(name)):
        return True
    return _is_keyed(name, text)


def _is_keyed(name: str, text: str) -> bool:
    return bool(_KEY.search(name) and _TOKEN.fullmatch(text) and not _NO_TOKEN.match(text))


def _beside(name: str, value: str) -> bool:
    """The same for a value beside a name inside a text, where a reference is NUL."""
    if literal_beside(name, value):
        return True
    # What has a name inside of the value is found by that name, and a long value with the text that it stands in: so nobody
    # looks once more in each of the values that lie one in another.
    by_shape = len(value) <= _MOST_BY_SHAPE and credential_by_shape(value)
    return "\0" not in value and not is_secret_name(name) and (by_shape or _is_keyed(name, value))


@dataclass(slots=True)
class Literals:
    """The credentials of all files of an import.

    `taken` are variables that the files use already, `elsewhere` those of them that a server reaches in the environment: none of
    them is given to another server's credential, which would get the value of the first. `plain` are known to hold no secret,
    the references in `whole` stand for more than a credential.
    """

    taken: set[str]
    elsewhere: frozenset[str] = frozenset()
    plain: set[str] = field(default_factory=set[str])
    whole: set[str] = field(default_factory=set[str])
    _names: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def variables(self) -> set[str]:
        """The variables that were given out."""
        return set(self._names.values())

    def replace(self, value: str, *wanted: str) -> str:
        """A reference for a value; `wanted` are the words for its name, the server's first."""
        value = value.strip()
        # Two servers may wait for different secrets behind the same placeholder, or behind none.
        key = value if value and not is_placeholder(value) else "\0".join((value, *wanted))
        if key not in self._names:
            self._names[key] = self._free(_joined(wanted))
        return f"${{env:{self._names[key]}}}"

    def own(self, value: str, name: str) -> str:
        """A reference for a value that the source itself reaches under a name, unless that is another value's by now."""
        if name not in self.elsewhere:
            self.note(value.strip(), name)
        return self.replace(value, name)

    def note(self, value: str, name: str) -> None:
        """Remember a value that was found beside a variable of the source, so that no copy of it stays anywhere."""
        if value not in self._names and name not in self.variables and not is_placeholder(value):
            self._names[value] = name

    def scrubber(self) -> Callable[[str], str]:
        """What takes out of any text each value that was found to be a credential by now: copied once is copied twice."""
        spellings = {
            each: name
            for value, name in self._names.items()
            for each in (value, value.replace("$$", "$"))
            if len(each) >= _SHORTEST
        }
        # The longest first, as one may hold another.
        ordered = sorted(spellings.items(), key=lambda each: -len(each[0]))

        def scrubbed(text: str) -> str:
            for value, name in ordered:
                if value in text:
                    text = text.replace(value, f"${{env:{name}}}")
            return text

        return scrubbed

    # --- values by their places -----------------------------------------------------------------------------------------

    def variable(self, server: str, name: str, text: str) -> str | None:
        """An `env` value without its credential, or None where it has none."""
        if not _SCHEME.match(text) and not _secret_value(name, text):
            return None
        return self._without(text, (server, name), lambda each: not _secret_value(name, each), told=_tells(name, text))

    def header(self, server: str, name: str, text: str) -> str | None:
        """A header's value without its credential, or None where it has none; `Bearer` stays."""
        if not _SCHEME.match(text) and not credential_in_header(name, text) and not _secret_value(name, text):
            return None
        words = (server, "TOKEN" if name.lower() == "authorization" else name)
        return self._without(text, words, lambda each: not credential_in_header(name, each), told=_tells(name, text))

    def argument(self, server: str, arguments: Sequence[str], index: int) -> str | None:
        """One argument without its credential, or None where it has none."""
        text, before = arguments[index], arguments[index - 1] if index else ""
        flag = _FLAG.match(before)
        named = flag["name"] if flag and not text.startswith("-") else ""
        if not self._is_credential(arguments, index) and not _secret_value(named, text):
            return None
        words = (server, flag["name"] if flag and before not in SHELL_FLAGS else "ARGUMENT")
        return self._without(
            text,
            words,
            lambda each: not self._is_credential([*arguments[:index], each], index),
            told=bool(named) and _tells(named, text),
            shell=before in SHELL_FLAGS,
        )

    def _is_credential(self, arguments: Sequence[str], index: int) -> bool:
        text = arguments[index]
        tokens = "://" in text and any(_is_token(each["user"]) for each in _USER.finditer(text))
        named = literals_by_name(text, _beside)
        return bool(credential_in_argument(arguments, index) or _SCHEME.match(text) or tokens or named)

    def _without(
        self, text: str, words: tuple[str, str], clean: Callable[[str], bool], *, told: bool, shell: bool = False
    ) -> str:
        """The text without its credential: the first attempt that takes enough, else nothing of it stays.

        `told` is whether the whole value is one by its name: then a reference in it excuses nothing that stands beside.
        """
        for everything in (False, True):
            kept = self._undefaulted(text, everything=everything)
            if kept != text and clean(kept):
                return kept
        if told:
            scheme = _ANY_SCHEME.match(text)
            start = scheme.end() if scheme else 0
            return text[:start] + self.replace(text[start:], *words)
        text = self._undefaulted(text, everything=False)
        attempts = self._attempts(text, words, shell=shell)
        return next((each for each in attempts if clean(each)), None) or self._whole(text, *words)

    def _whole(self, text: str, *wanted: str) -> str:
        """A reference for a text of which nobody can tell where the credential begins and ends."""
        reference = self.replace(text, *wanted)
        if not _BARE.match(text.strip()):
            self.whole.add(reference)
        return reference

    def _undefaulted(self, text: str, *, everything: bool) -> str:
        """The text with its references, and without the defaults that are credentials; or without any that says something."""

        def bare(match: re.Match[str]) -> str:
            name, default = match["name"], match["default"]
            told = credential_in_env("TOKEN" if everything else name, default)
            if not told:
                return match.group()
            self.note(default, name)
            return f"${{env:{name}}}"

        return _DEFAULT.sub(bare, text)

    def _attempts(self, text: str, words: tuple[str, str], *, shell: bool, depth: int = 0) -> Iterator[str]:
        """Ways to take out less than the whole text, the most specific first."""
        named = None if shell else _NAMED.match(text)
        if named:
            yield from self._behind(named, words, depth)
        if (kept := self._named_parts(text, words[0], shell=shell)) != text:
            yield kept
        if "://" in text and (url := self.url(words[0], text)):
            yield url
        if named:
            yield named.group() + self._whole(text[named.end() :], words[0], named["name"])
        if scheme := _SCHEME.match(text):
            yield scheme["scheme"] + self.replace(scheme["value"], *words)

    def _behind(self, named: re.Match[str], words: tuple[str, str], depth: int) -> Iterator[str]:
        """The same for what stands behind `NAME=` or `--flag=`, which may itself be `NAME=value` or a line of a header."""
        name, value = named["name"], named.string[named.end() :]
        if not _tells(name, value):
            if "://" in value and not _NAMED.match(value) and (url := self.url(words[0], value)):
                yield named.group() + url
            # `a=b=c=...` may be as long as a file.
            if depth < _DEEPEST:
                inner = self._attempts(value, words, shell=False, depth=depth + 1)
                yield from (named.group() + each for each in inner)
            return
        # Only behind a scheme is a comma known to be no part of the credential.
        if listed := _LISTED.match(value):
            reference = self.replace(listed["value"], words[0], name)
            yield named.group() + listed["scheme"] + reference + self._named_parts(listed["rest"], words[0])
        yield named.group() + self._whole(value, words[0], name)

    def _named_parts(self, text: str, server: str, *, shell: bool = False) -> str:
        """The text without the values that are credentials by the names beside them."""
        for each in reversed(literals_by_name(text, _beside, shell=shell)):
            value = text[each.start : each.end]
            # A name that tells nothing is here for what stands somewhere in its value.
            replaced = self.replace if _tells(each.name, value) else self._whole
            text = text[: each.start] + replaced(value, server, each.name) + text[each.end :]
        return text

    # --- URLs -----------------------------------------------------------------------------------------------------------

    def url(self, server: str, text: str) -> str | None:
        """A URL with the password, each path segment and query value that is a credential replaced, or None without any."""
        text = self._undefaulted(text, everything=False)
        users = [each["user"] for each in _USER.finditer(text)]
        if not credential_in_url(text) and not any(map(_is_token, users)):
            return None
        try:
            parts = urlsplit(text)
        except ValueError:
            return self.replace(text, server, "URL")
        # A fragment is never sent.
        path, query = (
            self._path(server, parts.path),
            "&".join(self._pair(server, each) for each in parts.query.split("&")),
        )
        found = urlunsplit(
            parts._replace(netloc=self._authority(server, parts.netloc), path=path, query=query, fragment="")
        )
        return found if not credential_in_url(found) else self.replace(text, server, "URL")

    def _authority(self, server: str, authority: str) -> str:
        user, at, host = authority.rpartition("@")
        if not at or "@" in user:
            return authority
        name, colon, password = user.partition(":")
        if not colon:
            return f"{self.replace(user, server, 'URL_USER')}@{host}" if _is_token(user) else authority
        literal = credential_in_text(f"x://{user}@x")
        return f"{name}:{self.replace(password, server, 'URL_PASSWORD')}@{host}" if literal else authority

    def _path(self, server: str, path: str) -> str:
        segments = ["", *path.split("/")]
        return "/".join(
            self.replace(segment, server, "URL_SECRET") if _is_secret_segment(before, segment) else segment
            for before, segment in pairwise(segments)
        )

    def _pair(self, server: str, pair: str) -> str:
        name, equals, value = pair.partition("=")
        return f"{name}{equals}{self.replace(value, server, name)}" if credential_in_url(f"?{pair}") else pair

    def _free(self, name: str) -> str:
        number, candidate = 1, name
        while candidate in self.taken:
            number += 1
            candidate = f"{name}_{number}"
        self.taken.add(candidate)
        return candidate


def _tells(name: str, text: str) -> bool:
    """Whether the name alone makes the value a credential."""
    return (
        bool(_secret_value(name, text))
        and not credential_in_text(name)
        and (is_secret_name(name) or bool(_KEY.search(name)))
    )


def _is_secret_segment(before: str, segment: str) -> bool:
    """Whether a part of a path is a credential, by itself or by the part before it: `/token/...`."""
    told = not credential_in_text(before) and credential_in_url(f"x://x/{before}/{segment}")
    return bool(told or credential_in_text(segment))


def _is_token(user: str) -> bool:
    """Whether the user of a URL is no person's name: a password stands behind it, or it is one."""
    return "\0" not in user and "${" not in user and bool(re.search(r"[0-9]|.{12}", user)) and ":" not in user


def _joined(wanted: Sequence[str]) -> str:
    """`SERVER_KEY`, or `KEY` where it begins with the server's name already; a word that is a credential itself is left out."""
    words = [
        re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", each).upper()).strip("_")
        for each in wanted
        if not looks_secret("", each)
    ]
    words = [word for word in words if word]
    if len(words) > 1 and (words[1] == words[0] or words[1].startswith(f"{words[0]}_")):
        del words[0]
    return variable_name("_".join(words) or "SECRET")


def is_written_out(text: str) -> bool:
    """Whether a text that nobody translates stands for itself, and not for a value that is kept elsewhere."""
    return bool(text) and not _ELSEWHERE.match(text)


def leaves(path: str, node: Node) -> Iterator[tuple[str, str, Scalar]]:
    """Every scalar below a node, with its path of keys and its own key; names of secrets that are kept elsewhere are left out."""
    match node:
        case Scalar():
            yield path, path.rpartition(".")[2], node
        case MapNode():
            named = node.text("name")
            for key, entry in node.entries.items():
                if not key.endswith(("Ref", "Refs", "From")):
                    # `{name: API_KEY, value: ...}`, as Kubernetes has variables.
                    shown = named if key == "value" and named else key
                    yield from leaves(f"{path}.{shown}" if is_showable(shown) else path, entry.value)
        case ListNode():
            for item in node.items:
                yield from leaves(path, item)
        case _:
            return
