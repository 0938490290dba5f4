"""The JSON Schemas (draft 2020-12) of the plan, drift and run summary documents; `schemas/*.schema.json` are these, written down.

Decides nothing: it says what `shapes.py` says, for readers in other languages. Every object is closed and requires every
key, operations are told apart by `op`. Three kinds of object are open, as their keys are other people's: JSON Schemas and
annotations of tools, and the maps `env` and `headers`.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from remit.core.desired import ProtocolPin
from remit.core.diagnostics import Severity
from remit.core.envelope import AuditedArguments, Direction, Recording, Surface, UnknownArguments
from remit.core.identity import Transport
from remit.core.live import Era, QuarantineReason, SkipReason, UnreachableReason
from remit.core.operations import ChangeClass, OpName, Origin, Reason, RiskCode
from remit.core.plan import DeferredReason, DriftKind, HoldReason
from remit.render.shapes import FORMAT_VERSION

__all__ = ["drift_schema", "plan_definitions", "plan_schema", "summary_schema"]

_Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ANY: _Schema = {}
_STRING: _Schema = {"type": "string"}
_BOOLEAN: _Schema = {"type": "boolean"}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_SECONDS: _Schema = {"type": "number", "exclusiveMinimum": 0}
_OPEN: _Schema = {"type": "object"}
_STRINGS: _Schema = {"type": "array", "items": _STRING}
_STRING_MAP: _Schema = {"type": "object", "additionalProperties": _STRING}
_TIME: _Schema = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"}
_PLAN_DIGEST: _Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_DEFINITION_DIGEST: _Schema = {"type": "string", "pattern": "^d1:[0-9a-f]{64}$"}


def plan_schema() -> _Schema:
    """The schema as a JSON object, made anew at each call."""
    return {
        "$schema": _DIALECT,
        "title": "remit plan",
        "description": "What `remit plan --format json` prints and `--out FILE` saves; see docs/plan-format.md.",
        **_document(),
        "$defs": _definitions(),
    }


def plan_definitions() -> dict[str, _Schema]:
    """Every part of a plan by name, and as `plan` the whole, for schemas of documents that hold some; made anew at each call."""
    return {"plan": _document(), **_definitions()}


def drift_schema() -> _Schema:
    """The schema of `remit drift --format json`, made anew at each call."""
    parts = _document()["properties"]
    shared = (
        "format_version",
        "workspace",
        "environment",
        "complete",
        "digest",
        "config",
        "database",
        "discovery",
        "drift",
        "held",
    )
    counts = (
        "vanished",
        "quarantined",
        "changed",
        "refresh",
        "attach",
        "database_drift",
        "definition_lost",
        "deferred",
    )
    return {
        "$schema": _DIALECT,
        "title": "remit drift",
        "description": "What `remit drift --format json` prints; see docs/ci.md.",
        **_closed(
            {
                **{name: parts[name] for name in shared},
                "database_drift": parts["operations"],
                "problems": parts["problems"],
                "deferred": parts["deferred"],
                "summary": _closed(dict.fromkeys(counts, _COUNT)),
            }
        ),
        "$defs": _definitions(),
    }


def summary_schema() -> _Schema:
    """The schema of the file that `--summary` writes, made anew at each call; `counts` has the keys of a `summary`."""
    return {
        "$schema": _DIALECT,
        "title": "remit run summary",
        "description": "What `--summary FILE` writes; see docs/ci.md.",
        **_closed(
            {
                "format_version": {"const": FORMAT_VERSION},
                "has_changes": _BOOLEAN,
                "held": _COUNT,
                "incomplete": _BOOLEAN,
                "digest": _PLAN_DIGEST,
                "counts": {"type": "object", "additionalProperties": _COUNT},
            }
        ),
    }


def _closed(properties: Mapping[str, _Schema]) -> _Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": dict(properties),
    }


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(schema: _Schema) -> _Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list_of(schema: _Schema) -> _Schema:
    return {"type": "array", "items": schema}


def _enum(values: type[StrEnum] | Iterable[str]) -> _Schema:
    return {"enum": [str(value) for value in values]}


_NULL: _Schema = {"type": "null"}


def _document() -> _Schema:
    return _closed(
        {
            "format_version": {"const": FORMAT_VERSION},
            "workspace": _STRING,
            "moved_workspace": _or_null(_ref("moved_workspace")),
            "environment": _or_null(_STRING),
            "complete": _BOOLEAN,
            "digest": _PLAN_DIGEST,
            "config": _ref("config"),
            "database": _closed(
                {"exists": _BOOLEAN, "dialect": _STRING, "lineage": _or_null(_STRING), "serial": _COUNT}
            ),
            "discovery": _list_of(_ref("discovery")),
            "operations": _list_of(_ref("operation")),
            "held": _list_of(_ref("held")),
            "problems": _list_of(_ref("problem")),
            "drift": _list_of(_ref("drift")),
            "deferred": _list_of(_ref("deferred")),
            "unmanaged": _closed(dict.fromkeys(("servers", "assistants", "attachments", "functions"), _COUNT)),
            "summary": _ref("summary"),
        }
    )


def _definitions() -> dict[str, _Schema]:
    return {
        "config": _closed(
            {
                "files": _list_of(_closed({"path": _STRING, "sha256": _STRING})),
                "digest": _STRING,
                "commit": _or_null(_STRING),
                "lock": _or_null(_closed({"path": _STRING, "sha256": _STRING})),
                "assistants": _list_of(_closed({"name": _STRING, "tools": _COUNT, "tokens": _COUNT})),
            }
        ),
        "source": _closed(
            {
                "file": _STRING,
                "line": {"type": "integer", "minimum": 1},
                "column": {"type": "integer", "minimum": 1},
            }
        ),
        "problem": _closed(
            {
                "code": _STRING,
                "severity": _enum(Severity),
                "message": _STRING,
                "address": _or_null(_STRING),
                "source": _or_null(_ref("source")),
                "hint": _or_null(_STRING),
            }
        ),
        "drift": _not_done({"kind": _enum(DriftKind), **_offered()}),
        "deferred": _not_done({"attached": _BOOLEAN, "reason": _enum(DeferredReason)}),
        "summary": _summary(),
        "last_good": _closed({"tools": _COUNT, "observed_at": _TIME}),
        **_states(),
        **_parts_of_operations(),
        "discovery": {"oneOf": [_listed(), _unreachable(), _skipped()]},
        "operation": {"oneOf": list(_operations({}))},
        "held": {"oneOf": list(_operations({"held_because": _list_of(_enum(HoldReason))}))},
    }


def _not_done(own: Mapping[str, _Schema]) -> _Schema:
    about = dict.fromkeys(("address", "assistant", "server", "remote_name", "detail"), _STRING)
    return _closed({**about, **own})


def _offered() -> dict[str, _Schema]:
    state = _or_null(_ref("definition_state"))
    return {
        "before": state,
        "after": state,
        "changes": _list_of(_ref("change")),
        "classes": _list_of(_enum(ChangeClass)),
        "risks": _list_of(_ref("risk")),
    }


def _summary() -> _Schema:
    counts = [*(op.value for op in OpName), "held", "problems", "drift", "deferred", "unchanged"]
    return _closed(dict.fromkeys(counts, _COUNT))


# -- discovery ---------------------------------------------------------------------------------------------------------


def _listed() -> _Schema:
    quarantined = _closed({"remote_name": _STRING, "reason": _enum(QuarantineReason), "detail": _STRING})
    return _closed(
        {
            "status": {"const": "listed"},
            "server": _STRING,
            "cached_at": _or_null(_TIME),
            "tools": _COUNT,
            "quarantined": _list_of(quarantined),
            "era": _enum(Era),
            "protocol_version": _STRING,
            "server_info": _or_null(_closed({"name": _STRING, "version": _STRING})),
            "notes": _STRINGS,
        }
    )


def _unreachable() -> _Schema:
    return _closed(
        {
            "status": {"const": "unreachable"},
            "server": _STRING,
            "reason": _enum(UnreachableReason),
            "detail": _STRING,
            "last_good": _or_null(_ref("last_good")),
        }
    )


def _skipped() -> _Schema:
    return _closed(
        {
            "status": {"const": "skipped"},
            "server": _STRING,
            "reason": _enum(SkipReason),
            "last_good": _or_null(_ref("last_good")),
        }
    )


# -- operations --------------------------------------------------------------------------------------------------------


def _operations(extra: Mapping[str, _Schema]) -> Iterable[_Schema]:
    names = ("assistant", "server", "remote_name", "provider_name", "canonical_id")
    tool = {**extra, **dict.fromkeys(names, _STRING)}
    attachment, definition, envelope = _ref("attachment"), _ref("definition_state"), _ref("envelope")
    alias, server, assistant = _closed({"provider_name": _STRING}), _ref("server"), _ref("assistant")
    yield _operation(OpName.ATTACH, _NULL, attachment, tool)
    yield _operation(OpName.DETACH, _ref("recorded_attachment"), _NULL, tool)
    yield _operation(OpName.REFRESH, definition, definition, {**tool, "classes": _list_of(_enum(ChangeClass))})
    yield _operation(OpName.SET_ENVELOPE, envelope, envelope, {**tool, "direction": _enum(Direction)})
    yield _operation(OpName.RENAME_ALIAS, alias, alias, tool)
    yield _operation(OpName.REGISTER_SERVER, _NULL, server, extra)
    yield _operation(OpName.UPDATE_SERVER, server, server, extra)
    yield _operation(OpName.RENAME_SERVER, server, server, extra)
    yield _operation(OpName.UNREGISTER_SERVER, server, _NULL, extra)
    yield _operation(OpName.CREATE_ASSISTANT, _NULL, assistant, extra)
    yield _operation(OpName.UPDATE_ASSISTANT, assistant, assistant, extra)
    yield _operation(OpName.DELETE_ASSISTANT, assistant, _NULL, extra)


def _operation(op: OpName, before: _Schema, after: _Schema, extra: Mapping[str, _Schema]) -> _Schema:
    return _closed(
        {
            "op": {"const": op.value},
            "address": _STRING,
            "origin": _enum(Origin),
            "reason": _enum(Reason),
            "before": before,
            "after": after,
            "changes": _list_of(_ref("change")),
            "risks": _list_of(_ref("risk")),
            "source": _or_null(_ref("source")),
            **extra,
        }
    )


def _parts_of_operations() -> dict[str, _Schema]:
    return {
        "moved_workspace": _closed(
            {
                "name": _STRING,
                "servers": _COUNT,
                "assistants": _COUNT,
                "attachments": _COUNT,
                "risks": _list_of(_ref("risk")),
                "source": _ref("source"),
            }
        ),
        "risk": _closed({"code": _enum(RiskCode), "detail": _STRING}),
        "change": _closed(
            {
                "path": {"type": "array", "minItems": 1, "items": {"type": ["string", "integer"]}},
                "kind": _enum(("added", "removed", "changed")),
                "before": _ANY,
                "after": _ANY,
                "class": _or_null(_enum(ChangeClass)),
            }
        ),
    }


# -- states ------------------------------------------------------------------------------------------------------------


def _states() -> dict[str, _Schema]:
    definition_state: dict[str, _Schema] = {
        "definition": _ref("definition"),
        "definition_digest": _DEFINITION_DIGEST,
        "contract_digest": _DEFINITION_DIGEST,
    }
    attachment = {"provider_name": _STRING, "envelope": _ref("envelope"), **definition_state}
    return {
        "envelope": _closed(
            {
                "surface": _enum(Surface),
                "side_effecting": _BOOLEAN,
                "reversible": _BOOLEAN,
                "required_permission": _or_null(_STRING),
                "unknown_arguments": _enum(UnknownArguments),
                "record": _enum(Recording),
                "audit_arguments": _enum(AuditedArguments),
            }
        ),
        "definition": _closed(
            {
                "title": _or_null(_STRING),
                "description": _or_null(_STRING),
                "inputSchema": _OPEN,
                "outputSchema": _or_null(_OPEN),
                "annotations": _OPEN,
            }
        ),
        "definition_state": _closed(definition_state),
        "attachment": _closed(attachment),
        "recorded_attachment": _closed({**attachment, "definition": _or_null(_ref("definition"))}),
        "assistant": _closed({"name": _STRING, "permissions": _STRINGS, "protect": _BOOLEAN}),
        "server": _server(),
        "auth": {"oneOf": list(_auths())},
        "tls": _closed(dict.fromkeys(("ca_file", "client_cert", "client_key"), _or_null(_STRING))),
    }


def _server() -> _Schema:
    return _closed(
        {
            "server_id": _STRING,
            "name": _STRING,
            "namespace": _STRING,
            "transport": _enum(Transport),
            "command": _or_null(_STRINGS),
            "cwd": _or_null(_STRING),
            "url": _or_null(_STRING),
            "instance": _or_null(_STRING),
            "enabled": _BOOLEAN,
            "protect": _BOOLEAN,
            "env": _STRING_MAP,
            "headers": _STRING_MAP,
            "auth": _or_null(_ref("auth")),
            "tls": _or_null(_ref("tls")),
            "protocol": _enum(ProtocolPin),
            "timeout_seconds": _SECONDS,
            "call_timeout_seconds": _SECONDS,
            "start_timeout_seconds": _SECONDS,
            "allow_private_network": _BOOLEAN,
        }
    )


def _auths() -> Iterable[_Schema]:
    yield _auth("bearer", ("token",), {})
    yield _auth("oauth_client_credentials", ("token_url", "client_id", "client_secret"), {"scopes": _STRINGS})
    yield _auth(
        "private_key_jwt",
        ("token_url", "client_id", "private_key", "algorithm"),
        {"key_id": _or_null(_STRING), "scopes": _STRINGS},
    )


def _auth(kind: str, texts: Sequence[str], others: Mapping[str, _Schema]) -> _Schema:
    return _closed({"type": {"const": kind}, **dict.fromkeys(texts, _STRING), **others})
