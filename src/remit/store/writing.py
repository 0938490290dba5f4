"""One apply's transaction: operations carried out in the order that keeps every constraint.

Decides what fails alone and what fails everything: an assistant is written inside its own savepoint and costs the others
nothing; a server that cannot be recorded, a full disk or a damaged file end the whole transaction. What the operations
mean for the rows is `core/model.py`'s; a test holds the two together.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import assert_never

from sqlalchemy import delete, exists, insert, select, update
from sqlalchemy.exc import IntegrityError

from remit.core.canonical import JsonObject
from remit.core.identity import ServerId
from remit.core.live import Listed
from remit.core.operations import (
    Attach,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Operation,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    SetEnvelope,
    ToolOperation,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.ports import AppliedRecord, Failure
from remit.core.recorded import Recorded
from remit.store.attachments import prepare
from remit.store.clashes import explain_clash
from remit.store.codec import document_text
from remit.store.faults import translated
from remit.store.reading import read_recorded
from remit.store.registrations import (
    Declaration,
    declare_servers,
    keep_listing,
    release_servers,
    unregister_server,
)
from remit.store.renaming import move_workspace
from remit.store.scope import Refused, Scope
from remit.store.tables import applies, assistant_functions, assistant_mcp_tools, assistants, workspaces
from remit.store.texts import ascii_json, require_storable, time_text

__all__ = ["DatabaseTransaction"]


@dataclass(slots=True)
class _AssistantBatch:
    fields: list[CreateAssistant | UpdateAssistant] = field(default_factory=list[CreateAssistant | UpdateAssistant])
    tools: list[ToolOperation] = field(default_factory=list[ToolOperation])


@dataclass(slots=True)
class _Batches:
    declared: list[Declaration] = field(default_factory=list[Declaration])
    assistants: dict[str, _AssistantBatch] = field(default_factory=dict[str, _AssistantBatch])
    deleted: list[DeleteAssistant] = field(default_factory=list[DeleteAssistant])
    unregistered: list[UnregisterServer] = field(default_factory=list[UnregisterServer])

    def of(self, assistant: str) -> _AssistantBatch:
        return self.assistants.setdefault(assistant, _AssistantBatch())


def _batches(operations: Sequence[Operation]) -> _Batches:
    batches = _Batches()
    for operation in operations:
        match operation:
            case RegisterServer() | UpdateServer() | RenameServer():
                batches.declared.append(operation)
            case UnregisterServer():
                batches.unregistered.append(operation)
            case CreateAssistant(assistant=name):
                batches.of(name).fields.append(operation)
            case UpdateAssistant():
                batches.of(operation.name_after).fields.append(operation)
            case DeleteAssistant():
                batches.deleted.append(operation)
            case Attach() | Detach() | Refresh() | SetEnvelope() | RenameAlias():
                batches.of(operation.tool.assistant).tools.append(operation)
            case _:
                assert_never(operation)
    return batches


class DatabaseTransaction:
    """The `WorkspaceTransaction` of `core/ports.py` on one connection. Made by `DatabaseStore.workspace`, which ends it.

    Once a method has raised, the transaction can only be rolled back: `failure` holds the error, and the store raises it
    again where the caller let it pass.
    """

    def __init__(self, scope: Scope, place: str):
        self._scope = scope
        self._place = place
        self.failure: BaseException | None = None

    def recorded(self) -> Recorded:
        """The recorded state as this transaction sees it."""
        with self._guarded():
            return read_recorded(self._scope.connection)

    def execute(self, operations: Sequence[Operation]) -> tuple[Failure, ...]:
        """Carry out operations: servers, then each assistant by itself, then what goes.

        A failed assistant is rolled back and returned, also where it keeps a server or itself from being deleted. Raises
        StoreError where a server's name or endpoint is taken; then nothing of the transaction is kept.
        """
        if not operations:
            return ()
        with self._guarded():
            self._ensure_workspace()
            batches = _batches(operations)
            released = release_servers(self._scope, (*batches.declared, *batches.unregistered))
            declare_servers(self._scope, batches.declared, released)
            failures = self._write_assistants(batches)
            for deletion in batches.deleted:
                if deletion.assistant not in failures:
                    self._delete_assistant(deletion.assistant)
            for operation in batches.unregistered:
                name = released.get(operation.server_id, ("",))[0]
                for user in unregister_server(self._scope, operation, released):
                    why = failures.get(user, "it still uses tools of a server that should go")
                    failures[user] = f"{why}; so server.{name} stays registered"
            return tuple(Failure(assistant=name, message=why) for name, why in sorted(failures.items()))

    def bind(self, source: str | None) -> None:
        """Write down where the workspace's files come from, if it is recorded."""
        with self._guarded():
            require_storable(source, place=f"workspace.{self._scope.workspace}")
            mine = workspaces.c.name == self._scope.workspace
            self._scope.connection.execute(update(workspaces).where(mine).values(source=source))

    def note_environment(self, environment: str) -> None:
        """Write down which environment the workspace, if it is recorded, is applied for."""
        with self._guarded():
            require_storable(environment, place=f"workspace.{self._scope.workspace}")
            mine = workspaces.c.name == self._scope.workspace
            self._scope.connection.execute(update(workspaces).where(mine).values(environment=environment))

    def move_workspace(self, before: str) -> None:
        """Take over everything of a workspace that this one was called before; nothing where there is none."""
        with self._guarded():
            require_storable(self._scope.workspace, place=f"workspace.{self._scope.workspace}")
            move_workspace(self._scope, before)

    def keep_listing(self, server_id: ServerId, listed: Listed) -> None:
        """Keep a listing as the registration's last good one. Raises StoreError where it is not registered."""
        with self._guarded():
            keep_listing(self._scope, server_id, listed)

    def keep_apply(self, record: AppliedRecord) -> int:
        """Add a history row and an audit event, bump the workspace's serial and return it."""
        from remit.store.desk import note_apply  # noqa: PLC0415 (a plan needs no audit trail)

        with self._guarded():
            require_storable(record.actor, record.commit, record.outcome, place="history")
            self._ensure_workspace()
            mine = workspaces.c.name == self._scope.workspace
            connection = self._scope.connection
            connection.execute(update(workspaces).where(mine).values(serial=workspaces.c.serial + 1))
            serial = connection.execute(select(workspaces.c.serial).where(mine)).scalar_one()
            row = {
                "id": self._scope.new_id(),
                "workspace": self._scope.workspace,
                "serial": serial,
                "actor": record.actor,
                "at": time_text(record.at),
                "commit": record.commit,
                "digest": record.digest,
                "outcome": record.outcome,
                "summary": document_text({**_summary(record.plan), **record.beside}),
                "plan": document_text(record.plan),
            }
            connection.execute(insert(applies).values(row))
            note_apply(connection, self._scope.workspace, serial, record)
            return serial

    def keep_files(self, files: Sequence[str]) -> None:
        """Keep which files declare the workspace, if it is recorded."""
        with self._guarded():
            require_storable(*files, place=f"workspace.{self._scope.workspace}")
            mine = workspaces.c.name == self._scope.workspace
            self._scope.connection.execute(update(workspaces).where(mine).values(files=ascii_json(files)))

    def note_lock(self) -> None:
        """Note that the workspace is applied by a lock from now on, if it is recorded."""
        with self._guarded():
            mine = workspaces.c.name == self._scope.workspace
            self._scope.connection.execute(update(workspaces).where(mine).values(lock_used=True))

    @contextmanager
    def _guarded(self) -> Generator[None]:
        try:
            with translated(self._place):
                yield
        except BaseException as error:
            self.failure = error
            raise

    def _ensure_workspace(self) -> None:
        scope = self._scope
        require_storable(scope.workspace, scope.owner, place=f"workspace.{scope.workspace}")
        known = select(workspaces.c.name).where(workspaces.c.name == scope.workspace)
        if scope.connection.execute(known).first() is None:
            scope.connection.execute(
                insert(workspaces).values(name=scope.workspace, owner=scope.owner, lineage=scope.new_id(), serial=0)
            )

    def _write_assistants(self, batches: _Batches) -> dict[str, str]:
        servers = self._scope.active_servers()
        failures: dict[str, str] = {}
        for name, batch in batches.assistants.items():
            if why := self._write_assistant(name, batch, servers):
                failures[name] = why
        return failures

    def _write_assistant(self, name: str, batch: _AssistantBatch, servers: frozenset[str]) -> str | None:
        try:
            work = prepare(self._scope, name, batch.fields, batch.tools, servers)
        except Refused as refused:
            return str(refused)
        try:
            with self._scope.connection.begin_nested():
                work.write()
        except IntegrityError:
            return explain_clash(work)
        return None

    def _delete_assistant(self, name: str) -> None:
        """Delete the workspace's own assistant if nothing is left in it; one that others or a developer use stays."""
        columns = assistants.c
        statement = delete(assistants).where(
            columns.owner == self._scope.owner,
            columns.name == name,
            columns.workspace == self._scope.workspace,
            ~exists().where(assistant_mcp_tools.c.assistant_id == columns.id),
            ~exists().where(assistant_functions.c.assistant_id == columns.id),
        )
        self._scope.connection.execute(statement)


def _summary(plan: JsonObject) -> JsonObject:
    summary = plan.get("summary")
    return summary if isinstance(summary, dict) else {}
