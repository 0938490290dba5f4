"""LiteLLM: `mcp_servers` in YAML, `os.environ/NAME`, SSE by default, allow-lists, second names."""

from collections.abc import Iterator, Mapping

from remit.config.dialects.claude import COMMAND_KEYS
from remit.config.dialects.drafting import Role, drafts_at, has_table, stand_in, table_at
from remit.config.dialects.model import Dialect, Document, Draft, Form, ReportFor
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
    "client_id": Role.LEFT_OUT,
    "client_secret": Role.LEFT_OUT,
    "authorization_url": Role.LEFT_OUT,
    "token_url": Role.LEFT_OUT,
    "scopes": Role.LEFT_OUT,
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
