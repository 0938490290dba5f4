"""OAuth settings of a client's server entry, as far as `auth` of mcp.yaml can say them (docs/import.md).

Decides which of them a program can use alone: client credentials, with a token endpoint and a secret. Everything else has a
person who logs in in a browser and acts as that person; remit has no login, and using such a client without its person would
make somebody else of the caller. So it is named, with what is known of the client, and never turned into something else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from remit.config.dialects.model import ClientCredentials, Report
from remit.config.nodes import ListNode, MapNode, Node, Scalar
from remit.core.identity import InvalidUrl, normalise_url

__all__ = ["GRANT", "Values", "client_of", "fields_of", "rest_of"]

GRANT, _MACHINE = "grant", "client_credentials"

_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("clientId", "client_id", "CLIENT_ID"), "client_id"),
    **dict.fromkeys(("clientSecret", "client_secret", "CLIENT_SECRET"), "client_secret"),
    **dict.fromkeys(("tokenUrl", "token_url", "tokenEndpoint", "token_endpoint"), "token_url"),
    **dict.fromkeys(("scopes", "scope"), "scopes"),
    **dict.fromkeys(("grantType", "grant_type", "oauth2_flow"), GRANT),
}
"""What clients call each field of a client."""

_NEEDED = ("token_url", "client_id", "client_secret")


class Values(Protocol):
    """The values of one server in the words of mcp.yaml."""

    def translated(self, node: Node, label: str) -> str:
        """A text with its references translated; a literal that looks like a credential is a reference."""
        ...

    def secret(self, node: Node, label: str, *, copied: bool) -> str:
        """A reference for a secret, reported where it was written out; `copied` is whether the reference is used."""
        ...


def fields_of(node: MapNode) -> dict[str, Node]:
    """The fields of a client in a mapping, or in the `oauth` of one, under the names of mcp.yaml."""
    inner = node.mapping("oauth")
    return fields_of(inner) if inner else _fields(node)


def _fields(node: MapNode) -> dict[str, Node]:
    return {_FIELDS[name]: entry.value for name, entry in node.entries.items() if name in _FIELDS}


def rest_of(node: MapNode) -> MapNode:
    """The mapping without the fields of a client."""
    kept = {name: entry for name, entry in node.entries.items() if name not in _FIELDS and name != "oauth"}
    return MapNode(node.file, node.start, node.end, kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Client:
    """What is known of a client."""

    token_url: str
    client_id: str
    scopes: Sequence[str]

    def words(self) -> str:
        named = (("client_id", self.client_id), ("token_url", self.token_url), ("scopes", " ".join(self.scopes)))
        return ", ".join(f"{name} {text}" for name, text in named if text)


def client_of(
    fields: Mapping[str, Node], place: Node, values: Values, report: Report, *, authorised: bool
) -> ClientCredentials | str | None:
    """The client where a program can use it alone, else, reported, what is known of it in words; None where nothing is asked.

    `authorised` is whether the entry sends an Authorization header of its own, which stays.
    """
    if not fields:
        return None
    client = _Client(
        token_url=_text(fields, "token_url", values),
        client_id=_text(fields, "client_id", values),
        scopes=_scopes(fields.get("scopes"), values),
    )
    copied = _is_machine(fields) and not authorised and not _missing(fields, client)
    secret = fields.get("client_secret")
    reference = values.secret(secret, "client_secret", copied=copied) if secret else ""
    if copied:
        return ClientCredentials(
            token_url=client.token_url, client_id=client.client_id, client_secret=reference, scopes=tuple(client.scopes)
        )
    _report(fields, client, place, report, authorised=authorised)
    return client.words()


def _report(fields: Mapping[str, Node], client: _Client, place: Node, report: Report, *, authorised: bool) -> None:
    if not _is_machine(fields):
        report(
            "oauth-login", place, "a person logs in there in a browser (OAuth); mcp.yaml has no login",
            hint="give remit a client of its own and write `auth: {type: oauth_client_credentials, token_url: ..., client_id: "
            '..., client_secret: "${env:...}"}`, or a token under `headers`',
        )  # fmt: skip
    elif authorised:
        message = "the entry sends an Authorization header and asks for OAuth too; the header was taken"
        report("oauth-incomplete", place, message, hint="keep one of them, there or in mcp.yaml")
    else:
        message = f"client credentials without {', '.join(_missing(fields, client))}: no `auth` was written"
        report("oauth-incomplete", place, message, hint="write `auth` yourself; docs/configuration.md says how")


def _missing(fields: Mapping[str, Node], client: _Client) -> list[str]:
    given = {"token_url": _is_url(client.token_url), "client_id": bool(client.client_id)}
    return [name for name in _NEEDED if not given.get(name, name in fields)]


def _is_machine(fields: Mapping[str, Node]) -> bool:
    grant = fields.get(GRANT)
    return isinstance(grant, Scalar) and grant.text.strip().lower() == _MACHINE


def _is_url(text: str) -> bool:
    try:
        normalise_url(text)
    except InvalidUrl:
        return False
    return True


def _text(fields: Mapping[str, Node], name: str, values: Values) -> str:
    node = fields.get(name)
    return values.translated(node, name) if isinstance(node, Scalar) and node.text.strip() else ""


def _scopes(node: Node | None, values: Values) -> list[str]:
    """A list, or a text of words as RFC 6749 has it (section 3.3)."""
    items = node.items if isinstance(node, ListNode) else [node] if node else []
    texts = [values.translated(item, "scopes") for item in items if isinstance(item, Scalar)]
    return list(dict.fromkeys(word for text in texts for word in text.split()))
