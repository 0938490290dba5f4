"""The `remit` command: finds the command that is meant, and turns every ending into an exit code.

Decides exit codes for usage errors (64, as click's own 2 would read as "changes present" in CI), interrupts and defects.
No traceback reaches a user unless REMIT_DEBUG is set.
"""

import gc
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from types import FrameType

import click
from click.shell_completion import CompletionItem

from remit.version import __version__

__all__ = ["cli", "main"]

_COMMANDS = {
    "apply": "Carry out a plan: attach, detach and refresh exactly what it shows.",
    "approvals": "List, show, approve and deny calls that wait for a human.",
    "audit": "Read the audit trail, verify it, export it.",
    "blame": "Show which apply attached and last changed a tool.",
    "call": "Call one tool as an assistant, governed and recorded.",
    "ci": "Comment a plan on a pull request; find the digest that was reviewed.",
    "completion": "Print the completion script of a shell.",
    "config": "Show the configuration as it comes out of its files.",
    "db": "Create or upgrade the database.",
    "discover": "List what the servers advertise now; attaches nothing.",
    "doctor": "Look for what is wrong: files, database, servers, secrets, policies.",
    "drift": "Show what moved without a commit.",
    "explain": "Explain a code that an error, a problem or a finding carries.",
    "graph": "Show who gets which tool from where.",
    "history": "Show what was applied, when and by whom.",
    "import": "Read servers from the configurations of MCP clients.",
    "init": "Write a first mcp.yaml here and create the embedded database.",
    "lock": "Write mcp.lock: what every selected tool is now, for a review.",
    "plan": "Show what apply would do; writes nothing.",
    "resume": "End a suspension.",
    "runs": "List, show and cancel runs.",
    "schema": "Print the JSON Schema of mcp.yaml, of saved plans, or of other output.",
    "show": "Show a saved plan.",
    "state": "List or show what the database holds, by address.",
    "status": "Show what the database holds for this workspace.",
    "suspend": "Deny every call of a server, an assistant or a tool at once.",
    "trace": "Show what went over the wire in one turn.",
    "validate": "Check mcp.yaml: no network, no secrets, no database.",
    "watch": "Plan whenever the files or a server change; with --apply, apply what the file asks for.",
}
"""Every command and its line in the help. A command's module is imported when it runs, or when its own help is asked for."""

_MODULES = {"import": "import_servers"}
"""Commands whose name can be no module's."""

INTERRUPTED = 130
_SIGNALLED = 128
"""Added to a signal's number in the exit code, as shells do."""


class _Commands(click.Group):
    """A group that knows its commands' names and imports none of them for `remit --help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"remit.cli.commands.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from remit.core.addresses import nearest

            if near := nearest(args[0], _COMMANDS):
                raise click.UsageError(f"{error.message} Did you mean {near!r}?", ctx) from None
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # The group's own would import every command for its help.
        names = [
            CompletionItem(name, help=words) for name, words in sorted(_COMMANDS.items()) if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="remit")
def cli() -> None:
    """A declarative control plane for MCP tools.

    Commit mcp.yaml, look at `remit plan`, run `remit apply`. Whatever no one declared gets the most restrictive policy.

    Exit codes: 0 fine, 1 error, 2 changes (--detailed-exitcode), 3 refused or held, 4 incomplete, 5 plan stale,
    6 workspace busy, 64 usage.
    """


_COLLECT_AFTER = 50_000
"""New objects between two looks for garbage in cycles, instead of 700."""


def main() -> None:
    """Run the command line and exit. SIGTERM and SIGHUP end it as Ctrl-C does, tidily, with 143 and 129 instead of 130."""
    _open_missing_streams()
    # Nearly all that a run makes it keeps to its end, so the collector walks 5,000 definitions again and again for nothing:
    # a tenth of the whole time of an apply.
    gc.set_threshold(_COLLECT_AFTER, 20, 100)
    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        interrupt = signal.getsignal(signal.SIGINT)
        # Whoever handles Ctrl-C at the moment (asyncio while it runs) knows how to end; a shell's `&` has it ignored.
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(number, frame)

    # A parent that ignores SIGCHLD hands that on, and the numbers of servers that ended would go to strangers unseen.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, on_signal)
    code = run(sys.argv[1:])
    sys.exit(_SIGNALLED + received[0] if received and code == INTERRUPTED else code)


def _open_missing_streams() -> None:
    """Give a process that was started with closed streams (`remit plan >&-`) some that lead nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (it stays open to the end)


def run(arguments: list[str]) -> int:
    """Run one command line and give its exit code."""
    try:
        # Without standalone mode click hands back the code of ctx.exit() and of Exit instead of raising it.
        ending: object = cli.main(args=arguments, prog_name="remit", standalone_mode=False)
        return int(ending) if isinstance(ending, int) else 0
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return 64
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("remit: interrupted\n")
        return INTERRUPTED
    except OSError as error:
        return _report(_unwritable(error), arguments)
    except Exception as error:  # noqa: BLE001 (the last frame: whatever it is, it must not reach a user raw)
        return _report(error, arguments)


def _unwritable(error: OSError) -> Exception:
    """What the system refused, in its words; where it names no file it is the output that could not be written."""
    from remit.errors import OutputUnwritable

    where = str(error.filename) if error.filename else "output"
    return OutputUnwritable(
        f"the system refused: {error.strerror or type(error).__name__}",
        place=where,
        hint="mend what it says, then run the same command again",
    )


def _report(error: Exception, arguments: list[str]) -> int:
    from remit.cli.terminal import Terminal
    from remit.errors import InternalError, RemitError

    if os.environ.get("REMIT_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if not isinstance(error, RemitError):
        error = InternalError(
            f"remit failed in a way it should not: {type(error).__name__}",
            hint="run again with REMIT_DEBUG=1 and report what it prints",
        )
    # What a command made of its flags is gone with it.
    Terminal.of(colour="--no-color" not in arguments).fail(error)
    return error.exit_code
