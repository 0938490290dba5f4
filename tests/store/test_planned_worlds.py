"""Whatever planning comes to, the database takes it and then holds what the core predicted."""

from dataclasses import replace

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


def comparable(known: Recorded) -> Recorded:
    """Without what comes from listings, which the core does not predict, and without the workspace's serial."""
    return replace(
        known,
        servers=tuple(replace(each, era=None, last_good=None) for each in known.servers),
        attachments=tuple(replace(each, drifted_when_last_listed=False) for each in known.attachments),
        workspaces={},
    )


@settings(max_examples=15)
@given(worlds=st.lists(states(), min_size=4, max_size=4), accepting=st.booleans())
def test_the_database_carries_out_any_plan_as_the_core_predicts_it(
    tmp_path_factory: pytest.TempPathFactory, worlds: list[States], *, accepting: bool
) -> None:
    store = created_store(tmp_path_factory.mktemp("world"))
    for each in worlds:
        known = store.recorded()
        made = plan(each.desired, known, each.live)
        offered = [held.operation for held in made.held if isinstance(held.operation, Attach | Refresh)]
        if accepting:
            made = plan(each.desired, known, each.live, accept=map(acceptance_of, offered))
        with store.workspace(WORKSPACE, owner=OWNER, lock_timeout=1) as transaction:
            assert transaction.execute(made.operations) == ()
        predicted = apply_operations(known, made.operations, workspace=WORKSPACE, owner=OWNER)
        assert comparable(store.recorded()) == comparable(predicted)
