"""`remit apply`: carry out what was shown, or what was reviewed, and nothing else."""

import re
from pathlib import Path

import click

from remit.cli.apply_run import ApplyFlags, run_apply
from remit.cli.options import finite, format_choice, plan_options
from remit.cli.session import PlanFlags
from remit.config.file_set import FileSet
from remit.core.binding import Leave

__all__ = ["command"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def _check_digest(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _DIGEST.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not sha256: and 64 hex characters, as the last line of a plan has it")
    return value


@click.command(name="apply")
@click.argument("plan", required=False, type=click.Path(path_type=Path))
@format_choice("text", "json", "github")
@plan_options
@click.option("--auto-approve", is_flag=True, help="Answer yes for what the file asks for; held changes stay held.")
@click.option(
    "--approve-digest",
    metavar="DIGEST",
    callback=_check_digest,
    help="Apply only if the plan that comes out has this digest.",
)
@click.option("--create-db", is_flag=True, help="Create the database if there is none.")
@click.option(
    "--lock-timeout",
    type=click.FloatRange(min=0, max=3600),
    callback=finite,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for another apply on this workspace.",
)
def command(
    *,
    plan: Path | None,
    config: FileSet,
    form: str,
    summary: Path | None,
    out: Path | None,
    detailed_exitcode: bool,
    refresh: str,
    servers: tuple[str, ...],
    accept: tuple[str, ...],
    allow_detach: int | None,
    allow_empty: tuple[str, ...],
    allow_missing: tuple[str, ...],
    rebind: bool,
    change_env: bool,
    allow_older_commit: bool,
    require_complete: bool,
    no_color: bool,
    auto_approve: bool,
    approve_digest: str | None,
    create_db: bool,
    lock_timeout: float,
) -> None:
    """Attach, detach and refresh what a plan shows, in one transaction.

    With a saved PLAN exactly its operations run, if they still come out the same; else the run plans anew and asks on the
    terminal. Exit codes: 0 fine, 1 error and nothing done, 3 refused by a safeguard or a held file operation, 4 incomplete
    (the rest was done), 5 the plan is stale and nothing was done, 6 workspace busy.
    """
    if plan is not None and (auto_approve or approve_digest):
        raise click.UsageError("a saved PLAN is its own approval; leave out --auto-approve and --approve-digest")
    flags = PlanFlags.of(
        refresh=refresh,
        servers=servers,
        accept=accept,
        allow_detach=allow_detach,
        allow_empty=allow_empty,
        allow_missing=allow_missing,
        leave=Leave(rebind=rebind, older_commit=allow_older_commit, environment=change_env),
    )
    code = run_apply(
        config,
        flags,
        ApplyFlags(
            plan=plan,
            form=form,
            summary=summary,
            out=out,
            detailed=detailed_exitcode,
            require_complete=require_complete,
            auto_approve=auto_approve,
            approve_digest=approve_digest,
            create_db=create_db,
            lock_timeout=lock_timeout,
            colour=not no_color,
        ),
    )
    raise click.exceptions.Exit(code)
