"""Whatever planning comes to, the database takes it and then holds what the core predicted, edited by hand or not."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.core.acceptance import acceptance_of
from remit.core.model import apply_operations
from remit.core.operations import Attach, Refresh
from remit.core.recorded import Recorded
from tests.core.generated import States, states
from tests.states import OWNER, WORKSPACE, plan
from tests.store.samples import created_store

EDITS = (
    "UPDATE assistant_mcp_tools SET provider_name = 'edited_' || substr(id, -4) WHERE id = ?",
    "UPDATE assistant_functions SET name = 'Edited_' || substr(attachment_id, -4), "
    "folded_name = 'edited_' || substr(attachment_id, -4) WHERE attachment_id = ?",
    "UPDATE assistant_functions SET folded_name = 'edited_' || substr(attachment_id, -4) WHERE attachment_id = ?",
    "UPDATE assistant_functions SET document = '{}' WHERE attachment_id = ?",
    "DELETE FROM assistant_functions WHERE attachment_id = ?",
)


def edit_by_hand(path: Path, random: Random) -> None:
    """Change about every fifth attachment of the database, some of them in several ways."""
    raw = sqlite3.connect(path)
    with raw:
        for (row,) in raw.execute("SELECT id FROM assistant_mcp_tools ORDER BY id").fetchall():
            for statement in EDITS:
                if random.random() < 0.05:
                    raw.execute(statement, [row])
    raw.close()


def comparable(known: Recorded) -> Recorded:
    """Without what comes from listings, which the core does not predict, and without the workspace's serial."""
    return replace(
        known,
        servers=tuple(replace(each, era=None, last_good=None) for each in known.servers),
        attachments=tuple(replace(each, drifted_when_last_listed=False) for each in known.attachments),
        workspaces={},
    )


@settings(max_examples=15)
@given(worlds=st.tuples(states(), states(), states(), states()), accepting=st.booleans(), edits=st.integers(0, 2**32))
def test_the_database_carries_out_any_plan_as_the_core_predicts_it(
    tmp_path_factory: pytest.TempPathFactory, worlds: tuple[States, ...], *, accepting: bool, edits: int
) -> None:
    folder, random = tmp_path_factory.mktemp("world"), Random(edits)
    store = created_store(folder)
    for each in worlds:
        edit_by_hand(folder / "remit.db", random)
        known = store.recorded()
        made = plan(each.desired, known, each.live)
        offered = [held.operation for held in made.held if isinstance(held.operation, Attach | Refresh)]
        if accepting:
            made = plan(each.desired, known, each.live, accept=map(acceptance_of, offered))
        with store.workspace(WORKSPACE, owner=OWNER, lock_timeout=1) as transaction:
            assert transaction.execute(made.operations) == ()
        predicted = apply_operations(known, made.operations, workspace=WORKSPACE, owner=OWNER)
        assert comparable(store.recorded()) == comparable(predicted)
