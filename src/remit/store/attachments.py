"""Writing one assistant: its own fields, and its attachments with their functions, as few bulk statements as possible.

Decides what the rows look like after all operations of the assistant, first in memory, then in the database. Functions
that change are deleted before any is inserted, which is how two tools swap their aliases under the unique key. Rows of
another workspace are never touched (DESIGN.md section 6), released ones only to be adopted; what cannot be done raises Refused.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from sqlalchemy import bindparam, delete, insert, select, update

from remit.core.canonical import sha256_hex
from remit.core.definition import Definition, function_of
from remit.core.governance import SuspensionTarget
from remit.core.operations import (
    FROM_THE_ROWS,
    Attach,
    CreateAssistant,
    Detach,
    OpName,
    Reason,
    Refresh,
    RenameAlias,
    SetEnvelope,
    ToolOperation,
    ToolRef,
    UpdateAssistant,
)
from remit.core.ownership import released_workspace
from remit.store.codec import Columns, envelope_columns, source_columns
from remit.store.renaming import ensure_released, move_assistant, move_tool
from remit.store.scope import Refused, Scope
from remit.store.tables import assistant_functions, assistant_mcp_tools, assistants
from remit.store.texts import require_storable

__all__ = ["AssistantWork", "AttachmentRow", "prepare"]

_ORDER = (OpName.DETACH, OpName.RENAME_ALIAS, OpName.ATTACH, OpName.REFRESH, OpName.SET_ENVELOPE)
"""The order that keeps every constraint, within one assistant."""

_CHUNK = 500
_TOOL = assistant_mcp_tools.c


@dataclass(slots=True, kw_only=True)
class AttachmentRow:
    """An attachment as it will be; `values` are the columns to write, `label` is what a message calls it."""

    row_id: str
    workspace: str
    stored: bool
    row_version: int
    provider_name: str
    label: str
    definition: Definition | None = None
    values: Columns = field(default_factory=Columns)
    edits: int = 0
    """Operations after the row came to be; each counts in its row_version."""
    new_function: bool = False
    document: str = ""

    def versioned(self) -> Columns:
        """The version that the row gets."""
        return {"row_version": self.row_version + self.edits}


@dataclass(slots=True, kw_only=True)
class AssistantWork:
    """All that one apply changes about one assistant: decided by `prepare`, carried out by `write`."""

    scope: Scope
    assistant: str
    assistant_id: str
    fields: Columns = field(default_factory=Columns)
    created: bool = False
    renamed_from: str | None = None
    moved: list[tuple[SuspensionTarget, str]] = field(default_factory=list[tuple[SuspensionTarget, str]])
    rows: dict[tuple[str, str], AttachmentRow] = field(default_factory=dict[tuple[str, str], AttachmentRow])
    removed: list[str] = field(default_factory=list[str])

    def functions(self) -> list[tuple[AttachmentRow, Columns]]:
        """The function rows to be written, each with its attachment."""
        return [(row, _function_columns(self.assistant_id, row)) for row in self.rows.values() if row.new_function]

    def write(self) -> None:
        """Write everything; the caller holds a savepoint around it. Raises IntegrityError where a rule would break."""
        connection, functions = self.scope.connection, self.functions()
        if self.created:
            connection.execute(insert(assistants).values(self.fields | {"id": self.assistant_id}))
        elif self.fields:
            connection.execute(update(assistants).where(assistants.c.id == self.assistant_id).values(self.fields))
        self._delete(functions)
        self._update()
        fresh = [row.values | row.versioned() for row in self.rows.values() if not row.stored]
        if fresh:
            connection.execute(insert(assistant_mcp_tools), fresh)
        if functions:
            connection.execute(insert(assistant_functions), [columns for _, columns in functions])
        if self.renamed_from is not None:
            move_assistant(self.scope, self.renamed_from, self.assistant)
        for target, remote_name in self.moved:
            move_tool(self.scope, target, remote_name)
        if self.fields or self.removed or fresh or any(row.edits for row in self.rows.values()):
            self.scope.bump(self.assistant_id)

    def _delete(self, functions: Sequence[tuple[AttachmentRow, Columns]]) -> None:
        replaced = [row.row_id for row, _ in functions if row.stored]
        for table, column, ids in (
            (assistant_functions, assistant_functions.c.attachment_id, self.removed + replaced),
            (assistant_mcp_tools, _TOOL.id, self.removed),
        ):
            for start in range(0, len(ids), _CHUNK):
                self.scope.connection.execute(delete(table).where(column.in_(ids[start : start + _CHUNK])))

    def _update(self) -> None:
        # Rows that change the same columns go into one statement.
        groups: dict[frozenset[str], list[Columns]] = {}
        for row in self.rows.values():
            if row.stored and row.edits:
                changed = row.values | row.versioned() | {"changed_id": row.row_id}
                groups.setdefault(frozenset(row.values), []).append(changed)
        statement = update(assistant_mcp_tools).where(_TOOL.id == bindparam("changed_id"))
        for group in groups.values():
            self.scope.connection.execute(statement, group)


def prepare(
    scope: Scope,
    assistant: str,
    fields: Sequence[CreateAssistant | UpdateAssistant],
    tools: Sequence[ToolOperation],
    servers: frozenset[str],
) -> AssistantWork:
    """What these operations of one assistant come to; `servers` are the registrations that exist.

    Raises Refused where an operation has nothing to work on, or what it works on is another workspace's.
    """
    work = _open(scope, assistant, fields)
    if tools and not work.created:
        work.rows = _stored_rows(work)
    _load_definitions(work, tools)
    for operation in sorted(tools, key=_rank):
        _fold(work, operation, servers)
    for row in work.rows.values():
        if row.new_function:
            row.document = _document(row)
            row.values["function_digest"] = sha256_hex(row.document)
    return work


def _rank(operation: ToolOperation) -> int:
    # A repair puts back what apply wrote last, so everything else that is asked for comes on top of it; and until a tool has
    # moved, the others find it under its old name.
    if isinstance(operation, Refresh) and operation.reason in FROM_THE_ROWS:
        return -1
    moves = isinstance(operation, Refresh) and operation.moved_to is not None
    return len(_ORDER) if moves else _ORDER.index(operation.op)


def _open(scope: Scope, assistant: str, fields: Sequence[CreateAssistant | UpdateAssistant]) -> AssistantWork:
    updates = [each for each in fields if isinstance(each, UpdateAssistant)]
    before = next((each.assistant for each in updates if each.renamed_to == assistant), None)
    query = select(assistants.c.id, assistants.c.workspace).where(
        assistants.c.owner == scope.owner, assistants.c.name == (before or assistant)
    )
    found = scope.connection.execute(query).first()
    created = any(isinstance(each, CreateAssistant) for each in fields)
    if created and found:
        raise Refused(f"an assistant of this name exists already, made by workspace {found[1]}")
    adopted = any(each.reason is Reason.ADOPTED for each in updates) and found is not None
    if fields and found and found[1] != (released_workspace(scope.owner) if adopted else scope.workspace):
        raise Refused(f"its fields are set by workspace {found[1]}, which made it")
    if not created and not found:
        raise Refused("there is no such assistant")
    work = AssistantWork(
        scope=scope,
        assistant=assistant,
        assistant_id=found[0] if found else scope.new_id(),
        created=created,
        renamed_from=before,
    )
    if created:
        require_storable(assistant, place=f"assistant.{assistant}")
        work.fields |= {"owner": scope.owner, "workspace": scope.workspace, "name": assistant, "revision": 0}
    if before is not None:
        require_storable(assistant, place=f"assistant.{assistant}")
        work.fields["name"] = assistant
    for each in fields:
        work.fields |= _own_columns(scope, each)
    return work


def _own_columns(scope: Scope, operation: CreateAssistant | UpdateAssistant) -> Columns:
    match operation:
        case CreateAssistant(permissions=permissions, protect=protect):
            return {"permissions": json.dumps(permissions), "protect": protect}
        case UpdateAssistant(after=permissions, protect_after=protect, reason=reason):
            columns: Columns = {"permissions": json.dumps(permissions), "protect": protect}
            return columns | _owner_after(scope, reason)
        case _:
            assert_never(operation)


def _owner_after(scope: Scope, reason: Reason) -> Columns:
    match reason:
        case Reason.RELEASED:
            return {"workspace": ensure_released(scope)}
        case Reason.ADOPTED:
            return {"workspace": scope.workspace}
        case _:
            return {}


def _stored_rows(work: AssistantWork) -> dict[tuple[str, str], AttachmentRow]:
    query = select(
        _TOOL.registration_id, _TOOL.remote_name, _TOOL.id, _TOOL.workspace, _TOOL.row_version, _TOOL.provider_name
    ).where(_TOOL.assistant_id == work.assistant_id)
    return {
        (server_id, remote_name): AttachmentRow(
            row_id=row_id,
            workspace=workspace,
            stored=True,
            row_version=row_version,
            provider_name=provider_name,
            label=remote_name,
        )
        for server_id, remote_name, row_id, workspace, row_version, provider_name in work.scope.connection.execute(
            query
        )
    }


def _load_definitions(work: AssistantWork, tools: Sequence[ToolOperation]) -> None:
    """A renamed tool's function is written anew from the definition that is recorded; only those are read."""
    keys = [_key(each.tool) for each in tools if isinstance(each, RenameAlias)]
    rows = {row.row_id: row for key in keys if (row := work.rows.get(key))}
    ids = list(rows)
    for start in range(0, len(ids), _CHUNK):
        query = select(_TOOL.id, _TOOL.definition, _TOOL.definition_digest, _TOOL.contract_digest).where(
            _TOOL.id.in_(ids[start : start + _CHUNK])
        )
        for row_id, text, digest, contract in work.scope.connection.execute(query):
            rows[row_id].definition = Definition(text=text, definition_digest=digest, contract_digest=contract)


def _fold(work: AssistantWork, operation: ToolOperation, servers: frozenset[str]) -> None:
    tool = operation.tool
    match operation:
        case Attach():
            _attach(work, operation, servers)
        case Detach():
            # Gone already is done: whoever asked for it wanted it gone.
            if _key(tool) in work.rows:
                work.removed.append(_own(work, tool).row_id)
                del work.rows[_key(tool)]
        case Refresh():
            _refresh(work, operation)
        case SetEnvelope(after=envelope):
            row = _own(work, tool)
            row.values |= envelope_columns(envelope)
            row.edits += 1
        case RenameAlias(after=name):
            require_storable(name, place=_label(tool))
            row = _own(work, tool)
            _name(row, name)
            row.new_function = True
            row.edits += 1
        case _:
            assert_never(operation)


def _refresh(work: AssistantWork, operation: Refresh) -> None:
    tool, scope, reason = operation.tool, work.scope, operation.reason
    row = _own(work, tool, owner=released_workspace(scope.owner) if reason is Reason.ADOPTED else scope.workspace)
    if handed := _owner_after(scope, reason):
        row.values |= handed
        row.workspace = handed["workspace"]
        row.edits += 1
        return
    _define(row, operation.after)
    if reason is Reason.DATABASE_DRIFT:
        _name(row, tool.provider_name)
    if operation.moved_to is not None:
        require_storable(operation.moved_to, place=_label(tool))
        row.values["remote_name"] = operation.moved_to
        work.rows[tool.server_id, operation.moved_to] = work.rows.pop(_key(tool))
        target = SuspensionTarget(server_id=tool.server_id, assistant=tool.assistant, remote_name=tool.remote_name)
        work.moved.append((target, operation.moved_to))


def _attach(work: AssistantWork, operation: Attach, servers: frozenset[str]) -> None:
    tool = operation.tool
    if _key(tool) in work.rows:
        # Attached already: the alias and the policy that hold stay; a plan shows where the policy differs.
        _define(_own(work, tool), operation.definition)
        return
    if tool.server_id not in servers:
        raise Refused(f"{_label(tool)} cannot be attached: {tool.server} is not registered ({tool.server_id})")
    require_storable(tool.remote_name, tool.provider_name, place=_label(tool))
    row_id = work.scope.new_id()
    work.rows[_key(tool)] = AttachmentRow(
        row_id=row_id,
        workspace=work.scope.workspace,
        stored=False,
        row_version=1,
        provider_name=tool.provider_name,
        label=_label(tool),
        definition=operation.definition,
        new_function=True,
        values={
            "id": row_id,
            "assistant_id": work.assistant_id,
            "registration_id": tool.server_id,
            "workspace": work.scope.workspace,
            "remote_name": tool.remote_name,
            "canonical_id": tool.canonical_id,
            "provider_name": tool.provider_name,
            "enabled": True,
            **_definition_columns(operation.definition),
            **envelope_columns(operation.envelope),
            **source_columns(operation.source),
        },
    )


def _name(row: AttachmentRow, name: str) -> None:
    row.provider_name = name
    row.values["provider_name"] = name


def _define(row: AttachmentRow, definition: Definition) -> None:
    row.definition = definition
    row.values |= _definition_columns(definition)
    row.new_function = True
    row.edits += 1


def _own(work: AssistantWork, tool: ToolRef, *, owner: str | None = None) -> AttachmentRow:
    row = work.rows.get(_key(tool))
    if row is None:
        raise Refused(f"{_label(tool)} is not attached")
    if row.workspace != (owner or work.scope.workspace):
        raise Refused(f"{_label(tool)} is attached by workspace {row.workspace}, and only that one changes it")
    row.label = _label(tool)
    return row


def _key(tool: ToolRef) -> tuple[str, str]:
    return (tool.server_id, tool.remote_name)


def _label(tool: ToolRef) -> str:
    return f"{tool.server}/{tool.remote_name}"


def _definition_columns(definition: Definition) -> Columns:
    return {
        "definition": definition.text,
        "definition_digest": definition.definition_digest,
        "contract_digest": definition.contract_digest,
    }


def _document(row: AttachmentRow) -> str:
    assert row.definition is not None  # noqa: S101 (every path that asks for a new function has set it)
    return function_of(row.provider_name, row.definition)


def _function_columns(assistant_id: str, row: AttachmentRow) -> dict[str, Any]:
    return {
        "assistant_id": assistant_id,
        "folded_name": row.provider_name.casefold(),
        "name": row.provider_name,
        "attachment_id": row.row_id,
        "document": row.document,
    }
