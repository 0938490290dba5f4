"""`remit completion`: the script that teaches a shell to complete remit's commands, flags and names."""

import os
from pathlib import PurePath

import click
from click.shell_completion import get_completion_class

from remit.cli.terminal import Terminal
from remit.errors import InternalError, UsageError

__all__ = ["command"]

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_REMIT_COMPLETE"
"""By which click is asked for completions; it derives the name from the program's."""


@click.command(name="completion")
@click.argument("shell", required=False, type=click.Choice(_SHELLS))
def command(*, shell: str | None) -> None:
    """Print the completion script for SHELL; without one, for the shell that SHELL names.

    bash: eval "$(remit completion bash)" in ~/.bashrc; zsh likewise in ~/.zshrc; fish: remit completion fish >
    ~/.config/fish/completions/remit.fish
    """
    from remit.cli.main import cli

    wanted = shell or PurePath(os.environ.get("SHELL", "")).name
    if wanted not in _SHELLS:
        raise UsageError("the shell is not known", hint=f"name one: remit completion {'|'.join(_SHELLS)}")
    completion = get_completion_class(wanted)
    if completion is None:
        raise InternalError(f"click knows no completion for {wanted}")
    Terminal.of(colour=False).result(completion(cli, {}, "remit", _VARIABLE).source())
