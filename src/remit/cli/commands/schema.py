"""`remit schema`: the JSON Schemas of what people and machines read and write."""

import click

from remit.cli.terminal import Terminal

__all__ = ["command"]


@click.command(name="schema")
@click.argument("what", type=click.Choice(["mcp", "overlay", "lock", "plan", "drift", "summary"]), default="mcp")
def command(*, what: str) -> None:
    """Print the JSON Schema of mcp.yaml (mcp, for editors) or envs/NAME.yaml (overlay), of mcp.lock (lock), of saved
    plans (plan), of drift reports or of run summaries.
    """
    from remit.config.json_schema import mcp_schema, overlay_schema
    from remit.config.lock_schema import lock_schema
    from remit.render.plan_schema import drift_schema, plan_schema, summary_schema

    schemas = {
        "mcp": mcp_schema,
        "overlay": overlay_schema,
        "lock": lock_schema,
        "plan": plan_schema,
        "drift": drift_schema,
        "summary": summary_schema,
    }
    Terminal.of(colour=False).document(schemas[what]())
