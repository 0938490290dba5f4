"""What a reader is told: a plan with the facts around it, and the state of a workspace.

Filled by reconcile, turned into documents and text by render. Values only: decides nothing. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from remit.core.desired import ConfigFile
from remit.core.governance import Suspension
from remit.core.live import Observation
from remit.core.plan import Plan
from remit.core.ports import HistoryEntry
from remit.core.recorded import LastGood, Recorded

__all__ = ["AssistantLoad", "ConfigFacts", "DatabaseFacts", "DiscoveryLine", "PlanReport", "StatusReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryLine:
    """How one declared server was observed for a plan.

    `cached` says that a listing is the kept one, not asked for now; `last_good` is what is kept, if anything is.
    """

    server: str
    observation: Observation
    cached: bool = False
    last_good: LastGood | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFacts:
    """The files a plan was made from: each with its hash, one digest over all, and the git commit, if known.

    `environment` is the one whose overlay is among the files, `lock` the file whose lock is in force.
    """

    files: tuple[ConfigFile, ...]
    digest: str
    commit: str | None = None
    environment: str | None = None
    lock: ConfigFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """The database a plan was made against. Where none exists yet the recorded state is empty and `serial` is 0."""

    exists: bool
    dialect: str
    lineage: str | None = None
    serial: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantLoad:
    """What an assistant's model carries: the number of its tools and the estimated tokens of their functions."""

    tools: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """A plan and everything that is shown beside it. `tokens` is the load of each assistant after the plan, by name."""

    plan: Plan
    discovery: tuple[DiscoveryLine, ...]
    config: ConfigFacts
    database: DatabaseFacts
    tokens: Mapping[str, AssistantLoad]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """What the database holds for a workspace; `recorded` may hold rows of others, `history` is newest first.

    `suspensions` are all of the owner's, by address, as they hold in every workspace.
    """

    workspace: str
    database: DatabaseFacts
    recorded: Recorded
    history: tuple[HistoryEntry, ...] = ()
    suspensions: tuple[Suspension, ...] = ()
