"""The governed runtime: runs, actions, approvals, keys, audit trail, protocol trace, suspensions and instances."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"

_TRIGGER = (
    "CREATE TRIGGER audit_events_no_{} ON audit_events {}BEGIN SELECT RAISE(ABORT, 'audit_events is append-only'); END"
)
_TAKEN = (
    "WHEN EXISTS (SELECT 1 FROM audit_events WHERE writer = NEW.writer AND seq = NEW.seq) "
    "OR NEW.rowid > 0 AND EXISTS (SELECT 1 FROM audit_events WHERE rowid = NEW.rowid) "
)
"""INSERT OR REPLACE deletes what it collides with by either key, and no trigger sees that deletion."""

_APPEND_ONLY = {
    "sqlite": (
        _TRIGGER.format("update BEFORE UPDATE", ""),
        _TRIGGER.format("delete BEFORE DELETE", ""),
        _TRIGGER.format("replace BEFORE INSERT", _TAKEN),
    )
}
"""By dialect; one without an entry fails here rather than keeping a trail that anybody may edit."""


def upgrade() -> None:
    """Create the tables, those that others refer to first."""
    _runs()
    _approvals()
    _idempotency()
    _audit()
    _trace()
    _suspensions()
    _instances()


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("assistant", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.Column("instance", sa.Text),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
    )
    op.create_index("ix_runs_owner_started_at", "runs", ["owner", "started_at"])
    _partial_index("ix_runs_under_way", "runs", ["instance"], "state = 'in_progress'")
    op.create_table(
        "actions",
        sa.Column("action_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("tool_call_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("provider_name", sa.Text, nullable=False),
        sa.Column("server", sa.Text),
        sa.Column("remote_name", sa.Text),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("code", sa.Text),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.Column("approval_id", sa.Text),
        sa.Column("arguments", sa.Text),
        sa.Column("output", sa.Text),
        sa.Column("instance", sa.Text),
        sa.PrimaryKeyConstraint("action_id", name="pk_actions"),
        sa.UniqueConstraint("run_id", "tool_call_id", name="uq_actions_run_id_tool_call_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_actions_run_id"),
    )
    _partial_index("ix_actions_under_way", "actions", ["instance"], "state = 'in_progress'")
    _partial_index("ix_actions_approval_id", "actions", ["approval_id"], "approval_id IS NOT NULL")


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("approval_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("assistant", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("binding_hash", sa.Text, nullable=False),
        sa.Column("request_digest", sa.Text, nullable=False),
        sa.Column("server_id", sa.Text, nullable=False),
        sa.Column("identity_key", sa.Text, nullable=False),
        sa.Column("remote_name", sa.Text, nullable=False),
        sa.Column("definition_digest", sa.Text, nullable=False),
        sa.Column("envelope_digest", sa.Text, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("provider_name", sa.Text, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("reversible", sa.Boolean, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("requested_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
        sa.Column("approver", sa.Text),
        sa.Column("decided_at", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("action_id", sa.Text),
        sa.PrimaryKeyConstraint("approval_id", name="pk_approvals"),
    )
    op.create_index("ix_approvals_binding_hash", "approvals", ["binding_hash"])
    op.create_index("ix_approvals_owner_requested_at", "approvals", ["owner", "requested_at"])


def _idempotency() -> None:
    op.create_table(
        "idempotency_records",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("assistant", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("action_id", sa.Text, nullable=False),
        sa.Column("instance", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.PrimaryKeyConstraint("owner", "assistant", "principal", "key", name="pk_idempotency_records"),
        sa.UniqueConstraint("action_id", name="uq_idempotency_records_action_id"),
    )


def _audit() -> None:
    op.create_table(
        "audit_events",
        sa.Column("writer", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("previous", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("writer", "seq", name="pk_audit_events"),
    )
    _partial_index("ix_audit_events_checkpoint", "audit_events", ["writer", "seq"], "kind = 'checkpoint'")
    for statement in _APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)


def _trace() -> None:
    op.create_table(
        "protocol_events",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("connection_id", sa.Text, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("direction", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_protocol_events"),
    )
    op.create_index("ix_protocol_events_trace_id", "protocol_events", ["trace_id"])
    op.create_index("ix_protocol_events_connection_id", "protocol_events", ["connection_id"])
    op.create_table(
        "trace_links",
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("connection_id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("trace_id", "connection_id", name="pk_trace_links"),
    )


def _suspensions() -> None:
    op.create_table(
        "suspensions",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.PrimaryKeyConstraint("owner", "target", name="pk_suspensions"),
    )
    op.create_table(
        "suspension_serials",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("serial", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("owner", name="pk_suspension_serials"),
    )


def _instances() -> None:
    op.create_table(
        "instances",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("boot", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("pid_start", sa.Text, nullable=False),
        sa.Column("heartbeat_at", sa.Text, nullable=False),
        sa.Column("heartbeat_seconds", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_instances"),
    )


def _partial_index(name: str, table: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
