"""What commands print as JSON, held against the schemas that `remit schema` prints."""

import json
from collections.abc import Sequence
from functools import cache

import jsonschema_rs

from remit.cli.schemas import COMMANDS, schema_named

__all__ = ["assert_fits", "assert_output_fits", "command_of"]


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema_named(name))


def assert_fits(name: str, document: object) -> None:
    """The document fits the schema of this name."""
    faults = [f"{each.instance_path}: {each.message}" for each in _validator(name).iter_errors(document)]
    assert faults == [], name


def command_of(arguments: Sequence[str]) -> str | None:
    """The command of a command line if it has a form in JSON."""
    return next((name for n in (2, 1) if (name := " ".join(arguments[:n])) in COMMANDS), None)


def assert_output_fits(arguments: Sequence[str], out: str) -> None:
    """What a run with `--format json` printed fits its command's schema; an error prints nothing."""
    if "json" not in arguments or not out:
        return
    command = command_of(arguments)
    assert command is not None, f"{arguments[:2]} has no schema in remit.cli.schemas"
    assert_fits(COMMANDS[command], json.loads(out))
