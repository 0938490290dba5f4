"""`python -m remit_ops_agent`, or `./run story`: ask the ops agent, show the trace and check the figures of its answer.

Exit codes: 0 where every figure was found and the trace holds what it has to, 1 where not, 2 for a wrong command line.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from remit.errors import RemitError
from remit_ops_agent.model import Model, ModelFailed
from remit_ops_agent.openai_compatible import KEY_VARIABLE, OpenAICompatible
from remit_ops_agent.scripted import ScriptedModel
from remit_ops_agent.story import QUESTION, Outcome, Unexpected, tell

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story once; gives the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.model == "openai" and not (chosen.base_url and chosen.model_name):
        parser.error("--model openai needs --base-url and --model-name")
    if chosen.model == "openai" and chosen.made_up:
        parser.error("--made-up is for the scripted model")
    # The story has a database of its own, whatever the shell it starts in uses.
    os.environ.pop("REMIT_DATABASE_URL", None)
    try:
        with tempfile.TemporaryDirectory(prefix="remit-story-") as folder:
            outcome = asyncio.run(tell(Path(folder), _model(chosen), chosen.question))
    except (ModelFailed, Unexpected, RemitError) as error:
        print(f"story: FAILED: {error}", file=sys.stderr)
        return 1
    print(f"\nstory: {_verdict(outcome, made_up=chosen.made_up)}")
    return 0 if outcome.holds else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run story", description="An ops agent asks the analytics server.")
    parser.add_argument("--question", default=QUESTION, help="what the agent is asked (default: %(default)s)")
    parser.add_argument(
        "--model", choices=["scripted", "openai"], default="scripted", help="scripted needs no network (default)"
    )
    parser.add_argument("--base-url", metavar="URL", help="of an OpenAI-compatible API, such as https://host/v1")
    parser.add_argument("--model-name", metavar="NAME", help="the model that the endpoint is asked for")
    parser.add_argument(
        "--key-variable",
        metavar="NAME",
        default=KEY_VARIABLE,
        help="the environment variable with the API key (default: %(default)s); unset sends none",
    )
    parser.add_argument(
        "--made-up", action="store_true", help="the scripted model makes up one figure; the check flags it (exit 1)"
    )
    return parser


def _model(chosen: argparse.Namespace) -> Model:
    if chosen.model == "openai":
        return OpenAICompatible.at(chosen.base_url, chosen.model_name, os.environ, chosen.key_variable)
    return ScriptedModel(made_up=chosen.made_up)


def _verdict(outcome: Outcome, *, made_up: bool) -> str:
    if outcome.holds:
        return "the trace holds what it has to, and every figure of the answer is in the returned rows."
    flagged = ", ".join(figure.text for figure in outcome.check.unfound)
    if made_up and flagged:
        return f"{flagged} was made up on purpose (--made-up) and is flagged; that is why this ends with exit code 1."
    if flagged:
        return f"FAILED: {flagged}: in no returned row."
    return "FAILED: the question was not answered with figures, or the trace lacks something; see above."


if __name__ == "__main__":
    sys.exit(main())
