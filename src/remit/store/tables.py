"""The tables of recorded state, as SQLAlchemy Core metadata.

Decides names, types and constraints, for SQLite and PostgreSQL alike: JSON is kept as text (nothing is queried inside it),
times as UTC ISO text of one width, ids as text that the caller makes. It creates nothing; `migrations/` does, and a test
holds the two together (DESIGN.md section 8).
"""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

__all__ = [
    "METADATA",
    "applies",
    "assistant_functions",
    "assistant_mcp_tools",
    "assistants",
    "discovered_tools",
    "discovery_snapshots",
    "mcp_server_registrations",
    "workspaces",
]

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""Every constraint has a name, so that a later migration can change it on both engines."""

workspaces = Table(
    "workspaces",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("lineage", Text, nullable=False),
    Column("serial", Integer, nullable=False),
    Column("source", Text),
    Column("files", Text),
    Column("lock_used", Boolean, nullable=False, server_default=false()),
    Column("environment", Text),
)
"""One row a workspace from its first apply on; `source` is the repository and path that it is bound to, `files` a JSON list
of the files that declared it at the last apply, `lock_used` whether any apply went by a lock, `environment` the one that it is
applied for (empty: none, null: not known)."""

mcp_server_registrations = Table(
    "mcp_server_registrations",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("workspace", Text, ForeignKey("workspaces.name"), nullable=False),
    Column("name", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("transport", Text, nullable=False),
    Column("normalized_url", Text),
    Column("command", Text),
    Column("cwd", Text),
    Column("instance", Text),
    Column("identity_key", Text, nullable=False),
    Column("connection", Text, nullable=False),
    Column("timeout_seconds", Float, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("era", Text),
    Column("deleted_at", Text),
    Column("protect", Boolean, nullable=False, server_default=false()),
    CheckConstraint("(normalized_url IS NULL) <> (command IS NULL)", name="one_endpoint"),
)
"""`McpServerRegistration`. A deleted one stays as a tombstone, so that its id is never given again."""

# PostgreSQL's condition stands in the migration only: naming it here would import that dialect, 80 CPU ms at each start.
_ACTIVE = text("deleted_at IS NULL")
Index(
    "uq_active_registration_identity",
    mcp_server_registrations.c.owner,
    mcp_server_registrations.c.identity_key,
    unique=True,
    sqlite_where=_ACTIVE,
)
Index(
    "uq_active_registration_name",
    mcp_server_registrations.c.workspace,
    mcp_server_registrations.c.name,
    unique=True,
    sqlite_where=_ACTIVE,
)

assistants = Table(
    "assistants",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("workspace", Text, ForeignKey("workspaces.name"), nullable=False),
    Column("name", Text, nullable=False),
    Column("permissions", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("protect", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("owner", "name"),
)
"""`Assistant`. `workspace` is the one that created it; `revision` counts the applies that changed any of its rows."""

assistant_mcp_tools = Table(
    "assistant_mcp_tools",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("assistant_id", Text, ForeignKey("assistants.id"), nullable=False),
    Column("registration_id", Text, ForeignKey("mcp_server_registrations.id"), nullable=False, index=True),
    Column("workspace", Text, ForeignKey("workspaces.name"), nullable=False),
    Column("remote_name", Text, nullable=False),
    Column("canonical_id", Text, nullable=False),
    Column("provider_name", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("definition", Text, nullable=False),
    Column("definition_digest", Text, nullable=False),
    Column("contract_digest", Text, nullable=False),
    Column("function_digest", Text, nullable=False),
    Column("surface", Text, nullable=False),
    Column("side_effecting", Boolean, nullable=False),
    Column("reversible", Boolean, nullable=False),
    Column("required_permission", Text),
    Column("source_file", Text),
    Column("source_line", Integer),
    Column("source_column", Integer),
    Column("row_version", Integer, nullable=False),
    Column("unknown_arguments", Text, nullable=False, server_default="reject"),
    Column("record", Text, nullable=False, server_default="full"),
    Column("audit_arguments", Text, nullable=False, server_default="digest"),
    UniqueConstraint("assistant_id", "registration_id", "remote_name"),
    CheckConstraint("surface IN ('open', 'locked', 'human_controlled')", name="surface"),
    CheckConstraint("unknown_arguments IN ('reject', 'pass')", name="unknown_arguments"),
    CheckConstraint("record IN ('full', 'digest')", name="record"),
    CheckConstraint("audit_arguments IN ('digest', 'values')", name="audit_arguments"),
)
"""`AssistantMcpTool`: the provenance half of an attachment. `function_digest` is that of the other half as written."""

assistant_functions = Table(
    "assistant_functions",
    METADATA,
    Column("assistant_id", Text, ForeignKey("assistants.id"), primary_key=True),
    Column("folded_name", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("attachment_id", Text, ForeignKey("assistant_mcp_tools.id", ondelete="CASCADE"), unique=True),
    Column("document", Text, nullable=False),
)
"""One row a model-facing function; without an attachment it is a foreign one. The key is the one place of uniqueness."""

discovery_snapshots = Table(
    "discovery_snapshots",
    METADATA,
    Column("registration_id", Text, ForeignKey("mcp_server_registrations.id"), primary_key=True),
    Column("observed_at", Text, nullable=False),
    Column("era", Text, nullable=False),
    Column("protocol_version", Text, nullable=False),
    Column("server_info", Text, nullable=False),
    Column("capabilities", Text, nullable=False),
    Column("instructions", Text, nullable=False),
    Column("quarantined", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("tool_count", Integer, nullable=False),
)
"""The last good listing of a registration, its tools aside. What a server may fill with any character is JSON text."""

discovered_tools = Table(
    "discovered_tools",
    METADATA,
    Column(
        "registration_id",
        Text,
        ForeignKey("discovery_snapshots.registration_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("remote_name", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("definition_digest", Text, nullable=False),
    Column("contract_digest", Text, nullable=False),
)
"""The tools of a snapshot, digests included, so that reading them back hashes and parses nothing."""

applies = Table(
    "applies",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("workspace", Text, ForeignKey("workspaces.name"), nullable=False),
    Column("serial", Integer, nullable=False),
    Column("actor", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("commit", Text),
    Column("digest", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("plan", Text, nullable=False),
    UniqueConstraint("workspace", "serial"),
)
"""History: one row an apply that changed anything."""
