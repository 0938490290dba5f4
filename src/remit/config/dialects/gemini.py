"""Gemini CLI: `httpUrl` for streamable HTTP, `url` for SSE, `$NAME` for variables, timeouts in milliseconds."""

from collections.abc import Iterator, Mapping

from remit.config.dialects.claude import COMMAND_KEYS
from remit.config.dialects.drafting import Role, drafts_at, entries_have, has_table, table_at
from remit.config.dialects.model import Dialect, Document, Draft, ReportFor

__all__ = ["GEMINI"]

_KEYS: Mapping[str, Role] = {
    **COMMAND_KEYS,
    "httpUrl": Role.URL_HTTP,
    "url": Role.URL_SSE,
    "headers": Role.HEADERS,
    "timeout": Role.TIMEOUT_MILLISECONDS,
    "description": Role.NOTE,
    "oauth": Role.OAUTH,
    "authProviderType": Role.LEFT_OUT,
    "targetAudience": Role.LEFT_OUT,
    "targetServiceAccount": Role.LEFT_OUT,
}


def _drafts(document: Document, report_for: ReportFor) -> Iterator[Draft]:
    """Every server; one that `mcp.allowed` leaves out or `mcp.excluded` names is not connected to there, so it is disabled."""
    for draft in drafts_at(_KEYS, "mcpServers")(document, report_for):
        for root in document.roots:
            settings = table_at(root, "mcp")
            allowed = [name.text for name in settings.scalars("allowed")] if settings else []
            excluded = [name.text for name in settings.scalars("excluded")] if settings else []
            if (allowed and draft.name.text not in allowed) or draft.name.text in excluded:
                draft.enabled = False
        yield draft


GEMINI = Dialect(
    name="gemini",
    title="Gemini CLI",
    paths=(".gemini/settings.json",),
    fits=has_table("mcpServers"),
    telling=entries_have(
        frozenset({"httpUrl", "includeTools", "excludeTools", "trust", "authProviderType"}), "mcpServers"
    ),
    drafts=_drafts,
    certain=True,
    bare_variables=True,
)
