"""The whole story: plan and apply, a governed run of the ops agent, its trace, its answer and the check of its figures.

Decides what is shown and what has to hold. It works in a folder that it is given and does not trust the text that it shows:
it reads the trace as JSON, and what the agent answered is looked up in the rows that came back.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import remit
from remit.core.canonical import JsonObject
from remit.render.escape import escape_terminal
from remit_ops_agent.agent import Ending, Turn, take_turn
from remit_ops_agent.figures import Check, check_figures
from remit_ops_agent.governed import RunExecutor
from remit_ops_agent.model import Model
from remit_ops_agent.trace_facts import Promise, promises, trace_facts

__all__ = ["QUESTION", "Outcome", "Unexpected", "tell"]

QUESTION = "Which agent had the worst p95 turn latency in the last 7 days?"
ASSISTANT = "ops"
TOOLS = ("list_metrics", "describe_view", "list_agents", "compute_metric", "run_query")
NAMESPACE = "analytics__"
CONFIG = Path(__file__).with_name("mcp.yaml")


class Unexpected(Exception):
    """A step of the story did not do what it has to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the story came to: the turn, the check of its figures, and what its trace holds."""

    turn: Turn
    check: Check
    trace: Sequence[Promise]

    @property
    def holds(self) -> bool:
        """Whether the question was answered, with figures that were all found, and the trace holds what it has to."""
        answered = self.turn.ending is Ending.ANSWERED and bool(self.check.found)
        return answered and self.check.holds and all(promise.kept for promise in self.trace)


async def tell(folder: Path, model: Model, question: str = QUESTION) -> Outcome:
    """Run the story in an empty folder and print it. Raises Unexpected, ModelFailed and remit's own errors."""
    shutil.copyfile(CONFIG, folder / "mcp.yaml")
    _remit(folder, "plan")
    _remit(folder, "apply", "--create-db", "--auto-approve")
    _say(f"Question: {question}")
    turn, trace_id = await _ask(folder, model, question)
    for result in turn.results:
        print(f"  called {escape_terminal(result.name)}: {'failed' if result.is_error else 'ok'}")
    _remit(folder, "trace", "show", trace_id)
    facts = trace_facts(_document(_remit(folder, "trace", "show", trace_id, "--format", "json", quiet=True)))
    called = [result.name.removeprefix(NAMESPACE) for result in turn.results if not result.is_error]
    outcome = Outcome(
        turn=turn,
        check=check_figures(turn.answer, question, turn.results),
        trace=promises(facts, TOOLS, called),
    )
    print("\n".join(_report(outcome)))
    return outcome


async def _ask(folder: Path, model: Model, question: str) -> tuple[Turn, str]:
    """One turn in a governed run; gives its trace id too."""
    async with remit.Runtime.open(folder / "mcp.yaml") as runtime, runtime.run(ASSISTANT) as run:
        return await take_turn(model, RunExecutor(run), await run.tools(), question), run.trace_id


def _report(outcome: Outcome) -> Iterator[str]:
    yield "\nThe trace holds"
    for promise in outcome.trace:
        yield f"  {'yes' if promise.kept else 'NO ':<4} {promise.words}: {escape_terminal(promise.found) or 'missing'}"
    yield "\nAnswer"
    yield from (f"  {escape_terminal(line, limit=2_000)}" for line in outcome.turn.answer.splitlines())
    yield "\nIts figures"
    yield from _figures(outcome.check)


def _figures(check: Check) -> Iterator[str]:
    rows = [(one.figure, f"{one.returned.place} = {one.returned.value}") for one in check.found]
    rows += [(figure, "") for figure in check.unfound]
    width = max((len(figure.text) for figure, _ in rows), default=0)
    for figure, place in sorted(rows, key=lambda row: row[0].start):
        told = f"found in {escape_terminal(place)}" if place else "NOT FOUND in any returned row"
        yield f"  {escape_terminal(figure.text):>{width}}  {told}"
    yield f"  {len(check.found)} of {len(rows)} figures found in the returned rows"


def _remit(folder: Path, *arguments: str, quiet: bool = False) -> str:
    """Run remit as a user would. Raises Unexpected for a non-zero exit."""
    if not quiet:
        _say(f"$ remit {' '.join(arguments)}")
    finished = subprocess.run(
        [sys.executable, "-m", "remit", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if quiet else None,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    if finished.returncode:
        raise Unexpected(f"remit {' '.join(arguments)} exited {finished.returncode}")
    return finished.stdout or ""


def _document(text: str) -> JsonObject:
    return cast("JsonObject", json.loads(text))


def _say(line: str) -> None:
    print(f"\n{escape_terminal(line, limit=2_000)}", flush=True)
