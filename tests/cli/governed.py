"""Rows of governed calls for the command-line tests, written by the store's own journal: no server is called."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from remit.app import host_of
from remit.core.approvals import ApprovalBinding
from remit.core.call_ports import (
    ApprovalWaiting,
    Begun,
    CallEnd,
    CallFacts,
    CallIntent,
    GrantedTool,
    Grants,
    NewRun,
    Started,
)
from remit.core.calls import ActionState, CallOutcome, RunState, ToolOutcome, TransportOutcome, arguments_digest
from remit.core.canonical import JsonObject, canonical_json
from remit.core.events import ProtocolEvent
from remit.store.database import open_store
from remit.store.governance import Governance
from remit.store.journal import Journal, open_journal
from remit.store.location import Location
from tests.cli.workspace import Workspace, tool

__all__ = ["CONFIG", "OWNER", "Rows", "applied"]

OWNER = "acme"
HOST = host_of()
SECONDS = 20

CONFIG = f"""\
version: 1
workspace: demo
owner: {OWNER}
mcp:
  servers:
    - name: issues
      command: {{server:issues}}
      tools:
        search: {{surface: locked, side_effecting: false}}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [create, search]
"""


@contextmanager
def applied(here: Workspace) -> "Generator[Rows]":
    """A file that was applied, with a tool that a human must approve, `create`, and one that needs nobody, `search`.

    The journal stays open while the context lasts: closing it ends the runs that it started.
    """
    here.serve("issues", tool("create"), tool("search"))
    here.write(CONFIG)
    ended = here.apply()
    assert ended.code == 0, ended.err
    location = Location(here.folder / ".remit" / "remit.db")
    journal = open_journal(location, writer="test", new_id=HOST.new_id, clock=HOST.clock)
    try:
        yield Rows(location, journal)
    finally:
        journal.close()


@dataclass(frozen=True, slots=True)
class Rows:
    """What a runtime would have written in a workspace."""

    location: Location
    journal: Journal

    @property
    def server_id(self) -> str:
        """The id of the one server."""
        return self.tool("issues__search").server.server_id

    def tool(self, provider_name: str) -> GrantedTool:
        """One tool of assistant `ops` as its grants have it now."""
        return next(each for each in self._grants().tools if each.attachment.provider_name == provider_name)

    def suspended_by(self, provider_name: str) -> str | None:
        """What the gate would say of a tool at the next call."""
        return self.tool(provider_name).suspended_by

    def start(self, *, principal: str = "assistant:ops") -> str:
        """Start a run of assistant `ops`; its id."""
        return _started(self.journal, principal)

    def complete(self, run_id: str) -> None:
        """End a run as one ends that did its work."""
        self.journal.ledger.move_run(run_id, RunState.COMPLETED, actor="assistant:ops", at=HOST.clock())

    def ask(self, arguments: JsonObject, *, principal: str = "assistant:ops") -> str:
        """Call `create` without an approval; the id of the request that this makes."""
        begun = self._begin(arguments, principal)
        assert isinstance(begun, ApprovalWaiting)
        return begun.approval_id

    def begins(self, arguments: JsonObject, *, principal: str = "assistant:ops") -> bool:
        """Whether a call of `create` may go out now."""
        return isinstance(self._begin(arguments, principal), Started)

    def hash_of(self, approval_id: str) -> str:
        """The binding hash of a request."""
        approval = self._desks().approvals.approval(OWNER, approval_id)
        assert approval is not None
        return approval.binding_hash

    def call(self, run_id: str, arguments: JsonObject, *, output: str) -> None:
        """A call of `search` that came back."""
        facts = self._facts("issues__search", run_id, arguments, "assistant:ops")
        intent = CallIntent(facts=facts, side_effecting=False, reversible=False)
        assert isinstance(self.journal.begin(intent).result(SECONDS), Started)
        assert self.journal.end(_ended(facts, output)).result(SECONDS)

    def record(self, *events: ProtocolEvent) -> None:
        """Keep protocol events, with the commit of a run that starts."""
        for event in events:
            self.journal.record(event)
        self.start()

    def _begin(self, arguments: JsonObject, principal: str) -> Begun:
        facts = self._facts("issues__create", _started(self.journal, principal), arguments, principal)
        intent = CallIntent(
            facts=facts,
            side_effecting=True,
            reversible=False,
            approval=self._binding(facts, arguments),
            approval_id=HOST.new_id(),
        )
        return self.journal.begin(intent).result(SECONDS)

    def _binding(self, facts: CallFacts, arguments: JsonObject) -> ApprovalBinding:
        return ApprovalBinding(
            principal=facts.principal,
            owner=facts.owner,
            assistant=facts.assistant,
            server_id=facts.server_id,
            identity_key=self.tool(facts.provider_name).server.identity_key,
            remote_name=facts.remote_name,
            server=facts.server,
            provider_name=facts.provider_name,
            reversible=False,
            definition_digest=facts.definition_digest,
            envelope_digest=facts.envelope_digest,
            arguments=canonical_json(arguments),
        )

    def _facts(self, provider_name: str, run_id: str, arguments: JsonObject, principal: str) -> CallFacts:
        granted = self.tool(provider_name)
        return CallFacts(
            action_id=HOST.new_id(),
            run_id=run_id,
            thread_id=None,
            tool_call_id=HOST.new_id(),
            trace_id=run_id,
            owner=OWNER,
            assistant="ops",
            principal=principal,
            provider_name=provider_name,
            server_id=granted.server.server_id,
            server=granted.server.name,
            remote_name=granted.attachment.remote_name,
            definition_digest=granted.attachment.definition.definition_digest,
            envelope_digest=granted.attachment.envelope.digest(),
            arguments_digest=arguments_digest(arguments),
            arguments_text=None,
            record_output=True,
            stamp=self._grants().stamp,
            at=HOST.clock(),
        )

    def _desks(self) -> Governance:
        return open_store(self.location, new_id=HOST.new_id, clock=HOST.clock).governance()

    def _grants(self) -> Grants:
        grants = self._desks().grants(OWNER, "ops")
        assert grants is not None
        return grants


def _started(journal: Journal, principal: str) -> str:
    run_id = HOST.new_id()
    new = NewRun(
        run_id=run_id,
        owner=OWNER,
        assistant="ops",
        principal=principal,
        thread_id=None,
        trace_id=run_id,
        at=HOST.clock(),
    )
    journal.ledger.start_run(new)
    return run_id


def _ended(facts: CallFacts, output: str) -> CallEnd:
    return CallEnd(
        action_id=facts.action_id,
        run_id=facts.run_id,
        at=HOST.clock(),
        state=ActionState.COMPLETED,
        outcome=CallOutcome.OK,
        code=None,
        transport=TransportOutcome.ANSWERED,
        rpc_code=None,
        tool=ToolOutcome.OK,
        duration_ms=1.0,
        attempts=1,
        renewed=False,
        protocol_version="2025-11-25",
        result=None,
        output=output,
        result_digest=None,
    )
