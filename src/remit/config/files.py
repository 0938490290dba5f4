"""The bytes of a configuration file as text, or why not.

Decides which files are read at all (regular, at most 8 MiB, UTF-8, no character that YAML or an editor would see
differently) before any parser sees them. It does not know YAML.
"""

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from remit.config.findings import Findings
from remit.core.desired import ConfigFile
from remit.core.diagnostics import Diagnostic, Source
from remit.render.escape import escape_character

__all__ = ["MAX_BYTES", "FileText", "content_of", "read_file"]

MAX_BYTES = 8 * 1024 * 1024
"""5,000 selections take 1 MB; parsers get slow long before they get angry."""

_BOM = b"\xef\xbb\xbf"
_UTF_16_32 = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_REFUSED = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""What YAML 1.2 does not call printable, and the three line ends (NEL, LS, PS) that libyaml counts and editors do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """A file's text without a byte order mark, the path it is shown under, and the hash of its bytes."""

    file: ConfigFile
    text: str


def read_file(path: Path, display: str) -> FileText | tuple[Diagnostic, ...]:
    """The text of one file, or the findings that say why it has none. Follows symlinks; never blocks on a pipe."""
    content = content_of(path, display)
    if isinstance(content, Diagnostic):
        return (content,)
    text = _decoded(content, display)
    if isinstance(text, Diagnostic):
        return (text,)
    findings = Findings({display: text})
    _check_characters(text, display, findings)
    if findings.rejecting:
        return findings.diagnostics()
    return FileText(file=ConfigFile(path=display, sha256=hashlib.sha256(content).hexdigest()), text=text)


def content_of(path: Path, display: str, *, limit: int = MAX_BYTES) -> bytes | Diagnostic:
    """The bytes of a regular file of at most `limit` bytes, or why it has none (`config-missing` where there is no file)."""
    try:
        # Opening a named pipe would wait for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return Diagnostic(
            code="config-missing",
            message="there is no such file",
            address=display,
            hint="`remit init` writes a starter; `-f FILE` names another file",
        )
    except (OSError, ValueError) as error:
        return _unreadable(display, error)
    try:
        return _read(descriptor, display, limit)
    except OSError as error:
        return _unreadable(display, error)
    finally:
        os.close(descriptor)


def _read(descriptor: int, display: str, limit: int) -> bytes | Diagnostic:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        return Diagnostic(
            code="config-unreadable", message="this is not a regular file", address=display, hint="name a file"
        )
    with os.fdopen(descriptor, "rb", closefd=False) as stream:
        content = stream.read(limit + 1)
    after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        # Half of the old file and half of the new one can be valid YAML that asks for detaches.
        return Diagnostic(
            code="config-unreadable",
            message="the file was written to while it was read",
            address=display,
            hint="run the command again when the editor is done",
        )
    if len(content) > limit:
        return Diagnostic(
            code="config-too-large", message=f"the file is larger than {limit // 1024 // 1024} MiB", address=display
        )
    return content


def _unreadable(display: str, error: OSError | ValueError) -> Diagnostic:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "the path cannot be opened"
    return Diagnostic(
        code="config-unreadable",
        message=f"the file cannot be read: {reason}",
        address=display,
        hint="`remit init` writes a starter; check the path and its permissions",
    )


def _decoded(content: bytes, display: str) -> str | Diagnostic:
    if content.startswith(_UTF_16_32):
        return _not_utf8("the file is UTF-16 or UTF-32", Source(display, 1, 1))
    body = content.removeprefix(_BOM)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        before = body[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        column = len(before.rpartition(b"\n")[2].decode("utf-8")) + 1
        return _not_utf8("a byte here is not UTF-8", Source(display, before.count(b"\n") + 1, column))


def _not_utf8(message: str, source: Source) -> Diagnostic:
    return Diagnostic(code="config-encoding", message=message, source=source, hint="save the file as UTF-8")


def _check_characters(text: str, display: str, findings: Findings) -> None:
    for match in _REFUSED.finditer(text):
        before = text[: match.start()].replace("\r\n", "\n").replace("\r", "\n")
        source = Source(display, before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
        message = f"the character {escape_character(match.group())} is not allowed in the file"
        findings.add("config-encoding", source, message, hint="delete it")
        # One is enough: a binary file has thousands, and each would cost a pass over what stands before it.
        return
