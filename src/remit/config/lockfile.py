r"""mcp.lock: the lock as a file that a reviewer reads line by line in a pull request.

Decides its form: JSON with two spaces, sorted keys and ASCII alone, a description as the list of its lines, so that a diff
shows what a model will read and a character that hides stands there as `\u202e`. One text stands for one lock: whoever pads a
line off the screen or spells letters as escapes has no valid lock. A definition is checked against its digest, so that
what is reviewed as a digest and what is reviewed as a text are one. Decides nothing about servers or plans.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from remit.config.file_set import FileSet
from remit.config.files import content_of
from remit.config.lock_entries import Fault, read_entries
from remit.config.lock_places import duplicate_key, line_of_path
from remit.core.definition import Definition
from remit.core.desired import ConfigFile
from remit.core.diagnostics import Diagnostic, Source
from remit.core.findings import FindingSeverity, find
from remit.core.lock import Lock, LockedTool, lock_name

__all__ = ["MAX_LOCK_BYTES", "VERSION", "LockFile", "findings_of", "lock_place", "lock_text", "read_lock"]

VERSION = 1
"""Of the file's format; a change that an older remit cannot read makes it 2."""

MAX_LOCK_BYTES = 128 * 1024 * 1024
"""5,000 tools of 2 kB for three assistants take 60 MB."""

_MOST_FAULTS = 20
_REFUSED = re.compile(rb"[^\n\r\x20-\x7e]")
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |$)", re.MULTILINE)
_AGAIN = "run `remit lock`, which writes it anew from the servers, and have its change reviewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """A lock as it was read. `findings` are the file's own notes by assistant, server and remote name.

    `misshapen` says where the text is not the one that remit writes for this lock; then it was not made by remit.
    """

    lock: Lock
    file: ConfigFile
    findings: Mapping[tuple[str, str, str], tuple[str, ...]]
    misshapen: Diagnostic | None = None


def lock_place(files: FileSet) -> Path:
    """Where the lock of a configuration lies: beside its main file, under its name."""
    return files.main.with_name(lock_name(files.main.stem, files.environment))


# --- writing -----------------------------------------------------------------------------------------------------------


def findings_of(definition: Definition) -> tuple[str, ...]:
    """The high findings on a definition as the notes that stand beside it: rule and place, never the text itself."""
    high = (each for each in find(definition) if each.severity is FindingSeverity.HIGH)
    return tuple(sorted({f"{each.rule} at {'.'.join(map(str, each.path))}" for each in high}))


def lock_text(lock: Lock, findings: Mapping[tuple[str, str, str], tuple[str, ...]] | None = None) -> str:
    """The one text of a lock, with its own notes or with these."""
    assistants: dict[str, dict[str, dict[str, Any]]] = {}
    for assistant, server, remote_name, tool in lock.tools():
        known = None if findings is None else findings.get((assistant, server, remote_name), ())
        notes = findings_of(tool.definition) if known is None else known
        assistants.setdefault(assistant, {}).setdefault(server, {})[remote_name] = _entry(tool, notes)
    document = {"version": VERSION, "environment": lock.environment, "assistants": assistants}
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True)
    # The one control character that JSON lets stand in a string as it is.
    return text.replace("\x7f", "\\u007f") + "\n"


def _entry(tool: LockedTool, findings: tuple[str, ...]) -> dict[str, Any]:
    definition = cast("dict[str, Any]", json.loads(tool.definition.text))
    description = definition["description"]
    return {
        "alias": tool.alias,
        "contract_digest": tool.definition.contract_digest,
        "definition": {**definition, "description": None if description is None else description.split("\n")},
        "definition_digest": tool.definition.definition_digest,
        "findings": list(findings),
    }


# --- reading -----------------------------------------------------------------------------------------------------------


def read_lock(path: Path, display: str, environment: str | None) -> LockFile | tuple[Diagnostic, ...] | None:
    """The lock of an environment (None: the one without a name), or what is wrong with the file; None where there is none."""
    content = content_of(path, display, limit=MAX_LOCK_BYTES)
    if isinstance(content, Diagnostic):
        return _unread(content, path)
    text = content.decode("latin-1").replace("\r\n", "\n")
    try:
        lock, findings = _read(content, text, environment)
    except _Broken as broken:
        return tuple(_diagnostics(broken, text, display))
    file = ConfigFile(path=display, sha256=hashlib.sha256(content).hexdigest())
    return LockFile(lock=lock, file=file, findings=findings, misshapen=_misshapen(lock, findings, text, display))


def _unread(why: Diagnostic, path: Path) -> tuple[Diagnostic, ...] | None:
    """What to say of a lock without content. A link that leads nowhere is a lock that was lost, not one that never was."""
    if why.code != "config-missing":
        return (replace(why, hint="check the file and its permissions, or bring it back from version control"),)
    if not os.path.lexists(path):
        return None
    lost = "this link leads to a file that is not there: the lock is lost"
    way = "bring back the file that it leads to; or delete the link and run `remit lock`"
    return (replace(why, code="config-unreadable", message=lost, hint=way),)


class _Broken(Exception):
    def __init__(self, *faults: Fault):
        super().__init__()
        self.faults = faults


def _diagnostics(broken: _Broken, text: str, display: str) -> Iterator[Diagnostic]:
    for fault in broken.faults[:_MOST_FAULTS]:
        line = fault.line or line_of_path(text, *fault.path)
        yield Diagnostic(
            code=fault.code,
            message=fault.message,
            address=fault.address,
            source=Source(display, line, 1),
            hint=fault.hint or _AGAIN,
        )


def _read(
    content: bytes, text: str, environment: str | None
) -> tuple[Lock, Mapping[tuple[str, str, str], tuple[str, ...]]]:
    if (strange := _REFUSED.search(content)) is not None:
        line = content.count(b"\n", 0, strange.start()) + 1
        message = f"the byte 0x{strange.group()[0]:02x} is not allowed in a lock: remit writes ASCII alone"
        raise _Broken(Fault(code="lock-not-ascii", message=message, line=line))
    if (conflict := _CONFLICT.search(text)) is not None:
        raise _Broken(
            Fault(
                code="lock-conflict",
                message="a merge left a conflict here",
                line=text.count("\n", 0, conflict.start()) + 1,
                hint="take either side whole (`git checkout --ours` or `--theirs`), then run `remit lock`: it writes what the "
                "merged file selects",
            )
        )
    try:
        entries = read_entries(_parsed(text), environment, VERSION)
    except RecursionError:
        raise _Broken(Fault(code="lock-syntax", message="it is nested too deeply to be a lock")) from None
    if entries.faults:
        raise _Broken(*entries.faults)
    return Lock(environment=environment, assistants=entries.assistants), entries.findings


class _DuplicateKeyError(ValueError):
    pass


def _parsed(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except _DuplicateKeyError:
        key, line = duplicate_key(text)
        raise _Broken(
            Fault(code="lock-duplicate-key", message=f"the key {key[:64]!a} stands here a second time", line=line)
        ) from None
    except json.JSONDecodeError as error:
        raise _Broken(Fault(code="lock-syntax", message=f"this is not JSON: {error.msg}", line=error.lineno)) from None
    except ValueError:
        raise _Broken(Fault(code="lock-syntax", message="it holds a number that JSON does not know")) from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _DuplicateKeyError
    return found


def _no_number(constant: str) -> object:
    raise ValueError(constant)


def _misshapen(
    lock: Lock, findings: Mapping[tuple[str, str, str], tuple[str, ...]], text: str, display: str
) -> Diagnostic | None:
    expected = lock_text(lock, findings)
    if text == expected:
        return None
    pairs = zip(text.split("\n"), expected.split("\n"), strict=False)
    line = next((number for number, (mine, theirs) in enumerate(pairs, start=1) if mine != theirs), 1)
    return Diagnostic(
        code="lock-misshapen",
        message="this is not how remit writes this lock: white space, order or escapes differ",
        source=Source(display, line, 1),
        hint=_AGAIN,
    )
