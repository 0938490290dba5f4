"""What the recorded state is after some operations: the pure prediction that the database is tested against.

Decides what each operation means for every row. `store` carries the same operations out in SQL; a test compares both, so
the meaning of an operation is written here once and nowhere assumed. Pure.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from remit.core.canonical import sha256_hex
from remit.core.definition import Definition, function_of
from remit.core.identity import ProviderName, RemoteName, ServerId
from remit.core.operations import (
    Attach,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Operation,
    Reason,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    ServerFacts,
    SetEnvelope,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.ownership import released_workspace
from remit.core.recorded import Recorded, RecordedAssistant, RecordedAttachment, RecordedServer

__all__ = ["apply_operations"]

_Key = tuple[str, ServerId, RemoteName]


@dataclass(slots=True)
class _State:
    workspace: str
    owner: str
    servers: dict[ServerId, RecordedServer]
    assistants: dict[str, RecordedAssistant]
    attachments: dict[_Key, RecordedAttachment]
    foreign: Recorded
    used: set[ServerId]
    touched: set[str]
    released: list[RecordedAttachment] = field(default_factory=list[RecordedAttachment])

    def hand(self, reason: Reason, workspace: str) -> str:
        """Whose a row is afterwards."""
        return {Reason.RELEASED: released_workspace(self.owner), Reason.ADOPTED: self.workspace}.get(reason, workspace)

    def change(self, key: _Key, edit: Callable[[RecordedAttachment], RecordedAttachment]) -> None:
        edited = edit(self.attachments[key])
        self.attachments[key] = replace(edited, row_version=edited.row_version + 1)
        self.touched.add(key[0])


def apply_operations(recorded: Recorded, operations: Iterable[Operation], *, workspace: str, owner: str) -> Recorded:
    """The recorded state after `operations`, which come in a plan's order. Rows of others come back as they were.

    Assistants whose tools or fields changed gain one revision; changed attachments gain one row_version an operation.
    Serials, histories and listings are not predicted.
    """
    state = _open(recorded, workspace, owner)
    for operation in operations:
        _apply(operation, state)
    return _close(state, recorded)


def _open(recorded: Recorded, workspace: str, owner: str) -> _State:
    mine = [each for each in recorded.attachments if _is_own(each, workspace, owner)]
    others = tuple(each for each in recorded.attachments if not _is_own(each, workspace, owner))
    return _State(
        workspace=workspace,
        owner=owner,
        servers={each.server_id: each for each in recorded.servers},
        assistants={each.name: each for each in recorded.assistants if each.owner == owner},
        attachments={(each.assistant, each.server_id, each.remote_name): each for each in mine},
        foreign=replace(
            recorded, attachments=others, assistants=tuple(each for each in recorded.assistants if each.owner != owner)
        ),
        used=set(recorded.used_server_ids),
        touched=set(),
    )


def _is_own(attachment: RecordedAttachment, workspace: str, owner: str) -> bool:
    return attachment.assistant_owner == owner and attachment.workspace == workspace


def _close(state: _State, recorded: Recorded) -> Recorded:
    for name in state.touched & set(state.assistants):
        assistant = state.assistants[name]
        state.assistants[name] = replace(assistant, revision=assistant.revision + 1)
    return replace(
        recorded,
        servers=tuple(sorted(state.servers.values(), key=lambda each: each.server_id)),
        assistants=tuple(
            sorted((*state.foreign.assistants, *state.assistants.values()), key=lambda each: (each.owner, each.name))
        ),
        attachments=tuple(
            sorted(
                (*state.foreign.attachments, *state.released, *state.attachments.values()),
                key=lambda each: (each.assistant_owner, each.assistant, each.server_id, each.remote_name),
            )
        ),
        used_server_ids=frozenset(state.used),
    )


def _apply(operation: Operation, state: _State) -> None:
    match operation:
        case Attach() | Detach() | Refresh() | SetEnvelope() | RenameAlias():
            _apply_to_tool(operation, state)
        case RegisterServer(server_id=server_id, facts=facts):
            state.servers[server_id] = _registration(server_id, facts, state)
            state.used.add(server_id)
        case UpdateServer(server_id=server_id, after=after) | RenameServer(server_id=server_id, after=after):
            found = _with_facts(state.servers[server_id], after)
            state.servers[server_id] = replace(found, workspace=state.hand(operation.reason, found.workspace))
        case UnregisterServer(server_id=server_id):
            del state.servers[server_id]
        case CreateAssistant(assistant=name, permissions=permissions, protect=protect):
            state.assistants[name] = RecordedAssistant(
                owner=state.owner, workspace=state.workspace, name=name, permissions=permissions, protect=protect
            )
            state.touched.add(name)
        case UpdateAssistant():
            _update_assistant(operation, state)
        case DeleteAssistant(assistant=name):
            del state.assistants[name]
        case _:
            assert_never(operation)


def _update_assistant(operation: UpdateAssistant, state: _State) -> None:
    before, after = operation.assistant, operation.name_after
    found = state.assistants.pop(before)
    state.assistants[after] = replace(
        found,
        name=after,
        permissions=operation.after,
        protect=operation.protect_after,
        workspace=state.hand(operation.reason, found.workspace),
    )
    state.touched.add(after)
    if before != after:
        for key in [each for each in state.attachments if each[0] == before]:
            state.attachments[after, key[1], key[2]] = replace(state.attachments.pop(key), assistant=after)
        moved = [
            replace(each, assistant=after) if _is_of(each, before, state) else each
            for each in state.foreign.attachments
        ]
        state.foreign = replace(state.foreign, attachments=tuple(moved))


def _is_of(each: RecordedAttachment, assistant: str, state: _State) -> bool:
    return each.assistant_owner == state.owner and each.assistant == assistant


def _hand_over(key: _Key, reason: Reason, state: _State) -> None:
    """Take an attachment in, or let it go: it stays as it is and another workspace owns it."""
    if reason is Reason.RELEASED:
        state.change(key, lambda each: replace(each, workspace=released_workspace(state.owner)))
        state.released.append(state.attachments.pop(key))
        return
    mine = [each for each in state.foreign.attachments if _key_of(each, state) == key]
    others = tuple(each for each in state.foreign.attachments if each not in mine)
    state.foreign = replace(state.foreign, attachments=others)
    state.attachments[key] = mine[0]
    state.change(key, lambda each: replace(each, workspace=state.workspace))


def _key_of(each: RecordedAttachment, state: _State) -> _Key | None:
    return (each.assistant, each.server_id, each.remote_name) if each.assistant_owner == state.owner else None


def _apply_to_tool(operation: Attach | Detach | Refresh | SetEnvelope | RenameAlias, state: _State) -> None:
    tool = operation.tool
    key = (tool.assistant, tool.server_id, tool.remote_name)
    match operation:
        case Attach():
            state.attachments[key] = _attachment(operation, state)
            state.touched.add(tool.assistant)
        case Detach():
            del state.attachments[key]
            state.touched.add(tool.assistant)
        case Refresh(reason=(Reason.RELEASED | Reason.ADOPTED) as reason):
            _hand_over(key, reason, state)
        case Refresh(after=after, moved_to=moved_to):
            repaired = operation.reason is Reason.DATABASE_DRIFT
            state.change(
                key, lambda each: _with_function(each, tool.provider_name if repaired else each.provider_name, after)
            )
            if moved_to is not None:
                moved = replace(state.attachments.pop(key), remote_name=moved_to)
                state.attachments[tool.assistant, tool.server_id, moved_to] = moved
        case SetEnvelope(after=envelope):
            state.change(key, lambda each: replace(each, envelope=envelope))
        case RenameAlias(after=name):
            state.change(key, lambda each: _with_function(each, name, each.definition))
        case _:
            assert_never(operation)


def _registration(server_id: ServerId, facts: ServerFacts, state: _State) -> RecordedServer:
    blank = RecordedServer(
        server_id=server_id,
        owner=state.owner,
        workspace=state.workspace,
        name=facts.name,
        namespace=facts.namespace,
        endpoint=facts.endpoint,
    )
    return _with_facts(blank, facts)


def _with_facts(registration: RecordedServer, facts: ServerFacts) -> RecordedServer:
    return replace(
        registration,
        name=facts.name,
        namespace=facts.namespace,
        endpoint=facts.endpoint,
        instance=facts.instance,
        connection=facts.connection,
        enabled=facts.enabled,
        protect=facts.protect,
    )


def _attachment(operation: Attach, state: _State) -> RecordedAttachment:
    tool = operation.tool
    function = function_of(tool.provider_name, operation.definition)
    return RecordedAttachment(
        workspace=state.workspace,
        assistant_owner=state.owner,
        assistant=tool.assistant,
        server_id=tool.server_id,
        remote_name=tool.remote_name,
        canonical_id=tool.canonical_id,
        provider_name=tool.provider_name,
        definition=operation.definition,
        envelope=operation.envelope,
        function_text=function,
        function_name=tool.provider_name,
        function_digest=sha256_hex(function),
        source=operation.source,
    )


def _with_function(each: RecordedAttachment, name: ProviderName, definition: Definition) -> RecordedAttachment:
    function = function_of(name, definition)
    return replace(
        each,
        provider_name=name,
        definition=definition,
        function_text=function,
        function_name=name,
        function_digest=sha256_hex(function),
    )
