"""`remit ci`: what a workflow on GitHub does around plan and apply: keep one comment, find what was reviewed."""

import re
from pathlib import Path

import click

from remit.app import host_of
from remit.cli.options import file_option
from remit.cli.pull_requests import DEFAULT_AUTHOR, api_of, event_of, own_comment
from remit.cli.session import load_or_exit
from remit.cli.terminal import Terminal
from remit.config.file_set import FileSet
from remit.errors import UpstreamError, UsageError
from remit.reconcile.outcome import ExitCode
from remit.render.markdown import comment_marker, digest_in, marker_of

__all__ = ["command"]

_COMMENT_CHARACTERS = 65_536
"""GitHub refuses a longer comment."""

_COMMIT = re.compile(r"[0-9a-f]{40,64}")

_author_option = click.option(
    "--author",
    default=DEFAULT_AUTHOR,
    show_default=True,
    metavar="LOGIN",
    help="The account that the workflow comments as; comments of others are never ours.",
)


@click.group(name="ci")
def command() -> None:
    """The steps of a workflow on GitHub around plan and apply; other systems need none of them."""


@command.command(name="comment")
@click.option("--file", "path", type=click.Path(path_type=Path), required=True, help="The text: a plan as Markdown.")
@click.option("--pull", type=click.IntRange(min=1), metavar="NUMBER", help="The pull request (default: the event's).")
@_author_option
def comment(*, path: Path, pull: int | None, author: str) -> None:
    """Comment on the pull request, or replace the comment of the same workspace and environment.

    Needs GITHUB_TOKEN and GITHUB_REPOSITORY. On a branch of a fork, whose token may only read, a refusal is no error.
    """
    terminal, environ = Terminal.of(colour=False), host_of().environ
    body = _text_of(path)
    marker = marker_of(body)
    if marker is None:
        raise UsageError(
            "the text does not begin with the marker of a plan", place=str(path), hint="use --format markdown"
        )
    event = event_of(environ)
    number = pull or event.pull
    if number is None:
        raise UsageError("this run is about no pull request", place="--pull", hint="name one")
    api = api_of(environ)
    try:
        before = own_comment(api, number, author, marker)
        if before is None:
            api.write(number, body)
        elif before.body.replace("\r\n", "\n").rstrip() != body.rstrip():
            api.replace(before, body)
    except UpstreamError as error:
        if not event.is_fork:
            raise
        terminal.note(f"no comment: the branch is a fork's, and {error.message}; the plan is in the job summary")
        return
    terminal.note(f"{'added' if before is None else 'replaced'} the comment on pull request {number}")


@command.command(name="digest")
@file_option
@click.option("--commit", metavar="SHA", help="The commit that was merged (default: GITHUB_SHA).")
@_author_option
def digest(*, config: FileSet, commit: str | None, author: str) -> None:
    """Print the digest of the plan that was shown on the pull request which a commit came from.

    Exit codes: 0 found, 3 there is no such pull request or no plan on it, 1 error. Needs GITHUB_TOKEN and GITHUB_REPOSITORY.
    """
    terminal, environ = Terminal.of(colour=False), host_of().environ
    sha = commit or environ.get("GITHUB_SHA", "")
    if not _COMMIT.fullmatch(sha):
        raise UsageError("this is not the full hash of a commit", place="--commit")
    desired = load_or_exit(config, terminal).desired
    api = api_of(environ)
    number = api.merged_as(sha, environ.get("GITHUB_REF_NAME") or None)
    if number is None:
        terminal.note(f"no pull request was merged as {sha}")
        raise click.exceptions.Exit(ExitCode.REFUSED)
    found = own_comment(api, number, author, comment_marker("plan", desired.workspace, desired.environment))
    shown = None if found is None else digest_in(found.body)
    if shown is None:
        terminal.note(f"pull request {number} has no comment of {author} with a plan of this workspace and environment")
        raise click.exceptions.Exit(ExitCode.REFUSED)
    terminal.result(shown)


def _text_of(path: Path) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError("the text cannot be read", place=str(path)) from error
    if len(text) > _COMMENT_CHARACTERS:
        raise UsageError(f"the text has more than {_COMMENT_CHARACTERS:,} characters", place=str(path))
    return text
