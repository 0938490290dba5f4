"""The JSON Schemas that `remit schema` prints, by name: of the files that people write, and of all that commands print as JSON.

Decides which documents belong to which name. Those of commands are derived from the documents' own types.
"""

from collections.abc import Callable, Mapping
from typing import Any

from remit.cli import watch_lines
from remit.cli.applied import AppliedDocument
from remit.config.dialects.reporting import ImportDocument
from remit.config.json_schema import mcp_schema, overlay_schema
from remit.config.lock_schema import lock_schema
from remit.config.showing import ShownDocument
from remit.render import approvals_text, audit_text, history_text, runs_text, state_text, suspensions_text, trace_text
from remit.render.blame_text import BlameDocument
from remit.render.call_text import CallDocument
from remit.render.diagnostics import DiagnosticsDocument
from remit.render.doctor_text import DoctorDocument
from remit.render.document_schema import document_schema
from remit.render.graph_text import GraphDocument
from remit.render.listing_text import DiscoverDocument
from remit.render.lock_text import LockReportDocument
from remit.render.plan_schema import drift_schema, plan_schema, summary_schema
from remit.render.status_text import StatusDocument

__all__ = ["COMMANDS", "schema_named"]

_WRITTEN: Mapping[str, Callable[[], dict[str, Any]]] = {
    "mcp": mcp_schema,
    "overlay": overlay_schema,
    "lock": lock_schema,
    "plan": plan_schema,
    "drift": drift_schema,
    "summary": summary_schema,
}

_DERIVED: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "apply": ("`remit apply --format json`; see docs/plan-format.md", (AppliedDocument,)),
    "approvals": (
        "`remit approvals list|show|approve|deny|revoke --format json`",
        (approvals_text.ApprovalsDocument, approvals_text.OneApprovalDocument),
    ),
    "audit": (
        "`remit audit tail|verify --format json`",
        (audit_text.AuditTailDocument, audit_text.AuditReviewDocument),
    ),
    "audit-line": (
        "`remit audit export`, on each line",
        (audit_text.ExportedEventDocument, audit_text.ExportedHeadsDocument),
    ),
    "blame": ("`remit blame --format json`; see docs/looking.md", (BlameDocument,)),
    "call": ("`remit call --format json`; see docs/runtime.md", (CallDocument,)),
    "config": ("`remit config show --format json`; see docs/configuration.md", (ShownDocument,)),
    "discover": ("`remit discover --format json`", (DiscoverDocument,)),
    "doctor": ("`remit doctor --format json`; see docs/looking.md", (DoctorDocument,)),
    "graph": ("`remit graph --format json`; see docs/looking.md", (GraphDocument,)),
    "history": ("`remit history --format json`", (history_text.HistoryDocument, history_text.HistoryEntryDocument)),
    "import": ("`remit import --format json`; see docs/import.md", (ImportDocument,)),
    "lock-report": ("`remit lock --format json` and its `--check`; see docs/lock.md", (LockReportDocument,)),
    "runs": ("`remit runs list|show|cancel --format json`", (runs_text.RunsDocument, runs_text.OneRunDocument)),
    "state": (
        "`remit state list|show --format json`; see docs/looking.md",
        (state_text.StateListDocument, state_text.StateEntryDocument),
    ),
    "status": ("`remit status --format json`", (StatusDocument,)),
    "suspensions": (
        "`remit suspend` and `remit resume` with `--format json`",
        (suspensions_text.SuspensionsDocument, suspensions_text.SuspensionChangeDocument),
    ),
    "trace": (
        "`remit trace list|show|prune --format json`",
        (trace_text.TracesDocument, trace_text.TraceDocument, trace_text.PrunedDocument),
    ),
    "validate": ("`remit validate --format json`", (DiagnosticsDocument,)),
    "watch": ("`remit watch --format json`, on each line; see docs/watch.md", watch_lines.WATCH_LINES),
}

COMMANDS: Mapping[str, str] = {
    "apply": "apply",
    "approvals list": "approvals",
    "approvals show": "approvals",
    "approvals approve": "approvals",
    "approvals deny": "approvals",
    "approvals revoke": "approvals",
    "audit tail": "audit",
    "audit verify": "audit",
    "blame": "blame",
    "call": "call",
    "config show": "config",
    "discover": "discover",
    "doctor": "doctor",
    "drift": "drift",
    "graph": "graph",
    "history": "history",
    "import": "import",
    "lock": "lock-report",
    "plan": "plan",
    "resume": "suspensions",
    "runs list": "runs",
    "runs show": "runs",
    "runs cancel": "runs",
    "show": "plan",
    "state list": "state",
    "state show": "state",
    "status": "status",
    "suspend": "suspensions",
    "trace list": "trace",
    "trace show": "trace",
    "trace prune": "trace",
    "validate": "validate",
    "watch": "watch",
}
"""Each command with `--format json`, and the name of the schema that its output fits."""


def schema_named(name: str) -> dict[str, Any]:
    """The schema of this name, made anew at each call. Raises KeyError for another."""
    if name in _WRITTEN:
        return _WRITTEN[name]()
    printed_by, documents = _DERIVED[name]
    return document_schema(f"remit {name}", f"What is printed by {printed_by}.", documents)
