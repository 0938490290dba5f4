"""The first schema: workspaces, registrations, assistants with their attachments and functions, listings, history."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table of the first scope, those that others refer to first."""
    _workspaces()
    _registrations()
    _assistants()
    _attachments()
    _functions()
    _listings()
    _applies()


def _workspaces() -> None:
    op.create_table(
        "workspaces",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("lineage", sa.Text, nullable=False),
        sa.Column("serial", sa.Integer, nullable=False),
        sa.Column("source", sa.Text),
        sa.PrimaryKeyConstraint("name", name="pk_workspaces"),
    )


def _registrations() -> None:
    op.create_table(
        "mcp_server_registrations",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("namespace", sa.Text, nullable=False),
        sa.Column("transport", sa.Text, nullable=False),
        sa.Column("normalized_url", sa.Text),
        sa.Column("command", sa.Text),
        sa.Column("cwd", sa.Text),
        sa.Column("instance", sa.Text),
        sa.Column("identity_key", sa.Text, nullable=False),
        sa.Column("connection", sa.Text, nullable=False),
        sa.Column("timeout_seconds", sa.Float, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("era", sa.Text),
        sa.Column("deleted_at", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_mcp_server_registrations"),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name="fk_mcp_server_registrations_workspace"),
        sa.CheckConstraint(
            "(normalized_url IS NULL) <> (command IS NULL)", name=op.f("ck_mcp_server_registrations_one_endpoint")
        ),
    )
    for name, columns in (
        ("uq_active_registration_identity", ["owner", "identity_key"]),
        ("uq_active_registration_name", ["workspace", "name"]),
    ):
        op.create_index(
            name,
            "mcp_server_registrations",
            columns,
            unique=True,
            sqlite_where=sa.text("deleted_at IS NULL"),
            postgresql_where=sa.text("deleted_at IS NULL"),
        )


def _assistants() -> None:
    op.create_table(
        "assistants",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("permissions", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_assistants"),
        sa.UniqueConstraint("owner", "name", name="uq_assistants_owner_name"),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name="fk_assistants_workspace"),
    )


def _attachments() -> None:
    op.create_table(
        "assistant_mcp_tools",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("assistant_id", sa.Text, nullable=False),
        sa.Column("registration_id", sa.Text, nullable=False),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("remote_name", sa.Text, nullable=False),
        sa.Column("canonical_id", sa.Text, nullable=False),
        sa.Column("provider_name", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("definition_digest", sa.Text, nullable=False),
        sa.Column("contract_digest", sa.Text, nullable=False),
        sa.Column("function_digest", sa.Text, nullable=False),
        sa.Column("surface", sa.Text, nullable=False),
        sa.Column("side_effecting", sa.Boolean, nullable=False),
        sa.Column("reversible", sa.Boolean, nullable=False),
        sa.Column("required_permission", sa.Text),
        sa.Column("source_file", sa.Text),
        sa.Column("source_line", sa.Integer),
        sa.Column("source_column", sa.Integer),
        sa.Column("row_version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_assistant_mcp_tools"),
        sa.UniqueConstraint(
            "assistant_id",
            "registration_id",
            "remote_name",
            name="uq_assistant_mcp_tools_assistant_id_registration_id_remote_name",
        ),
        sa.ForeignKeyConstraint(["assistant_id"], ["assistants.id"], name="fk_assistant_mcp_tools_assistant_id"),
        sa.ForeignKeyConstraint(
            ["registration_id"], ["mcp_server_registrations.id"], name="fk_assistant_mcp_tools_registration_id"
        ),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name="fk_assistant_mcp_tools_workspace"),
        sa.CheckConstraint(
            "surface IN ('open', 'locked', 'human_controlled')", name=op.f("ck_assistant_mcp_tools_surface")
        ),
    )
    op.create_index("ix_assistant_mcp_tools_registration_id", "assistant_mcp_tools", ["registration_id"])


def _functions() -> None:
    op.create_table(
        "assistant_functions",
        sa.Column("assistant_id", sa.Text, nullable=False),
        sa.Column("folded_name", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("attachment_id", sa.Text),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("assistant_id", "folded_name", name="pk_assistant_functions"),
        sa.UniqueConstraint("attachment_id", name="uq_assistant_functions_attachment_id"),
        sa.ForeignKeyConstraint(["assistant_id"], ["assistants.id"], name="fk_assistant_functions_assistant_id"),
        sa.ForeignKeyConstraint(
            ["attachment_id"],
            ["assistant_mcp_tools.id"],
            name="fk_assistant_functions_attachment_id",
            ondelete="CASCADE",
        ),
    )


def _listings() -> None:
    op.create_table(
        "discovery_snapshots",
        sa.Column("registration_id", sa.Text, nullable=False),
        sa.Column("observed_at", sa.Text, nullable=False),
        sa.Column("era", sa.Text, nullable=False),
        sa.Column("protocol_version", sa.Text, nullable=False),
        sa.Column("server_info", sa.Text, nullable=False),
        sa.Column("capabilities", sa.Text, nullable=False),
        sa.Column("instructions", sa.Text, nullable=False),
        sa.Column("quarantined", sa.Text, nullable=False),
        sa.Column("notes", sa.Text, nullable=False),
        sa.Column("tool_count", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("registration_id", name="pk_discovery_snapshots"),
        sa.ForeignKeyConstraint(
            ["registration_id"], ["mcp_server_registrations.id"], name="fk_discovery_snapshots_registration_id"
        ),
    )
    op.create_table(
        "discovered_tools",
        sa.Column("registration_id", sa.Text, nullable=False),
        sa.Column("remote_name", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("definition_digest", sa.Text, nullable=False),
        sa.Column("contract_digest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("registration_id", "remote_name", name="pk_discovered_tools"),
        sa.ForeignKeyConstraint(
            ["registration_id"],
            ["discovery_snapshots.registration_id"],
            name="fk_discovered_tools_registration_id",
            ondelete="CASCADE",
        ),
    )


def _applies() -> None:
    op.create_table(
        "applies",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("serial", sa.Integer, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("commit", sa.Text),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_applies"),
        sa.UniqueConstraint("workspace", "serial", name="uq_applies_workspace_serial"),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name="fk_applies_workspace"),
    )
