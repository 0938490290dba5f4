"""Saved plans: written once, read back with suspicion, compared with what comes out now.

A saved plan is the plan document (render/document.py) in a file of mode 0600. Decides whether a file is a plan at all, and
which of its operations still hold: identical ones run, ones that are done already count as done, anything else makes the
plan stale, and then nothing runs (DESIGN.md section 7).
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from remit.core.acceptance import Acceptance
from remit.core.operations import Operation
from remit.errors import PlanStale, PlanUnreadable, UsageError
from remit.reconcile.whole_file import write_whole
from remit.render.document import digest_of_document, operation_document
from remit.render.layout import counted
from remit.render.plan_schema import plan_schema
from remit.render.shapes import FORMAT_VERSION, OperationDocument, PlanDocument

__all__ = [
    "Chosen",
    "acceptances_of",
    "allowed_detaches",
    "check_target",
    "checked_plan",
    "choose",
    "read_plan",
    "write_plan",
]


def write_plan(path: Path, document: PlanDocument) -> None:
    """Save a plan, readable by its owner only, complete or not at all. Raises OutputUnwritable."""
    write_whole(path, json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n")


def check_target(path: Path) -> None:
    """Refuse to save a plan over anything but a plan or an empty file, before any work is done. Raises UsageError."""
    try:
        held = path.read_bytes() if path.is_file() else b""
        document: object = json.loads(held) if held.strip() else {"format_version": FORMAT_VERSION}
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or "format_version" not in document:
        raise UsageError(
            f"{path} exists and is no saved plan", place="--out", hint="name another file, as in `--out plan.json`"
        )


def read_plan(path: Path) -> PlanDocument:
    """Read a saved plan. Raises PlanUnreadable where it is not one, is of a later format, or was edited."""
    try:
        document: object = json.loads(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, "is not JSON") from error
    return checked_plan(document, path)


def checked_plan(document: object, place: Path) -> PlanDocument:
    """A document as a plan, if it is one. Raises PlanUnreadable, as `read_plan` does."""
    _check_version(place, document)
    fault = _schema_fault(document)
    if fault is not None:
        made = isinstance(document, Mapping) and {"digest", "operations", "summary"} <= document.keys()
        told = "was changed after it was made, or comes from another remit" if made else "is not a plan"
        raise _unreadable(place, f"{told}: {fault}")
    plan = cast("PlanDocument", document)
    if digest_of_document(plan) != plan["digest"]:
        raise _unreadable(place, "was changed after it was made: its digest does not match its content")
    return plan


def _check_version(path: Path, document: object) -> None:
    if not isinstance(document, Mapping):
        raise _unreadable(path, "is not a plan: not a JSON object")
    version = cast("Mapping[str, object]", document).get("format_version")
    if isinstance(version, str) and version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise _unreadable(path, f"has plan format {version}, this remit reads {FORMAT_VERSION}")


def _schema_fault(document: object) -> str | None:
    import jsonschema_rs  # noqa: PLC0415 (only a run that reads a saved plan pays for it)

    validator = jsonschema_rs.validator_for(plan_schema(), offline=True, mask="...")
    error = next(iter(validator.iter_errors(document)), None)
    if error is None:
        return None
    place = "/".join(str(part) for part in error.instance_path) or "top level"
    return f"{place}: {error.message}"


def _unreadable(path: Path, message: str) -> PlanUnreadable:
    return PlanUnreadable(message, place=str(path), hint=f"make it again: remit plan --out {path.name}")


def acceptances_of(saved: PlanDocument) -> tuple[Acceptance, ...]:
    """What a saved plan's reviewers accepted: the definition of every operation it runs."""
    return tuple(
        Acceptance(operation["address"], operation["after"]["definition_digest"])
        for operation in saved["operations"]
        if operation["op"] == "attach" or operation["op"] == "refresh"
    )


def allowed_detaches(saved: PlanDocument) -> int:
    """The number of detaches that a saved plan's reviewers saw."""
    return sum(operation["op"] == "detach" for operation in saved["operations"])


@dataclass(frozen=True, slots=True)
class Chosen:
    """What of the operations that come out now runs, what was done before, and what nobody reviewed (not run)."""

    operations: tuple[Operation, ...]
    done: tuple[str, ...]
    extra: tuple[str, ...]


def choose(saved: PlanDocument, fresh: Iterable[Operation], is_done: Callable[[OperationDocument], bool]) -> Chosen:
    """Compare a saved plan with the operations that come out now.

    Raises PlanStale naming every saved operation that neither comes out the same nor is done; then nothing may run.
    """
    now = {_key(operation_document(operation)): operation for operation in fresh}
    reviewed = {_key(document): document for document in saved["operations"]}
    missing = [document for key, document in reviewed.items() if key not in now]
    stale = [_label(document) for document in missing if not is_done(document)]
    if stale:
        raise PlanStale(
            f"{counted(len(stale), 'reviewed operation')} no longer come{'s' if len(stale) == 1 else ''} out the same: {', '.join(stale[:10])}"
            + (f" and {len(stale) - 10} more" if len(stale) > 10 else ""),
            hint="look at the difference with `remit plan`, then save and review a new plan",
        )
    return Chosen(
        operations=tuple(operation for key, operation in now.items() if key in reviewed),
        done=tuple(_label(document) for document in missing),
        extra=tuple(_label(operation_document(operation)) for key, operation in now.items() if key not in reviewed),
    )


def _key(document: OperationDocument) -> str:
    """An operation's identity: all of it but the line it stands on, which may move without meaning anything."""
    parts: dict[str, Any] = {key: value for key, value in document.items() if key != "source"}
    return json.dumps(parts, sort_keys=True)


def _label(document: OperationDocument) -> str:
    return f"{document['op']} {document['address']}"
