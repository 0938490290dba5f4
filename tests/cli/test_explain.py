"""Everything that reads like a code in an output is a code that `remit explain` knows."""

from enum import StrEnum

import pytest

from remit.cli.codes import all_codes
from remit.core.envelope import Direction, Surface
from remit.core.explanations import FINDING_RULES, PLAN_WORDS
from remit.core.live import QuarantineReason, SkipReason, UnreachableReason
from remit.core.operations import ChangeClass, OpName, Reason, RiskCode
from remit.core.plan import DeferredReason, DriftKind, HoldReason
from tests.cli.workspace import Workspace
from tests.core.test_findings import POISONED

WORDS: tuple[type[StrEnum], ...] = (
    RiskCode, HoldReason, DriftKind, DeferredReason, UnreachableReason, SkipReason, QuarantineReason, Reason, ChangeClass,
    OpName, Surface, Direction,
)  # fmt: skip


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_every_word_of_a_plan_is_explained(words: type[StrEnum]) -> None:
    assert {str(word) for word in words} - set(all_codes()) == set()


def test_every_rule_that_finds_something_in_a_text_is_explained_and_no_other() -> None:
    assert set(FINDING_RULES) == {rule for rule, _ in POISONED} | {"url", "tool-name"}


def test_no_word_is_explained_that_nothing_shows() -> None:
    shown = {str(word) for words in WORDS for word in words} | set(FINDING_RULES)

    assert set(PLAN_WORDS) - shown == set()


def test_a_near_miss_of_a_word_is_suggested(here: Workspace) -> None:
    run = here.run("explain", "endpoint-chang")

    assert (run.code, run.err) == (
        64,
        "error usage: no code is called 'endpoint-chang'\n  hint: did you mean 'endpoint-change'?\n",
    )
