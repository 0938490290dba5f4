"""Which servers a plan may ask on behalf of a branch that nobody reviewed: `plan --untrusted`.

Decides by one rule: nothing is run, read or sent that was not applied before (DESIGN.md section 7). A server may be asked
where its whole entry is the recorded one and where it stands on nothing that the branch carries: not its program, not a file
that a reference or TLS names, not its working directory. The database that says what was applied must itself lie where no
branch can put one. It starts and reads nothing; it looks where paths lead.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from remit.reconcile.checkout import Checkout

__all__ = ["distrusted"]

_HOME_VARIABLES = ("HOME", "XDG_CONFIG_HOME")


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
