"""LiteLLM: `mcp_servers` in YAML, `os.environ/NAME`, SSE by default, allow-lists, second names."""

from collections.abc import Iterator, Mapping

from remit.config.dialects.claude import COMMAND_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table, table_at
from remit.config.dialects.model import Dialect, Document, Draft, Form, Report, ReportFor
from remit.config.dialects.oauth import GRANT
from remit.config.dialects.scalars import stand_in
from remit.config.nodes import MapNode, Scalar
from remit.core.diagnostics import Severity
from remit.core.identity import Transport

__all__ = ["LITELLM"]

_KEYS: Mapping[str, Role] = {
    **COMMAND_KEYS,
    "url": Role.URL,
    "auth_type": Role.IGNORED,
    "auth_value": Role.IGNORED,
    "authentication_token": Role.IGNORED,
    "headers": Role.HEADERS,
    "static_headers": Role.HEADERS,
    "alias": Role.NAMESPACE,
    "allow_all_keys": Role.OPENED,
    "timeout": Role.TIMEOUT_SECONDS,
    "spec_version": Role.NOTE,
    "description": Role.NOTE,
    "server_id": Role.IGNORED,
    "mcp_info": Role.IGNORED,
    "access_groups": Role.LEFT_OUT,
    "mcp_access_groups": Role.LEFT_OUT,
    "extra_headers": Role.LEFT_OUT,
    "allowed_params": Role.LEFT_OUT,
    "oauth2_flow": Role.OAUTH_FIELD,
    "client_id": Role.OAUTH_FIELD,
    "client_secret": Role.OAUTH_FIELD,
    "authorization_url": Role.IGNORED,
    "token_url": Role.OAUTH_FIELD,
    "scopes": Role.OAUTH_FIELD,
}
_AUTH: Mapping[str, tuple[str, str]] = {
    "bearer_token": ("Authorization", "Bearer "),
    "basic": ("Authorization", "Basic "),
    "authorization": ("Authorization", ""),
    "api_key": ("X-API-Key", ""),
}
"""The header of each `auth_type`, and what stands before the value in it."""


def _drafts(document: Document, report_for: ReportFor) -> Iterator[Draft]:
    aliases = dict(_aliases(document))
    for draft in drafts_at(_KEYS, "mcp_servers")(document, report_for):
        entry = next(table.mapping(draft.name.text) for table in _tables(document) if draft.name.text in table.entries)
        if entry:
            _authorise(draft, entry)
            _flow(draft, entry, report_for(draft.name))
        if alias := aliases.get(draft.name.text):
            draft.namespace = alias.text
            message = "it has a second name there, which became the namespace if it can be one"
            report_for(draft.name)("second-name", alias, message, severity=Severity.NOTE)
        yield draft


def _tables(document: Document) -> Iterator[MapNode]:
    return (table for root in document.roots if (table := table_at(root, "mcp_servers")))


def _authorise(draft: Draft, entry: MapNode) -> None:
    value = entry.node("auth_value") or entry.node("authentication_token")
    header, before = _AUTH.get(entry.text("auth_type") or "bearer_token", ("Authorization", "Bearer "))
    if isinstance(value, Scalar):
        draft.headers[header] = stand_in(value, before + value.text)


def _flow(draft: Draft, entry: MapNode, report: Report) -> None:
    """Say which flow of OAuth an entry means (https://docs.litellm.ai/docs/mcp_oauth): before `oauth2_flow` its keys said it."""
    kind = entry.scalar("auth_type")
    word = kind.text.lower() if kind else ""
    if kind and word == "oauth2":
        draft.oauth_place = draft.oauth_place or kind
        alone = {
            "client_id",
            "client_secret",
            "token_url",
        } <= draft.oauth.keys() and "authorization_url" not in entry.entries
        draft.oauth.setdefault(GRANT, stand_in(kind, "client_credentials" if alone else ""))
    elif kind and word not in (*_AUTH, "none"):
        message = "`auth_type` has no counterpart in mcp.yaml; it was left out"
        report("not-carried-over", kind, message, severity=Severity.NOTE)


def _aliases(document: Document) -> Iterator[tuple[str, Scalar]]:
    """The second names under `litellm_settings`, by the first, at the place of the second."""
    for root in document.roots:
        table = table_at(root, "litellm_settings", "mcp_aliases")
        for alias, name in table.texts() if table else ():
            yield name.text, stand_in(name, alias)


LITELLM = Dialect(
    name="litellm",
    title="LiteLLM",
    paths=("litellm_config.yaml", "litellm.yaml"),
    fits=has_table("mcp_servers", forms=(Form.YAML,)),
    telling=has_table("mcp_servers", forms=(Form.YAML,)),
    drafts=_drafts,
    url_transport=Transport.SSE,
)
