"""Files that are written whole or not at all: a crash, a full disk or a second writer leaves the old one.

Decides how a file comes into being; its callers decide what is in it.
"""

import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from remit.errors import OutputUnwritable

__all__ = ["write_pieces", "write_whole", "writing"]


def write_whole(path: Path, text: str, *, mode: int = 0o600, replace: bool = True) -> None:
    """Write a file under another name, bring it to the disk, then give it its own. `mode` is subject to the umask.

    Raises OutputUnwritable, also where `replace` is false and somebody made the file meanwhile; then nothing was changed.
    """
    write_pieces(path, (text,), mode=mode, replace=replace)


def write_pieces(path: Path, pieces: Iterable[str], *, mode: int = 0o600, replace: bool = True) -> None:
    """The same for a text that is made while it is written. What making it raises leaves the old file, too."""
    # Two writers of one path must not share a name, or one publishes what the other is in the middle of.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with writing(path):
        _require_regular(path)
        partial.unlink(missing_ok=True)
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                partial.replace(path)
            else:
                os.link(partial, path)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Run a block that makes `path`. Raises OutputUnwritable for what the file system refuses."""
    try:
        yield
    except OSError as error:
        raise OutputUnwritable(
            f"the file cannot be written: {error.strerror or type(error).__name__}",
            place=str(path),
            hint="make room or name another path, then run the same command again; nothing else was changed",
        ) from error


def _require_regular(path: Path) -> None:
    # A rename onto /dev/null would replace the device by a file, for everybody on the machine.
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise OutputUnwritable("this is no regular file", place=str(path), hint="name a file")
