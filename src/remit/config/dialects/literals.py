"""Credentials that somebody wrote out in a client configuration, replaced by references.

Decides which part of a value is the credential, and what the variable is called that takes its place: after the server and
the key (`SERVER_KEY`), the same for the same value. Gives no value back: whoever asks gets text that holds a reference.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from remit.config.credentials import (
    credential_in_argument,
    credential_in_env,
    credential_in_header,
    credential_in_text,
    credential_in_url,
    is_secret_name,
    is_showable,
)
from remit.config.dialects.references import variable_name
from remit.config.nodes import ListNode, MapNode, Node, Scalar

__all__ = ["Literals", "is_placeholder", "is_written_out", "leaves", "looks_secret"]

_SCHEME = re.compile(
    r"(?P<scheme>(?:Bearer|Basic|Token|ApiKey|Digest)\s+)(?P<value>(?!.*\$\{)\S.{5,})\Z", re.IGNORECASE | re.DOTALL
)
_ELSEWHERE = re.compile(r"\$|os\.environ/|\{env:|\{file:|\{\{|[a-z][a-z0-9-]*://[^?@]*\Z")
_NAMED = re.compile(r"(?P<name>-{0,2}[A-Za-z][\w.-]*=)(?P<value>.+)\Z", re.DOTALL)
_HEADER = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9-]*:\s*(?:(?:Bearer|Basic|Token)\s+)?)(?P<value>\S.*)\Z", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]|\.{3,}|\*{3,}|[xX]{3,}.*|.*\b(?:your|my)[-_ ].*|.*(?:change[-_ ]?me|replace[-_ ]?(?:me|with)|"
    r"placeholder|goes[-_ ]here|insert[-_ ]).*|.*[-_](?:here|xxx+)",
    re.IGNORECASE,
)
_KEY = re.compile(r"(?:\A|[_-])(?:KEY|AUTH|PASS|PIN|CREDS?)\Z|[a-z](?:Key|Auth|Pass)\Z", re.IGNORECASE)
_TOKEN = re.compile(r"(?=.*[0-9])[A-Za-z0-9_+/=.-]{8,}")
_NO_TOKEN = re.compile(r"(?:\.{0,2}/|~|[0-9.]+\Z)")
_SHORTEST = 8
"""A shorter value is not searched for elsewhere: it would hit words."""


def is_placeholder(text: str) -> bool:
    """Whether a text stands where a secret belongs and is none: `YOUR_KEY`, `{secret}`, `<token>`, `xxx-your-token`."""
    return bool(_PLACEHOLDER.fullmatch(_SCHEME.sub(r"\g<value>", text).strip()))


def looks_secret(name: str, text: str) -> bool:
    """Whether a text under a key or by itself is a credential; `Bearer` before it gives one away under any key."""
    return bool(_secret_value(name, text) or credential_in_url(text) or _SCHEME.match(text))


def _secret_value(name: str, text: str) -> bool:
    """As mcp.yaml judges a value, and stricter: `AMAP_KEY` says enough where somebody else's file is copied."""
    # What begins like a reference and was not understood as one was escaped, and may be anything.
    if credential_in_env(name, text) or ("$${" in text and is_secret_name(name)):
        return True
    return bool(_KEY.search(name) and _TOKEN.fullmatch(text) and not _NO_TOKEN.match(text))


@dataclass(slots=True)
class Literals:
    """The credentials of all files of an import.

    `taken` are variables that the files use already, `plain` those of them that are known to hold no secret.
    """

    taken: set[str]
    plain: set[str] = field(default_factory=set[str])
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
        value = value.strip()
        if value not in self._names and name not in self.variables:
            self._names[value] = name
        return self.replace(value, name)

    def scrubbed(self, text: str) -> str:
        """The text without any value that was found to be a credential elsewhere: copied once is copied twice."""
        for value, name in sorted(self._names.items(), key=lambda each: -len(each[0])):
            for spelling in (value, value.replace("$$", "$")):
                if len(spelling) >= _SHORTEST and spelling in text:
                    text = text.replace(spelling, f"${{env:{name}}}")
        return text

    def variable(self, server: str, name: str, text: str) -> str | None:
        """An `env` value without its credential, or None where it has none."""
        scheme = _SCHEME.match(text)
        if scheme and not credential_in_env(name, scheme["value"]):
            return scheme["scheme"] + self.replace(scheme["value"], server, name)
        return self.replace(text, server, name) if scheme or _secret_value(name, text) else None

    def header(self, server: str, name: str, text: str) -> str | None:
        """A header's value without its credential, or None where it has none; `Bearer` stays."""
        words = (server, "TOKEN" if name.lower() == "authorization" else name)
        if scheme := _SCHEME.match(text):
            return scheme["scheme"] + self.replace(scheme["value"], *words)
        return self.replace(text, *words) if credential_in_header(name, text) or _secret_value(name, text) else None

    def argument(self, server: str, arguments: Sequence[str], index: int) -> str | None:
        """One argument without its credential, or None where it has none."""
        text = arguments[index]
        before = arguments[index - 1] if index else ""
        if not credential_in_argument(arguments, index) and not _SCHEME.match(_HEADER.sub(r"\g<value>", text)):
            return None
        for attempt in self._attempts(server, text, before):
            if not credential_in_argument([*arguments[:index], attempt], index):
                return attempt
        return self.replace(text, server, before.lstrip("-") or "ARGUMENT")

    def _attempts(self, server: str, text: str, before: str) -> Iterable[str]:
        """Ways to take out less than the whole argument, the most specific first."""
        if match := _NAMED.match(text):
            yield match["name"] + self.replace(match["value"], server, match["name"].strip("-="))
        if "://" in text and (url := self.url(server, text)):
            yield url
        if (match := _HEADER.match(text)) and "://" not in text:
            yield match["name"] + self.replace(match["value"], server, match["name"].split(":")[0])
        if scheme := _SCHEME.match(text):
            yield scheme["scheme"] + self.replace(scheme["value"], server, before.lstrip("-"))

    def url(self, server: str, text: str) -> str | None:
        """A URL with each path segment and query value that is a credential replaced, or None where there is none."""
        if not credential_in_url(text):
            return None
        try:
            parts = urlsplit(text)
        except ValueError:
            return self.replace(text, server, "URL")
        path = "/".join(self._segment(server, segment) for segment in parts.path.split("/"))
        query = "&".join(self._pair(server, pair) for pair in parts.query.split("&"))
        # A fragment is never sent, and what stands before an @ is the caller's to move into a header.
        found = urlunsplit(parts._replace(path=path, query=query, fragment=""))
        return found if not credential_in_url(_without_user(found)) else self.replace(text, server, "URL")

    def _segment(self, server: str, segment: str) -> str:
        return self.replace(segment, server, "URL_SECRET") if credential_in_text(segment) else segment

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


def _without_user(url: str) -> str:
    return re.sub(r"(?<=://)[^/?#]*@", "", url)


def _joined(wanted: Iterable[str]) -> str:
    """`SERVER_KEY`, or `KEY` where it begins with the server's name already."""
    words = [
        re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", each).upper()).strip("_") for each in wanted
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
