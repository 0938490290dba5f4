"""The tables of the governed runtime: runs, actions, approvals, keys, audit trail, protocol trace, suspensions, instances,
leases of watchers.

Decides names, types and constraints, as `tables.py` does for recorded state and by the same conventions. What a server, a
model or a person may fill with any character is JSON text. Nothing here refers to recorded state: a run outlives what it
was allowed by (DESIGN.md section 8).
"""

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from remit.store.tables import METADATA

__all__ = [
    "HAS_CONTENT",
    "actions",
    "approvals",
    "audit_events",
    "idempotency_records",
    "instances",
    "protocol_events",
    "runs",
    "suspension_serials",
    "suspensions",
    "trace_links",
    "watch_leases",
]

runs = Table(
    "runs",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("assistant", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("thread_id", Text),
    Column("trace_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("instance", Text),
    Index("ix_runs_owner_started_at", "owner", "started_at"),
)
"""One row a run. `instance` is the journal that works on it, so that a run of a dead one does not go on for ever."""

actions = Table(
    "actions",
    METADATA,
    Column("action_id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("tool_call_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("provider_name", Text, nullable=False),
    Column("server", Text),
    Column("remote_name", Text),
    Column("principal", Text, nullable=False),
    Column("trace_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("code", Text),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("approval_id", Text),
    Column("arguments", Text),
    Column("output", Text),
    Column("instance", Text),
    UniqueConstraint("run_id", "tool_call_id"),
)
"""One row a tool call. `instance` is the journal that may end it; `arguments` are kept for the consumer's own tools only."""

_UNDER_WAY = text("state = 'in_progress'")
Index("ix_runs_under_way", runs.c.instance, sqlite_where=_UNDER_WAY)
Index("ix_actions_under_way", actions.c.instance, sqlite_where=_UNDER_WAY)
_ASKED = text("approval_id IS NOT NULL")
Index("ix_actions_approval_id", actions.c.approval_id, sqlite_where=_ASKED)
HAS_CONTENT = "output IS NOT NULL OR arguments IS NOT NULL"
"""Which actions hold more than facts. In these very words in a statement, or SQLite does not use the index."""
Index("ix_actions_content", actions.c.ended_at, sqlite_where=text(HAS_CONTENT))

approvals = Table(
    "approvals",
    METADATA,
    Column("approval_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("assistant", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("binding_hash", Text, nullable=False),
    Column("request_digest", Text, nullable=False),
    Column("server_id", Text, nullable=False),
    Column("identity_key", Text, nullable=False),
    Column("remote_name", Text, nullable=False),
    Column("definition_digest", Text, nullable=False),
    Column("envelope_digest", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("provider_name", Text, nullable=False),
    Column("server", Text, nullable=False),
    Column("reversible", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Column("requested_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
    Column("approver", Text),
    Column("decided_at", Text),
    Column("reason", Text),
    Column("action_id", Text),
    Index("ix_approvals_binding_hash", "binding_hash"),
    Index("ix_approvals_owner_requested_at", "owner", "requested_at"),
)
"""The queue of approvals. `action_id` is the call that used it."""

idempotency_records = Table(
    "idempotency_records",
    METADATA,
    Column("owner", Text, primary_key=True),
    Column("assistant", Text, primary_key=True),
    Column("principal", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("action_id", Text, nullable=False, unique=True),
    Column("instance", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("result", Text),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
)
"""What a caller's key was used for, and what came of it."""

Index(
    "ix_idempotency_records_result",
    idempotency_records.c.owner,
    idempotency_records.c.ended_at,
    sqlite_where=text("result IS NOT NULL"),
)

audit_events = Table(
    "audit_events",
    METADATA,
    Column("writer", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("trace_id", Text),
    Column("body", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("digest", Text, nullable=False),
)
"""The audit trail, one chain a writer. The migration adds triggers that refuse UPDATE and DELETE."""

Index(
    "ix_audit_events_checkpoint",
    audit_events.c.writer,
    audit_events.c.seq,
    sqlite_where=text("kind = 'checkpoint'"),
)

protocol_events = Table(
    "protocol_events",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("trace_id", Text, nullable=False),
    Column("connection_id", Text, nullable=False),
    Column("server", Text, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("at", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("direction", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_protocol_events_trace_id", "trace_id"),
    Index("ix_protocol_events_connection_id", "connection_id"),
    Index("ix_protocol_events_at", "at"),
)
"""Protocol events, in no key of their own: a number given twice by a broken connection must not cost the others."""

trace_links = Table(
    "trace_links",
    METADATA,
    Column("trace_id", Text, primary_key=True),
    Column("connection_id", Text, primary_key=True),
)
"""Which connections, opened under another trace, a trace used."""

suspensions = Table(
    "suspensions",
    METADATA,
    Column("owner", Text, primary_key=True),
    Column("target", Text, primary_key=True),
    Column("address", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("reason", Text),
)
"""Suspensions in force. `target` is JSON: the server's id, the assistant's name and the tool's name, null where not named."""

suspension_serials = Table(
    "suspension_serials",
    METADATA,
    Column("owner", Text, primary_key=True),
    Column("serial", Integer, nullable=False),
)
"""How many suspensions and resumptions an owner has seen; no row is 0."""

instances = Table(
    "instances",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("boot", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("pid_start", Text, nullable=False),
    Column("heartbeat_at", Text, nullable=False),
    Column("heartbeat_seconds", Float, nullable=False),
)
"""The journals that are open. `heartbeat_seconds` counts on the machine's own clock since `boot`, which nobody sets."""

watch_leases = Table(
    "watch_leases",
    METADATA,
    Column("workspace", Text, primary_key=True),
    Column("token", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("boot", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("pid_start", Text, nullable=False),
    Column("since", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
)
"""Who watches a workspace, or did last. `epoch` counts the takings; `expires_at` is by the database's time."""
