"""What each operation means for the rows, revisions and versions included; what a plan may contain is tested elsewhere."""

from dataclasses import replace

from remit.core.definition import Definition
from remit.core.envelope import MOST_RESTRICTIVE, Direction, Envelope, Surface
from remit.core.identity import ProviderName, canonical_id_of
from remit.core.model import apply_operations
from remit.core.operations import (
    Attach,
    ChangeClass,
    CreateAssistant,
    DeleteAssistant,
    Detach,
    Operation,
    Reason,
    Refresh,
    RegisterServer,
    RenameAlias,
    RenameServer,
    SetEnvelope,
    ToolRef,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.recorded import Recorded, RecordedAttachment
from remit.core.servers import facts_of
from tests.states import (
    LINE,
    OTHER_WORKSPACE,
    OWNER,
    WORKSPACE,
    attachment,
    definition,
    recorded,
    recorded_assistant,
    registration,
    server,
)

KNOWN = registration(server("github"))
OPS = recorded_assistant()
SEARCH = attachment(KNOWN, "search")
OTHER: Definition = definition("Finds other things.")
OPEN = Envelope(surface=Surface.OPEN, side_effecting=True, reversible=False, required_permission=None)


def ref(of: RecordedAttachment) -> ToolRef:
    return ToolRef(
        assistant=of.assistant,
        server="github",
        server_id=of.server_id,
        remote_name=of.remote_name,
        provider_name=of.provider_name,
        canonical_id=canonical_id_of(of.server_id, of.remote_name),
    )


def after(known: Recorded, *operations: Operation) -> Recorded:
    return apply_operations(known, operations, workspace=WORKSPACE, owner=OWNER)


ATTACH = Attach(
    tool=ref(SEARCH), definition=definition(), envelope=MOST_RESTRICTIVE, reason=Reason.SELECTED_BY_NAME, source=LINE
)
DETACH = Detach(tool=ref(SEARCH), definition=definition(), envelope=MOST_RESTRICTIVE, reason=Reason.NO_LONGER_SELECTED)
REFRESH = Refresh(
    tool=ref(SEARCH),
    before=definition(),
    after=OTHER,
    changes=(),
    classes=frozenset({ChangeClass.TEXT}),
    reason=Reason.DEFINITION_CHANGED,
)
LOOSEN = SetEnvelope(
    tool=ref(SEARCH), before=MOST_RESTRICTIVE, after=OPEN, direction=Direction.LOOSENED, reason=Reason.POLICY_CHANGED
)
RENAME = RenameAlias(tool=ref(SEARCH), after=ProviderName("find"), reason=Reason.ALIAS_DECLARED)


def test_an_attach_makes_a_whole_attachment_and_a_revision() -> None:
    assert after(recorded(KNOWN, OPS), ATTACH) == recorded(KNOWN, replace(OPS, revision=1), SEARCH)


def test_a_detach_takes_both_and_leaves_a_revision() -> None:
    assert after(recorded(KNOWN, OPS, SEARCH), DETACH) == recorded(KNOWN, replace(OPS, revision=1))


def test_each_change_of_an_attachment_is_a_version_and_all_of_them_one_revision() -> None:
    changed = attachment(KNOWN, "search", OTHER, alias="find", envelope=OPEN)
    assert after(recorded(KNOWN, OPS, SEARCH), RENAME, REFRESH, LOOSEN) == recorded(
        KNOWN, replace(OPS, revision=1), replace(changed, row_version=4)
    )


def test_a_repair_writes_the_alias_and_a_function_back_and_other_refreshes_keep_the_alias_there_is() -> None:
    edited = replace(SEARCH, provider_name=ProviderName("edited"), function_text=None, function_name=None)
    repair = replace(REFRESH, after=definition(), reason=Reason.DATABASE_DRIFT)
    changed = recorded(KNOWN, replace(OPS, revision=1), replace(SEARCH, row_version=2))
    assert after(recorded(KNOWN, OPS, edited), repair) == changed
    renamed = attachment(KNOWN, "search", OTHER, alias="edited")
    assert after(recorded(KNOWN, OPS, edited), REFRESH).attachments == (replace(renamed, row_version=2),)


def test_a_change_of_tools_is_a_revision_of_another_workspace_s_assistant_too() -> None:
    theirs = replace(OPS, workspace=OTHER_WORKSPACE, revision=7)
    assert after(recorded(KNOWN, theirs), ATTACH) == recorded(KNOWN, replace(theirs, revision=8), SEARCH)


def test_servers_come_change_and_go_and_their_ids_stay_used() -> None:
    facts = facts_of(KNOWN)
    off, renamed = replace(facts, enabled=False), replace(facts, name="hub", enabled=False)
    registered = after(Recorded(), RegisterServer(server_id=KNOWN.server_id, facts=facts, reason=Reason.DECLARED))
    changed = after(
        registered,
        UpdateServer(server_id=KNOWN.server_id, before=facts, after=off, changes=(), reason=Reason.CONNECTION_CHANGED),
        RenameServer(server_id=KNOWN.server_id, before=off, after=renamed, changes=(), reason=Reason.NAME_CHANGED),
    )
    gone = after(
        changed,
        UnregisterServer(server_id=KNOWN.server_id, before=renamed, reason=Reason.NO_LONGER_SELECTED),
    )
    assert (registered, changed, gone) == (
        recorded(KNOWN),
        recorded(replace(KNOWN, name="hub", enabled=False)),
        recorded(used=[KNOWN.server_id]),
    )


def test_assistants_come_change_and_go() -> None:
    created = after(Recorded(), CreateAssistant(assistant="ops", permissions=("a",), reason=Reason.DECLARED))
    updated = after(
        created, UpdateAssistant(assistant="ops", before=("a",), after=("b",), reason=Reason.FIELDS_CHANGED)
    )
    gone = after(updated, DeleteAssistant(assistant="ops", permissions=("b",), reason=Reason.ASSISTANT_REMOVED))
    assert (created, updated, gone) == (
        recorded(replace(OPS, permissions=("a",), revision=1)),
        recorded(replace(OPS, permissions=("b",), revision=2)),
        Recorded(),
    )


def test_rows_of_others_come_back_as_they_were() -> None:
    strange = (
        registration(server("jira"), workspace="strange", owner="stranger"),
        recorded_assistant(workspace="strange", owner="stranger"),
        attachment(registration(server("jira")), "create", workspace="strange", owner="stranger"),
        attachment(registration(server("jira")), "create", workspace=OTHER_WORKSPACE),
    )
    made = after(recorded(KNOWN, OPS, SEARCH, *strange), DETACH)
    left = recorded(KNOWN, replace(OPS, revision=1), *strange)
    assert [set(map(repr, rows)) for rows in (made.servers, made.assistants, made.attachments)] == [
        set(map(repr, rows)) for rows in (left.servers, left.assistants, left.attachments)
    ]
