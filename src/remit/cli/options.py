"""Options that several commands share, spelled once."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from remit.cli.completions import environment_names, server_names
from remit.config.file_set import MAIN_FILE, FileSet

__all__ = [
    "accept_option",
    "allow_empty_option",
    "file_option",
    "finite",
    "format_choice",
    "format_option",
    "main_file_option",
    "no_color_option",
    "plan_options",
    "server_option",
    "split_acceptance",
    "summary_option",
]


_F = TypeVar("_F", bound=Callable[..., Any])


main_file_option = click.option(
    "-f",
    "--file",
    "config",
    type=click.Path(path_type=Path),
    default=MAIN_FILE,
    show_default=True,
    metavar="FILE",
    help="The configuration to write.",
)
"""`-f FILE` of a command that writes one configuration: a Path."""

_ENVIRONMENT = "remit.environment"


def _keep_environment(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_ENVIRONMENT] = value


def _file_set(context: click.Context, _parameter: click.Parameter, values: tuple[Path, ...]) -> FileSet:
    main, *others = values or (MAIN_FILE,)
    return FileSet(main=main, others=tuple(others), environment=context.meta.get(_ENVIRONMENT))


_FILE_OPTIONS = (
    click.option(
        "-f",
        "--file",
        "config",
        type=click.Path(path_type=Path),
        multiple=True,
        callback=_file_set,
        metavar="FILE",
        help="The configuration to read (default: mcp.yaml). Repeatable: more files are read as if the first included them.",
    ),
    # Eager, so that it is known when the files are put together.
    click.option(
        "--env",
        is_eager=True,
        expose_value=False,
        callback=_keep_environment,
        shell_complete=environment_names,
        metavar="NAME",
        help="Lay envs/NAME.yaml, beside the configuration, over it.",
    ),
)


def file_option(command: _F) -> _F:
    """`-f FILE`, repeatable, and `--env NAME`: one FileSet under the name `config`."""
    for option in reversed(_FILE_OPTIONS):
        command = option(command)
    return command


_FORMS = {
    "text": "Text for people",
    "json": "JSON for machines (alone on stdout)",
    "markdown": "Markdown for a comment",
    "mermaid": "a Mermaid flowchart for a page",
    "github": "annotations, job summary and outputs for GitHub Actions",
}


def format_choice(*forms: str) -> Callable[[_F], _F]:
    """`--format` with these forms; the first is the default."""
    words = ", ".join(_FORMS[form] for form in forms)
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True, help=f"{words}."
    )


format_option = format_choice("text", "json")

summary_option = click.option(
    "--summary",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write has_changes, held, incomplete, digest and counts here, as JSON. A run that fails leaves none.",
)

server_option = click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="NAME",
    shell_complete=server_names,
    help="Only this server. Repeatable.",
)

no_color_option = click.option("--no-color", is_flag=True, help="No colour; NO_COLOR does the same.")


def split_acceptance(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Check the spelling of `--accept ADDRESS@DIGEST`. Raises click.BadParameter."""
    for value in values:
        address, _, digest = value.rpartition("@")
        shown = digest.removeprefix("d1:")
        if not address or len(shown) < 8 or any(character not in "0123456789abcdef" for character in shown):
            raise click.BadParameter(
                f"{value!r} is not ADDRESS@DIGEST, with 8 or more hex characters of the definition digest"
            )
    return values


def finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse NaN, which is in every range and which no deadline ever reaches. Raises click.BadParameter."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds")
    return value


accept_option = click.option(
    "--accept",
    multiple=True,
    metavar="ADDRESS@DIGEST",
    callback=split_acceptance,
    help="Accept a held change of this very definition (8 or more characters of its digest). Repeatable.",
)

allow_empty_option = click.option(
    "--allow-empty", multiple=True, metavar="SERVER", help="This server may list no tools from now on. Repeatable."
)

_PLAN_OPTIONS = (
    file_option,
    summary_option,
    click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Save the plan here, mode 0600."),
    click.option("--detailed-exitcode", is_flag=True, help="Exit 2 where there are changes or held operations."),
    click.option(
        "--refresh",
        type=click.Choice(["live", "cached"]),
        default="live",
        show_default=True,
        help="Ask the servers, or use what was kept of their last good listings.",
    ),
    server_option,
    accept_option,
    click.option(
        "--allow-detach", type=click.IntRange(min=0), metavar="N", help="Let exactly N detaches pass the safeguards."
    ),
    allow_empty_option,
    click.option(
        "--allow-missing-file",
        "allow_missing",
        multiple=True,
        metavar="FILE",
        help="This file of the last apply may be gone, with what it declared. Repeatable.",
    ),
    click.option(
        "--rebind", is_flag=True, help="From now on the workspace's files come from this repository and path."
    ),
    click.option(
        "--change-env", is_flag=True, help="From now on the workspace is applied for this environment (--env, or none)."
    ),
    click.option("--allow-older-commit", is_flag=True, help="Go back to a commit from before the one applied last."),
    click.option("--require-complete", is_flag=True, help="Do nothing unless every server was listed (exit 4)."),
    no_color_option,
)


def plan_options(command: _F) -> _F:
    """The options of `plan` and `apply`, but for `--format`."""
    for option in reversed(_PLAN_OPTIONS):
        command = option(command)
    return command
