"""One workspace with a change of every kind to apply, planned and applied through the real store without a command line.

`Here` is a database in a folder; `plan` and `apply` do what the commands do, with listings that the test chooses.
"""

import asyncio
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from remit.app import difference
from remit.core.acceptance import Acceptance, acceptance_of
from remit.core.canonical import canonical_json
from remit.core.definition import Definition, function_of
from remit.core.desired import Connection, Desired
from remit.core.envelope import EnvelopePatch, Surface
from remit.core.identity import HttpEndpoint
from remit.core.live import Listed, Unreachable
from remit.core.operations import Attach, Detach, Refresh
from remit.core.planner import PlanRequest
from remit.core.ports import CacheInvalidation, Store
from remit.core.recorded import Recorded
from remit.reconcile.applying import Applied, AppliedBy, ApprovedDigest, ApprovedPlan, Inputs, Planned, apply
from remit.reconcile.observe import ObserveRequest, observe
from remit.reconcile.planning import Surroundings
from remit.store.database import Location, create_or_upgrade, open_store
from remit.store.store import DatabaseStore
from tests.fakes import FakeLister, SilentProgress
from tests.states import NOW, assistant, definition, desired, listed, select, server

__all__ = ["AFTER", "BEFORE", "LISTED_AFTER", "LISTED_BEFORE", "Forgetful", "Here", "held", "incoherences", "new_id"]

_READING = EnvelopePatch(surface=Surface.LOCKED, side_effecting=False)
_CHANGED = Definition.of(description="Finds more things.", input_schema={"type": "object"})

BEFORE = desired(
    server("issues"),
    server("wiki"),
    server("old"),
    server("moving", HttpEndpoint("https://moving.example.com/v1")),
    assistant("ops", select("issues", "search", "create"), select("wiki", "read", "write"), select("old", "gone")),
    assistant("leaving", select("old", "gone")),
    assistant("dev", select("moving", "a")),
)
AFTER = desired(
    server("issues", envelope=_READING),
    server("handbook", HttpEndpoint("https://wiki.example.com/mcp")),
    server("fresh"),
    server("moving", HttpEndpoint("https://moving.example.com/v1"), connection=Connection(timeout_seconds=7)),
    assistant(
        "ops",
        select("issues", "search", "create", aliases={"search": "find"}),
        select("handbook", "read"),
        select("fresh", "new"),
    ),
    assistant("dev", select("moving", "a"), permissions=("read",)),
    assistant("arriving", select("fresh", "new")),
)
"""Against BEFORE a plan of all twelve kinds of operation, if the changed definition is accepted."""

LISTED_BEFORE: Mapping[str, Listed | Unreachable] = {
    "issues": listed("search", "create"),
    "wiki": listed("read", "write"),
    "old": listed("gone"),
    "moving": listed("a"),
}
LISTED_AFTER: Mapping[str, Listed | Unreachable] = {
    "issues": listed("search", create=_CHANGED),
    "handbook": listed("read", "write"),
    "fresh": listed(new=definition("New.", n={"type": "integer"})),
    "moving": listed("a"),
}


_numbers = itertools.count(1)


def new_id() -> str:
    """An id that no other process of a test gives."""
    return f"{os.getpid()}-{next(_numbers)}"


@dataclass
class Forgetful:
    """A cache that only notes what it was told to forget."""

    forgotten: list[str] = field(default_factory=list[str])

    def assistants_changed(self, owner: str, assistants: Sequence[str]) -> None:
        self.forgotten += [f"{owner}/{name}" for name in assistants]


@dataclass
class Here:
    """A folder with a database."""

    folder: Path
    clock: datetime = NOW

    @property
    def path(self) -> Path:
        return self.folder / "remit.db"

    def create(self) -> "Here":
        create_or_upgrade(Location(self.path))
        return self

    def store(self) -> Store:
        return open_store(Location(self.path), new_id=new_id, clock=lambda: self.clock)

    def recorded(self) -> Recorded:
        return self.store().recorded()

    def plan(
        self,
        wanted: Desired,
        answers: Mapping[str, Listed | Unreachable],
        *,
        accept: Iterable[Acceptance] = (),
        agree: bool = True,
    ) -> Planned:
        """List and plan; the detaches that come out are agreed to, unless `agree` is false."""
        recorded = self.recorded()
        lines = asyncio.run(observe(wanted, recorded, FakeLister(answers), ObserveRequest(), SilentProgress()))
        inputs = Inputs(
            desired=wanted,
            discovery=lines,
            request=PlanRequest(diff=difference, accept=tuple(accept)),
            surroundings=Surroundings(dialect="sqlite", exists=True),
        )
        return self._agreed(inputs, recorded) if agree else inputs.plan_from(recorded)

    def plan_accepting_all(self, wanted: Desired, answers: Mapping[str, Listed | Unreachable]) -> Planned:
        """As `plan`, with everything accepted that is held."""
        return self.plan(wanted, answers, accept=held(self.plan(wanted, answers)))

    def apply(
        self,
        planned: Planned,
        approval: ApprovedPlan | None = None,
        *,
        caches: CacheInvalidation | None = None,
        store: Store | None = None,
        lock_timeout: float = 0.0,
    ) -> Applied:
        """Apply what was planned, as approved by its digest unless a saved plan is given."""
        return apply(
            store or self.store(),
            planned,
            approval or ApprovedDigest(planned.document["digest"]),
            by=AppliedBy(actor="user:it", at=self.clock, commit=None),
            lock_timeout=lock_timeout,
            caches=caches or Forgetful(),
        )

    def _agreed(self, inputs: Inputs, recorded: Recorded) -> Planned:
        planned = inputs.plan_from(recorded)
        agreed = sum(isinstance(each, Detach) for each in planned.report.plan.operations)
        request = PlanRequest(diff=difference, accept=inputs.request.accept, allow_detach=agreed)
        return Inputs(
            desired=inputs.desired, discovery=inputs.discovery, request=request, surroundings=inputs.surroundings
        ).plan_from(recorded)


def held(planned: Planned) -> tuple[Acceptance, ...]:
    """The acceptances that let everything through that a plan holds."""
    operations = [each.operation for each in planned.report.plan.held]
    return tuple(acceptance_of(each) for each in operations if isinstance(each, Attach | Refresh))


def incoherences(here: Here) -> list[str]:
    """Where provenance and the model-facing functions part, in words."""
    store, recorded = here.store(), here.recorded()
    assert isinstance(store, DatabaseStore)
    found = [f"{each.assistant}/{each.provider_name}" for each in recorded.attachments if not each.is_coherent]
    for one in recorded.assistants:
        served = sorted(map(canonical_json, store.tool_configs(owner=one.owner, assistant=one.name)))
        approved = sorted(
            function_of(each.provider_name, each.definition)
            for each in recorded.attachments
            if (each.assistant_owner, each.assistant) == (one.owner, one.name)
        )
        found += [f"{one.name} is served {served}, approved is {approved}"] if served != approved else []
    return found
