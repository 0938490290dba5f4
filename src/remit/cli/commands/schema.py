"""`remit schema`: the JSON Schemas of what people and machines read and write."""

import click

from remit.cli.terminal import Terminal

__all__ = ["NAMES", "command"]

NAMES = (
    "mcp",
    "overlay",
    "lock",
    "plan",
    "drift",
    "summary",
    "apply",
    "approvals",
    "audit",
    "audit-line",
    "blame",
    "call",
    "config",
    "discover",
    "doctor",
    "graph",
    "history",
    "import",
    "lock-report",
    "runs",
    "state",
    "status",
    "suspensions",
    "trace",
    "validate",
    "watch",
)
"""Of every schema, as in `schemas/NAME.schema.json`; written out, so that the help imports none of them."""


@click.command(name="schema")
@click.argument("what", type=click.Choice(NAMES), default="mcp")
def command(*, what: str) -> None:
    """Print the JSON Schema of mcp.yaml (mcp, for editors), envs/NAME.yaml (overlay), mcp.lock (lock), of the file that
    --summary writes (summary), or of what a command prints with --format json: the schema has the command's name.
    """
    from remit.cli.schemas import schema_named

    Terminal.of(colour=False).document(schema_named(what))
