"""The database against `core/model.py`: after any applies of two workspaces both say the same."""

import itertools
import shutil
import tempfile
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.core.envelope import MOST_RESTRICTIVE, AuditedArguments, Envelope, Recording, Surface, UnknownArguments
from remit.core.identity import StdioEndpoint, server_id_of
from remit.core.model import apply_operations
from remit.core.operations import (
    DeleteAssistant,
    Operation,
    Reason,
    RegisterServer,
    RenameServer,
    ServerFacts,
    ToolRef,
    UnregisterServer,
    UpdateAssistant,
    UpdateServer,
)
from remit.core.recorded import Recorded, RecordedAttachment, RecordedServer
from tests.store.samples import (
    assistant,
    attach,
    created_store,
    definition,
    detach,
    facts,
    opened,
    refresh,
    rename,
    set_envelope,
    tool,
)

OWNER = "local"
NAMES = ("alpha", "beta", "gamma")
TOOLS = ("search", "Fetch", "write")
DEFINITIONS = (definition(), definition("Find.", q={"type": "string"}), definition(n={"maximum": 2**63 - 1}))
ENVELOPES = (
    MOST_RESTRICTIVE,
    Envelope(surface=Surface.LOCKED, side_effecting=False, reversible=True, required_permission="read"),
    Envelope(
        surface=Surface.OPEN,
        side_effecting=True,
        reversible=False,
        required_permission=None,
        unknown_arguments=UnknownArguments.PASS,
        record=Recording.DIGEST,
        audit_arguments=AuditedArguments.VALUES,
    ),
)
Item = TypeVar("Item")


@pytest.fixture(scope="module")
def template() -> Generator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        created_store(Path(folder))
        yield Path(folder) / "remit.db"


class Script:
    """Draws the operations of one apply, keeping track of what they lead to."""

    def __init__(self, draw: st.DrawFn, recorded: Recorded, workspace: str):
        self.draw = draw
        self.before = recorded
        self.state = recorded
        self.workspace = workspace
        self.operations: list[Operation] = []

    def some(self, items: tuple[Item, ...] | list[Item]) -> list[Item]:
        return [each for each in items if self.draw(st.booleans())]

    def add(self, operation: Operation) -> None:
        self.operations.append(operation)
        self.state = apply_operations(self.state, [operation], workspace=self.workspace, owner=OWNER)

    def servers(self) -> list[RecordedServer]:
        return [each for each in self.state.servers if each.workspace == self.workspace]

    def attachments(self) -> list[RecordedAttachment]:
        return [each for each in self.state.attachments if each.workspace == self.workspace]

    def taken_aliases(self, of: str) -> set[str]:
        return {each.provider_name.casefold() for each in self.state.attachments if each.assistant == of}


def _facts(of: RecordedServer) -> ServerFacts:
    return ServerFacts(
        name=of.name,
        namespace=of.namespace,
        endpoint=of.endpoint,
        instance=of.instance,
        connection=of.connection,
        enabled=of.enabled,
    )


def _declare(script: Script) -> None:
    held = {each.name for each in script.servers()}
    for name in script.some(tuple(each for each in NAMES if each not in held)):
        wanted = replace(facts(name, host=f"{script.workspace}.{name}"), enabled=script.draw(st.booleans()))
        known = {each.identity_key for each in script.state.servers}
        if script.draw(st.booleans()):
            wanted = replace(wanted, endpoint=StdioEndpoint((script.workspace, name), "."), instance="x")
        new = RegisterServer(
            reason=Reason.DECLARED,
            server_id=server_id_of(OWNER, f"{script.workspace}/{name}", script.state.used_server_ids),
            facts=wanted,
        )
        before = script.state
        script.add(new)
        if len({each.identity_key for each in script.state.servers}) == len(known):
            script.operations.pop()
            script.state = before


def _swap_servers(script: Script) -> None:
    """Two servers exchange their endpoints, or their names: neither order of the two updates keeps the keys unique."""
    held = [each for each in script.before.servers if each.workspace == script.workspace]
    if len(held) < 2 or not script.draw(st.booleans()):
        return
    first, second = _facts(held[0]), _facts(held[1])
    if script.draw(st.booleans()):
        after = (replace(first, name=second.name), replace(second, name=first.name))
        kind: type[RenameServer] | type[UpdateServer] = RenameServer
    else:
        after = (
            replace(first, endpoint=second.endpoint, instance=second.instance),
            replace(second, endpoint=first.endpoint, instance=first.instance),
        )
        kind = UpdateServer
    for server, before, wanted in zip(held[:2], (first, second), after, strict=True):
        script.add(
            kind(reason=Reason.NAME_CHANGED, server_id=server.server_id, before=before, after=wanted, changes=())
        )


def _assistants(script: Script) -> None:
    held = {each.name: each for each in script.state.assistants}
    for name in script.some(NAMES):
        if name not in held:
            script.add(assistant(name, *script.some(("read", "write"))))
        elif held[name].workspace == script.workspace:
            after = tuple(script.some(("read", "write")))
            script.add(
                UpdateAssistant(
                    reason=Reason.FIELDS_CHANGED, assistant=name, before=held[name].permissions, after=after
                )
            )


def _ref(of: RecordedAttachment) -> ToolRef:
    return ToolRef(
        assistant=of.assistant,
        server="any",
        server_id=of.server_id,
        remote_name=of.remote_name,
        provider_name=of.provider_name,
        canonical_id=of.canonical_id,
    )


def _aliases(script: Script) -> None:
    """Rename to a fresh name, or make two attachments of one assistant swap theirs."""
    mine = script.attachments()
    pairs = [(a, b) for a, b in itertools.pairwise(mine) if a.assistant == b.assistant]
    if pairs and script.draw(st.booleans()):
        first, second = script.draw(st.sampled_from(pairs))
        script.add(rename(_ref(first), second.provider_name))
        script.add(rename(_ref(second), first.provider_name))
    for each in script.some(script.attachments()):
        fresh = f"{each.provider_name[:20]}_{each.row_version}"
        if fresh.casefold() not in script.taken_aliases(each.assistant):
            script.add(rename(_ref(each), fresh))


def _attachments(script: Script) -> None:
    for name in [each.name for each in script.state.assistants]:
        for server in script.some(list(script.state.servers)):
            held = {(each.assistant, each.server_id, each.remote_name) for each in script.state.attachments}
            for remote in script.some(TOOLS):
                alias = f"{server.namespace}__{remote}"
                free = alias.casefold() not in script.taken_aliases(name)
                if free and (name, server.server_id, remote) not in held:
                    ref = replace(tool(name, "any", remote, alias), server_id=server.server_id)
                    script.add(attach(ref, _one(script, DEFINITIONS), _one(script, ENVELOPES)))


def _one(script: Script, items: tuple[Item, ...]) -> Item:
    return script.draw(st.sampled_from(items))


def _removals(script: Script) -> None:
    """Only what was there before this apply goes: no plan makes and removes a thing at once."""
    used = {each.assistant for each in script.state.attachments}
    for each in script.some(script.before.assistants):
        if each.workspace == script.workspace and each.name not in used:
            script.add(DeleteAssistant(reason=Reason.ASSISTANT_REMOVED, assistant=each.name, permissions=()))
    busy = {each.server_id for each in script.state.attachments}
    for server in script.some(script.before.servers):
        if server.workspace == script.workspace and server.server_id not in busy:
            script.add(
                UnregisterServer(reason=Reason.SERVER_REMOVED, server_id=server.server_id, before=_facts(server))
            )


@st.composite
def applies(draw: st.DrawFn) -> list[tuple[str, list[Operation], Recorded]]:
    """Up to four applies, each with its workspace, its operations in a plan's order, and the state it leads to."""
    recorded, found = Recorded(), list[tuple[str, list[Operation], Recorded]]()
    for workspace in draw(st.lists(st.sampled_from(["ops", "web"]), min_size=1, max_size=4)):
        script = Script(draw, recorded, workspace)
        _declare(script)
        _swap_servers(script)
        _assistants(script)
        for each in script.some(script.attachments()):
            script.add(detach(_ref(each)))
        _aliases(script)
        _attachments(script)
        for each in script.some(script.attachments()):
            script.add(refresh(_ref(each), _one(script, DEFINITIONS)))
        for each in script.some(script.attachments()):
            script.add(set_envelope(_ref(each), _one(script, ENVELOPES)))
        _removals(script)
        recorded = apply_operations(recorded, script.operations, workspace=workspace, owner=OWNER)
        found.append((workspace, script.operations, recorded))
    return found


@given(script=applies())
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_after_any_applies_the_database_equals_the_model(
    template: Path, script: list[tuple[str, list[Operation], Recorded]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(template, Path(folder) / "remit.db")
        store = opened(Path(folder) / "remit.db")
        for workspace, operations, expected in script:
            with store.workspace(workspace, owner=OWNER, lock_timeout=1) as transaction:
                assert transaction.execute(operations) == ()
                within = transaction.recorded()
            found = store.recorded()
            assert found == within
            assert replace(found, workspaces={}) == expected
            assert all(each.is_coherent for each in found.attachments)


def test_the_generator_reaches_every_operation() -> None:
    """A generator that never made the hard cases would prove nothing."""
    kinds: set[str] = set()

    @given(script=applies())
    @settings(
        max_examples=80, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )
    def collect(script: list[tuple[str, list[Operation], Recorded]]) -> None:
        kinds.update(each.op for _, operations, _ in script for each in operations)

    collect()
    assert len(kinds) == 12
