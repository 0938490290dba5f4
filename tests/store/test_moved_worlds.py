"""Whatever is moved, released, adopted and protected: the database then holds what the core predicted, step by step."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.core.desired import Desired, Move, Removal
from remit.core.live import Live
from remit.core.model import apply_operations
from remit.core.moved_entries import check_entries
from remit.core.moves import with_workspace
from remit.core.operations import Reason
from remit.core.plan import Plan
from remit.core.recorded import Recorded
from remit.core.subjects import AssistantSubject, ServerSubject, Subject, ToolSubject, WorkspaceSubject
from remit.store.store import DatabaseStore
from tests.states import LINE, OWNER, assistant, definition, desired, listed, plan, select, server
from tests.store.samples import created_store
from tests.store.test_planned_worlds import comparable

SERVERS, ASSISTANTS, TOOLS, WORKSPACES = ("one", "two"), ("dev", "ops"), ("find", "search", "close"), ("acme", "demo")


def wanted(random: Random) -> Desired:
    """A small file in which names come and go, entries included that may not fit."""
    servers = [server(name, server(random.choice(SERVERS)).endpoint) for name in SERVERS if random.random() < 0.7]
    servers = list({each.endpoint: each for each in servers}.values())
    guard = [LINE, None, None]
    assistants = [
        replace(
            assistant(
                name,
                *(select(each.name, *random.sample(TOOLS, 2)) for each in servers if random.random() < 0.8),
                permissions=random.choice([(), ("read",)]),
            ),
            protect=random.choice(guard),
        )
        for name in ASSISTANTS
        if random.random() < 0.7
    ]
    file = desired(*(replace(each, protect=random.choice(guard)) for each in servers), *assistants)
    moved = [Move(before=old, after=new, source=LINE) for old, new in pairs(random) if random.random() < 0.4]
    removed = [
        Removal(subject=each, source=LINE, keep=random.random() < 0.7)
        for each in names(random)
        if random.random() < 0.5
    ]
    file = replace(file, workspace=random.choice(WORKSPACES))
    return fitting(file, moved, removed)


def pairs(random: Random) -> list[tuple[Subject, Subject]]:
    one = random.choice(SERVERS)
    return [
        (ServerSubject("one"), ServerSubject("two")),
        (ServerSubject("two"), ServerSubject("one")),
        (AssistantSubject("dev"), AssistantSubject("ops")),
        (AssistantSubject("ops"), AssistantSubject("dev")),
        *((ToolSubject(one, old), ToolSubject(one, new)) for old, new in [random.sample(TOOLS, 2)]),
        (WorkspaceSubject("acme"), WorkspaceSubject("demo")),
        (WorkspaceSubject("demo"), WorkspaceSubject("acme")),
    ]


def names(random: Random) -> list[Subject]:
    subjects = [*map(ServerSubject, SERVERS), *map(AssistantSubject, ASSISTANTS)]
    return [*subjects, ToolSubject(random.choice(SERVERS), random.choice(TOOLS))]


def fitting(file: Desired, moved: list[Move], removed: list[Removal]) -> Desired:
    """The file with each entry that validate takes."""
    for each in moved:
        more = replace(file, moved=(*file.moved, each))
        file = file if list(check_entries(more)) else more
    for each in removed:
        more = replace(file, removed=(*file.removed, each))
        file = file if list(check_entries(more)) else more
    return file


def carry_out(store: DatabaseStore, file: Desired, live: Live) -> tuple[Plan, Recorded]:
    """Plan and apply; the plan, and what the core says that the database holds now."""
    known = store.recorded()
    made = plan(file, known, live)
    detaches = sum(each.op == "detach" for each in made.operations)
    made = plan(file, known, live, allow_detach=detaches)
    if made.vetoes:
        return made, known
    with store.workspace(file.workspace, owner=OWNER, lock_timeout=1) as transaction:
        if made.moved_workspace is not None:
            transaction.move_workspace(made.moved_workspace.name)
            known = with_workspace(known, made.moved_workspace.name, file.workspace)
        assert transaction.execute(made.operations) == ()
    return made, apply_operations(known, made.operations, workspace=file.workspace, owner=OWNER)


@pytest.mark.slow
def test_the_database_follows_every_move_as_the_core_predicts_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    seen: set[str] = set()

    @settings(max_examples=40, derandomize=True, database=None)
    @given(seed=st.integers(0, 2**32))
    def look(seed: int) -> None:
        random = Random(seed)
        store = created_store(tmp_path_factory.mktemp("moved"))
        live = {
            name: listed("find", "close", search=random.choice([definition(), definition("Else.")])) for name in SERVERS
        }
        for _ in range(4):
            made, predicted = carry_out(store, wanted(random), live)
            assert comparable(store.recorded()) == comparable(predicted)
            seen.update(each.reason for each in made.operations)
            seen.update(each.code for each in made.vetoes)
            seen.update(["workspace"] if made.moved_workspace else [])

    look()
    # Worlds in which nothing moved would prove nothing.
    assert {Reason.MOVED, Reason.RELEASED, Reason.ADOPTED, "workspace", "protected", "moved-ambiguous"} <= seen
