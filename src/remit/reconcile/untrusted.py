"""Which servers a plan may ask on behalf of a branch that nobody reviewed: `plan --untrusted`.

Decides by one rule: nothing is run, read or sent that was not applied before (DESIGN.md section 7). A server may be asked
where its whole entry is the recorded one and where it stands on nothing that the branch carries: not its program, not a file
that a reference or TLS names, not its working directory. The database that says what was applied must itself lie where no
branch can put one. It starts and reads nothing; it looks where paths lead.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from remit.core.desired import (
    Auth,
    BearerAuth,
    ClientCredentialsAuth,
    Connection,
    Desired,
    DesiredServer,
    PrivateKeyJwtAuth,
)
from remit.core.identity import HttpEndpoint, StdioEndpoint
from remit.core.live import SkipReason
from remit.core.matching import Known, match_servers
from remit.core.recorded import Recorded, RecordedServer
from remit.core.references import EnvReference, FileReference, InvalidReference, Literal, Part, parse_references

__all__ = ["Checkout", "distrusted"]

_CHECKOUT_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where runners say that they checked the branch out; a repository is found without them."""

_HOME_VARIABLES = ("HOME", "XDG_CONFIG_HOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The folders that a branch can write: all that is in them may be its own. `roots` as written and as links lead."""

    roots: tuple[Path, ...]
    environ: Mapping[str, str] = field(repr=False)

    @classmethod
    def around(cls, folder: Path, environ: Mapping[str, str]) -> "Checkout":
        """The checkout that a folder is part of: the outermost repository around it, else the folder itself."""
        here = folder.absolute()
        repositories = [each for each in (here, *here.parents) if (each / ".git").exists()]
        told = [Path(environ[name]) for name in _CHECKOUT_VARIABLES if environ.get(name)]
        roots = [place for root in (*repositories[-1:], *told) or (here,) for place in _places(root)]
        return cls(roots=tuple(dict.fromkeys(roots)), environ=environ)

    def holds(self, path: Path) -> bool:
        """Whether a path is in the checkout, as it is written or where its symbolic links lead."""
        return any(each.is_relative_to(root) for each in _places(path) for root in self.roots)

    def leads_out(self, path: Path) -> bool:
        """Whether a path is in the checkout as it is written, and a symbolic link on it leads out."""
        written, resolved = _places(path)
        inside = any(self._is_in(each) for each in (written, written.parent.resolve() / written.name))
        return inside and not self._is_in(resolved)

    def _is_in(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)

    def is_named_in(self, text: str) -> bool:
        """Whether a text names a path in the checkout anywhere, such as `--config=/checkout/x`."""
        absolute = "\0" not in text and Path(text).is_absolute()
        return any(str(root) in text for root in self.roots) or (absolute and self.holds(Path(text)))

    def search_path(self) -> str:
        """PATH without the folders in the checkout, and without relative ones: no program is found there."""
        folders = [each for each in self.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()]
        return os.pathsep.join(each for each in folders if not self.holds(Path(each)))


def _places(path: Path) -> tuple[Path, Path]:
    written = Path(os.path.normpath(path.absolute()))
    try:
        return written, path.resolve()
    except (OSError, ValueError, RuntimeError):
        return written, written


def distrusted(
    desired: Desired, recorded: Recorded | None, base_dir: Path, checkout: Checkout
) -> Mapping[str, SkipReason]:
    """The declared servers that nobody may ask, and why. `recorded` is None where no trustworthy database is there."""
    if recorded is None:
        return {each.name: SkipReason.UNTRUSTED_DATABASE for each in desired.servers}
    applied = _applied(desired, recorded)
    judging = _Judging(base_dir, checkout)
    reasons: dict[str, SkipReason] = {}
    for server in desired.servers:
        registration = applied.get(server.name)
        if registration is None or not _is_same_entry(server, registration):
            reasons[server.name] = SkipReason.UNTRUSTED_ENTRY
        elif judging.stands_on_checkout(server):
            reasons[server.name] = SkipReason.UNTRUSTED_FILES
    return reasons


def _applied(desired: Desired, recorded: Recorded) -> Mapping[str, RecordedServer]:
    """Registrations by declared name, as this workspace applied them: `moved` claims others for a file that says so."""
    rows = {
        each.server_id: each
        for each in recorded.servers
        if each.workspace == desired.workspace and each.owner == desired.owner
    }
    matches = match_servers(desired, recorded).matches
    return {
        name: rows[match.registration.server_id]
        for name, match in matches.items()
        if isinstance(match, Known) and match.registration.server_id in rows
    }


def _is_same_entry(server: DesiredServer, registration: RecordedServer) -> bool:
    return (
        registration.enabled
        and server.endpoint == registration.endpoint
        and server.instance == registration.instance
        and server.connection == registration.connection
    )


@dataclass(frozen=True, slots=True)
class _Judging:
    base_dir: Path
    checkout: Checkout

    def stands_on_checkout(self, server: DesiredServer) -> bool:
        """Whether asking a server would run or read anything in the checkout."""
        connection = server.connection
        if any(self.checkout.holds(self.base_dir / path) for path in _files(server)):
            return True
        match server.endpoint:
            case StdioEndpoint(command=command, cwd=cwd):
                return self._runs_checkout(command, cwd, connection)
            case HttpEndpoint():
                return False
            case _:
                assert_never(server.endpoint)

    def _runs_checkout(self, command: Sequence[str], cwd: str | None, connection: Connection) -> bool:
        # A server without `cwd` is started in an empty folder instead of the checkout, so that no `npx`, `python -m` or
        # configuration file of the branch is found there. One that names a file of it could only fail.
        folder = self.base_dir if cwd is None else self.base_dir / self._text(cwd)
        if cwd is not None and self.checkout.holds(folder):
            return True
        words = [self._text(each) for each in command]
        if any(self.checkout.is_named_in(each) or self._is_a_file_of(folder, each) for each in words):
            return True
        inherited = (self.checkout.environ.get(name, "") for name in _HOME_VARIABLES)
        values = [*(self._text(each) for each in connection.env.values()), *inherited]
        return any(self.checkout.is_named_in(each) for each in values)

    def _is_a_file_of(self, folder: Path, word: str) -> bool:
        if not word or word.startswith("-") or "\0" in word:
            return False
        try:
            return (folder / word).exists() and self.checkout.holds(folder / word)
        except OSError:
            # A word too long for a name is a name of nothing.
            return False

    def _text(self, text: str) -> str:
        """A text with the values of its variables; what a file says is not needed to see where a path leads."""
        return "".join(self._part(part) for part in _parts(text))

    def _part(self, part: Part) -> str:
        match part:
            case Literal(text=text):
                return text
            case EnvReference(name=name, default=default):
                return self.checkout.environ.get(name) or default or ""
            case FileReference():
                return ""
            case _:
                assert_never(part)


def _files(server: DesiredServer) -> Iterator[str]:
    """The paths of the files that asking a server would read."""
    connection, tls = server.connection, server.connection.tls
    texts = [*connection.env.values(), *connection.headers.values(), *_auth_texts(connection.auth)]
    match server.endpoint:
        case StdioEndpoint(command=command, cwd=cwd):
            texts += [*command, cwd or ""]
        case HttpEndpoint(url=url):
            texts.append(url)
        case _:
            assert_never(server.endpoint)
    yield from (part.path for text in texts for part in _parts(text) if isinstance(part, FileReference))
    if tls is not None:
        yield from (path for path in (tls.ca_file, tls.client_cert, tls.client_key) if path is not None)


def _auth_texts(auth: Auth | None) -> tuple[str, ...]:
    match auth:
        case None:
            return ()
        case BearerAuth(token=token):
            return (token,)
        case ClientCredentialsAuth(token_url=url, client_id=client, client_secret=secret):
            return (url, client, secret)
        case PrivateKeyJwtAuth(token_url=url, client_id=client, private_key=key):
            return (url, client, key)
        case _:
            assert_never(auth)


def _parts(text: str) -> tuple[Part, ...]:
    try:
        return parse_references(text)
    except InvalidReference:
        return (Literal(text),)
