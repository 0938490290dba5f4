"""`remit call`: one governed call of one attached tool, decided and recorded as any other.

Decides that Ctrl-C in the middle cancels the run, as `remit runs cancel` does, so that what is known of the call is told and
recorded before the command ends.
"""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from remit.app import Runtime
from remit.cli.call_endings import exit_of, interrupted_steps, next_steps
from remit.cli.governance import Owned, open_owned
from remit.cli.options import file_option, finite, format_option, no_color_option
from remit.cli.progress import call_progress
from remit.config.file_set import FileSet
from remit.core.addresses import nearest
from remit.core.calls import FailureCode
from remit.core.governance import ActionRow
from remit.core.recorded import Recorded
from remit.core.remote_ports import OnProgress
from remit.errors import RemitError, UsageError
from remit.render.call_text import CallDocument, call_document, call_text
from remit.render.escape import escape_terminal
from remit.runtime.abi import HandOff, ToolResultEnvelope, failure
from remit.runtime.run import Run

__all__ = ["command"]


@click.command(name="call")
@click.argument("assistant")
@click.argument("tool")
@click.option(
    "--args",
    "arguments",
    default="{}",
    show_default=True,
    metavar="JSON",
    help="The arguments, a JSON object; @FILE reads a file, - reads stdin.",
)
@click.option("--key", metavar="KEY", help="Idempotency key: the same key and arguments give the stored outcome.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    callback=finite,
    metavar="SECONDS",
    help="A tighter limit than the server's own.",
)
@file_option
@format_option
@no_color_option
def command(
    *,
    assistant: str,
    tool: str,
    arguments: str,
    key: str | None,
    timeout: float | None,
    config: FileSet,
    form: str,
    no_color: bool,
) -> None:
    """Call TOOL (its model-facing name) as ASSISTANT, under the policy that was applied.

    Exit codes: 0 fine; 1 the call failed; 3 it was refused, or a person must approve it first; 4 it may have been carried
    out, or the server was not reached; 130 Ctrl-C, 143 SIGTERM: what is known of the call is told first.
    """
    text = _text_of(arguments)
    owned = open_owned(config, colour=not no_color)
    _require_attached(owned.recorded(), owned.owner, assistant, tool)
    wanted = _Wanted(assistant=assistant, tool=tool, arguments=text, key=key, timeout=timeout)
    ending = _Ending()
    try:
        asyncio.run(_called(owned, wanted, ending))
    except KeyboardInterrupt:
        # A second one, or one outside of the call: while remit connects, or closes.
        ending.is_interrupted = True
    _tell(owned, ending, form)
    if ending.is_interrupted or ending.document is None:
        raise KeyboardInterrupt
    result = ending.document["result"]
    raise click.exceptions.Exit(exit_of(is_error=result["is_error"], metadata=result["metadata"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the command line asks for."""

    assistant: str
    tool: str
    arguments: str
    key: str | None
    timeout: float | None


@dataclass(slots=True)
class _Ending:
    """How far it came, whatever ended it: the run once there is one, and the document once the call has its result."""

    run_id: str | None = None
    document: CallDocument | None = None
    is_interrupted: bool = False


async def _called(owned: Owned, wanted: _Wanted, ending: _Ending) -> None:
    """One call in a run of its own, which ends with it."""
    terminal = owned.terminal
    async with Runtime.open(owned.config, host=owned.host) as runtime, runtime.run(wanted.assistant) as run:
        ending.run_id = run.run_id
        # Told at once: whoever interrupts a call that hangs wants to know what went over the wire.
        terminal.note(f"run {run.run_id}\ntrace {run.trace_id} (remit trace show {run.trace_id}{owned.file_flag})")
        with call_progress(wanted.tool, visible=terminal.interactive, colour=terminal.error_colour) as show:
            result = await _result(run, wanted, show, ending)
        if isinstance(result, HandOff):
            # Attached when it was looked up, detached since: nobody waits here to carry it out otherwise.
            await run.cancel()
            result = failure(FailureCode.UNKNOWN_TOOL, "the tool was detached a moment ago")
        ending.document = _document(wanted, result, run_id=run.run_id, trace_id=run.trace_id)


async def _result(run: Run, wanted: _Wanted, show: OnProgress | None, ending: _Ending) -> ToolResultEnvelope | HandOff:
    call = asyncio.create_task(
        run.call(
            wanted.tool,
            wanted.arguments,
            idempotency_key=wanted.key,
            timeout_seconds=wanted.timeout,
            on_progress=show,
        )
    )
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        ending.is_interrupted = True
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
    # Cancelled itself the call would say nothing; cancelled with its run it says what is known of it.
    try:
        await run.cancel()
    except RemitError:
        call.cancel()
    return await call


def _tell(owned: Owned, ending: _Ending, form: str) -> None:
    terminal, steps = owned.terminal, list[str]()
    if (document := ending.document) is not None:
        if form == "json":
            terminal.document(document)
        else:
            terminal.result(call_text(document, colour=terminal.colour))
        steps += next_steps(document["result"]["metadata"], file_flag=owned.file_flag)
    if ending.is_interrupted and ending.run_id is not None:
        action, has_result = _action(owned, ending.run_id), document is not None
        steps += interrupted_steps(ending.run_id, action, has_result=has_result, file_flag=owned.file_flag)
    for line in steps:
        terminal.note(escape_terminal(line, limit=1_000))


def _action(owned: Owned, run_id: str) -> ActionRow | None:
    """The call as it is recorded; None where it was not, or nobody can tell."""
    try:
        run = owned.desks.runs.run(owned.owner, run_id)
    except RemitError:
        return None
    return run.actions[-1] if run is not None and run.actions else None


def _document(wanted: _Wanted, result: ToolResultEnvelope, *, run_id: str, trace_id: str) -> CallDocument:
    return call_document(
        {
            "content": result.content,
            "structured_content": result.structured_content,
            "content_blocks": result.content_blocks,
            "metadata": result.metadata,
            "is_error": result.is_error,
        },
        assistant=wanted.assistant,
        tool=wanted.tool,
        run_id=run_id,
        trace_id=trace_id,
        code=result.code,
    )


def _text_of(arguments: str) -> str:
    """The JSON text that `--args` names; whether it holds is judged with the call. Raises UsageError."""
    if arguments == "-":
        return sys.stdin.read()
    if not arguments.startswith("@"):
        return arguments
    try:
        return Path(arguments[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"the file cannot be read: {why}", place=arguments[1:], hint="name a file of JSON text"
        ) from error


def _require_attached(recorded: Recorded, owner: str, assistant: str, tool: str) -> None:
    assistants = {each.name for each in recorded.assistants if each.owner == owner}
    if assistant not in assistants:
        raise _unknown("assistant", assistant, assistants)
    tools: set[str] = {
        each.provider_name
        for each in recorded.attachments
        if each.assistant_owner == owner and each.assistant == assistant
    }
    if tool not in tools:
        raise _unknown(f"tool of assistant {assistant}", tool, tools)


def _unknown(what: str, wanted: str, known: set[str]) -> UsageError:
    near = nearest(wanted, known)
    hint = f"did you mean {near!r}?" if near else "`remit status` lists assistants and their tools"
    return UsageError(f"no {what} is called {wanted!r}", hint=hint)
