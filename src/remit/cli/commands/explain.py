"""`remit explain`: what a code means, why remit cares, and what to do."""

import textwrap

import click

from remit.cli.codes import all_codes
from remit.cli.completions import code_names
from remit.cli.terminal import Terminal
from remit.core.addresses import nearest
from remit.errors import UsageError

__all__ = ["command"]


@click.command(name="explain")
@click.argument("code", required=False, shell_complete=code_names)
def command(*, code: str | None) -> None:
    """Explain CODE; without one, list all codes."""
    terminal = Terminal.of(colour=False)
    codes = all_codes()
    if code is None:
        widest = max(map(len, codes))
        terminal.result("\n".join(f"{name:<{widest}}  {codes[name].summary}" for name in sorted(codes)))
        return
    explanation = codes.get(code)
    if explanation is None:
        near = nearest(code, codes)
        raise UsageError(
            f"no code is called {code!r}",
            hint=f"did you mean {near!r}?" if near else "`remit explain` lists all codes",
        )
    paragraphs = (explanation.summary, explanation.why, f"What to do: {explanation.fix}")
    terminal.result(f"{code}\n\n" + "\n\n".join(textwrap.fill(each, width=terminal.width) for each in paragraphs))
