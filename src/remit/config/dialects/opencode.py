"""OpenCode: `mcp` (later `mcp.servers`) with entries of type `local` and `remote`, `{env:NAME}`, milliseconds."""

from collections.abc import Iterator, Mapping

from remit.config.dialects.drafting import Role, drafts_at, has_table, table_at
from remit.config.dialects.model import Dialect, Document, Draft, ReportFor
from remit.config.nodes import MapNode

__all__ = ["OPENCODE"]

_KEYS: Mapping[str, Role] = {
    "type": Role.TRANSPORT,
    "command": Role.COMMAND,
    "cwd": Role.CWD,
    "environment": Role.ENV,
    "url": Role.URL,
    "headers": Role.HEADERS,
    "timeout": Role.TIMEOUT_MILLISECONDS,
    "oauth": Role.OAUTH,
}


def _drafts(document: Document, report_for: ReportFor) -> Iterator[Draft]:
    nested = any(table_at(root, "mcp", "servers") for root in document.roots)
    yield from drafts_at(_KEYS, *(("mcp", "servers") if nested else ("mcp",)))(document, report_for)


def _telling(document: Document) -> bool:
    tables = (table_at(root, *path) for root in document.roots for path in (("mcp",), ("mcp", "servers")))
    entries = (entry.value for table in tables if table for entry in table.entries.values())
    return any(isinstance(entry, MapNode) and entry.text("type") in ("local", "remote") for entry in entries)


OPENCODE = Dialect(
    name="opencode",
    title="OpenCode",
    paths=("opencode.json", "opencode.jsonc", "opencode/config.json"),
    fits=has_table("mcp"),
    telling=_telling,
    drafts=_drafts,
)
