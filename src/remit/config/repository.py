"""Which repository, path and commit a configuration comes from, as git tells it.

Decides how a remote is named so that every way to clone it gives one name, and never a credential. Without git, or without a
remote called `origin`, nothing names a source. It asks git and reads no file itself.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from remit.core.binding import CommitAge

__all__ = ["Repository", "remote_name_of"]

_SECONDS = 5.0
_SCP = re.compile(r"(?:[^@/:\s]+@)?(?P<host>\[[^\]]+\]|[^/:\s]{2,}):(?P<path>(?!//).*)\Z")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


@dataclass(frozen=True, slots=True)
class Repository:
    """The checkout around a configuration's main file."""

    main: Path

    def source(self) -> str | None:
        """`HOST/PATH//FILE`: the remote `origin` and the main file's path in the repository; None where git names none."""
        folder = self.main.absolute().parent
        if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
            return None
        top, remote = self._answer("rev-parse", "--show-toplevel"), self._answer("config", "--get", "remote.origin.url")
        if top is None or remote is None:
            return None
        root, file = Path(top).resolve(), self.main.resolve()
        if not file.is_relative_to(root):
            return None
        return f"{remote_name_of(remote, root)}//{file.relative_to(root).as_posix()}"

    def age_against(self, applied: str | None) -> CommitAge:
        """How what is checked out stands to a commit applied before."""
        if applied is None or (head := self._answer("rev-parse", "HEAD")) is None or head == applied:
            return CommitAge.NOT_OLDER
        if not re.fullmatch(r"[0-9a-f]{7,64}", applied):
            return CommitAge.UNKNOWN
        match self._code("merge-base", "--is-ancestor", head, applied):
            case 0:
                return CommitAge.OLDER
            case 1:
                return CommitAge.NOT_OLDER
            case _:
                return CommitAge.UNKNOWN

    def _answer(self, *words: str) -> str | None:
        ended = self._git(words)
        return ended.stdout.strip() or None if ended is not None and ended.returncode == 0 else None

    def _code(self, *words: str) -> int | None:
        ended = self._git(words)
        return None if ended is None else ended.returncode

    def _git(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str] | None":
        # A folder of a branch may look like a bare repository, with a configuration of its own.
        where = ("-c", "safe.bareRepository=explicit", "-C", str(self.main.absolute().parent))
        try:
            return subprocess.run(  # noqa: S603 (fixed words, a folder and a commit of hex digits, no shell)
                ["git", *where, *words],  # noqa: S607 (the user's git is the one meant)
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None


def remote_name_of(remote: str, root: Path) -> str:
    """One name for a remote however it is written: host in lower case, path, no user, no password, no `.git`.

    `root` is where a remote that is a relative path starts.
    """
    if "://" in remote:
        parts = urlsplit(remote)
        host, path = _host(parts.netloc, parts.scheme), unquote(parts.path)
        return _without_suffix(path if parts.scheme == "file" else f"{host}/{path.lstrip('/')}")
    found = _SCP.match(remote)
    if found is not None:
        return _without_suffix(f"{found['host'].lower()}/{found['path'].lstrip('/')}")
    return _without_suffix((root / remote).resolve().as_posix())


def _host(authority: str, scheme: str) -> str:
    # Without urlsplit's own port: a remote with a wrong one is still a remote.
    place = authority.rpartition("@")[2].lower()
    return place.removesuffix(f":{_DEFAULT_PORTS.get(scheme)}")


def _without_suffix(name: str) -> str:
    return name.rstrip("/").removesuffix(".git").rstrip("/")
