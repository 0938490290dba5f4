"""`remit schema`: the JSON Schemas of what people and machines read and write."""

import click

from remit.cli.terminal import Terminal

__all__ = ["command"]


@click.command(name="schema")
@click.argument("what", type=click.Choice(["mcp", "plan"]), default="mcp")
def command(*, what: str) -> None:
    """Print the JSON Schema of mcp.yaml (mcp, for editors) or of saved plans (plan)."""
    from remit.config.json_schema import mcp_schema
    from remit.render.plan_schema import plan_schema

    Terminal.of(colour=False).document(mcp_schema() if what == "mcp" else plan_schema())
