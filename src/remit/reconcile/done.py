"""Whether the recorded state already is what a reviewed operation would make it.

Decides for one operation of a saved plan, by its document, so that a plan whose apply was cut off, or that somebody else
carried out, can be applied again. Pure over its arguments.
"""

from typing import assert_never

from remit.core.canonical import Json
from remit.core.operations import Attach, Reason, RegisterServer, ToolRef
from remit.core.recorded import Recorded, RecordedAttachment, RecordedServer
from remit.core.servers import facts_of
from remit.render.document import operation_document
from remit.render.shapes import (
    AssistantOperationDocument,
    AttachmentState,
    OperationDocument,
    RefreshDocument,
    ServerOperationDocument,
    ServerState,
    ToolOperationDocument,
)

__all__ = ["DoneCheck"]


class DoneCheck:
    """Answers `is_done` for the operations of one workspace against one recorded state."""

    def __init__(self, recorded: Recorded, *, workspace: str, owner: str):
        mine = [each for each in recorded.attachments if each.workspace == workspace and each.assistant_owner == owner]
        self._workspace = workspace
        self._tools = {(each.assistant, str(each.canonical_id)): each for each in mine}
        self._servers = {str(each.server_id): each for each in recorded.servers}
        self._assistants = {each.name: each for each in recorded.assistants if each.owner == owner}

    def is_done(self, operation: OperationDocument) -> bool:
        """Whether recorded state equals the operation's `after`."""
        if "canonical_id" in operation:
            tool = self._tools.get((operation["assistant"], operation["canonical_id"]))
            return tool is None if operation["reason"] == Reason.RELEASED else _tool_is_done(operation, tool)
        match operation["op"]:
            case "register_server" | "update_server" | "rename_server" | "unregister_server":
                return self._server_is_done(operation)
            case "create_assistant" | "update_assistant" | "delete_assistant":
                return self._assistant_is_done(operation)
            case _:
                assert_never(operation["op"])

    def _server_is_done(self, operation: ServerOperationDocument) -> bool:
        before, after = operation["before"], operation["after"]
        side = after or before
        found = None if side is None else self._servers.get(side["server_id"])
        owned = found is None or self._is_owned_as_meant(operation, found.workspace)
        return owned and after == (None if found is None else _server_state(found))

    def _assistant_is_done(self, operation: AssistantOperationDocument) -> bool:
        before, after = operation["before"], operation["after"]
        side = after or before
        found = None if side is None else self._assistants.get(side["name"])
        if found is None:
            return after is None
        state = {"name": found.name, "permissions": list(found.permissions), "protect": found.protect}
        return self._is_owned_as_meant(operation, found.workspace) and after == state

    def _is_owned_as_meant(self, operation: OperationDocument, workspace: str) -> bool:
        # What was released is another workspace's from then on, and equal in everything else.
        return (operation["reason"] == Reason.RELEASED) == (workspace != self._workspace)


def _tool_is_done(operation: ToolOperationDocument, found: RecordedAttachment | None) -> bool:
    state = None if found is None else _attachment_state(found)
    if state is None or operation["after"] is None:
        return state is None and operation["after"] is None
    match operation["op"]:
        case "attach":
            return state == operation["after"]
        case "refresh":
            same = state["definition_digest"] == operation["after"]["definition_digest"]
            return same and found is not None and found.remote_name == _name_after(operation)
        case "set_envelope":
            return state["envelope"] == operation["after"]
        case "rename_alias":
            return state["provider_name"] == operation["after"]["provider_name"]
        case "detach":
            return False
        case _:
            assert_never(operation["op"])


def _name_after(refresh: RefreshDocument) -> Json:
    moved = (each["after"] for each in refresh["changes"] if each["path"] == ["remote_name"])
    return next(moved, refresh["remote_name"])


def _attachment_state(found: RecordedAttachment) -> AttachmentState | None:
    tool = ToolRef(
        assistant=found.assistant,
        server="",
        server_id=found.server_id,
        remote_name=found.remote_name,
        provider_name=found.provider_name,
        canonical_id=found.canonical_id,
    )
    attach = Attach(tool=tool, definition=found.definition, envelope=found.envelope, reason=Reason.SELECTED_BY_NAME)
    document = operation_document(attach)
    return document["after"] if document["op"] == "attach" else None


def _server_state(found: RecordedServer) -> ServerState | None:
    register = RegisterServer(server_id=found.server_id, facts=facts_of(found), reason=Reason.DECLARED)
    document = operation_document(register)
    return document["after"] if document["op"] == "register_server" else None
