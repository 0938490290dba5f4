"""What a command really starts: the program behind a wrapper, the package behind a runner, the server behind a bridge.

Decides from the words of a command alone whether a package has an exact version, and how the remote form of a stdio bridge
(mcp-remote) would read. Looks nothing up.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

__all__ = ["SHELL_FLAGS", "Bridge", "Package", "bridge_of", "package_of", "program_of", "words_of_line"]

_VALUED: Mapping[str, frozenset[str]] = {
    "npx": frozenset({"--registry", "--cache", "--userconfig", "--node-options", "-c", "--call", "--prefix"}),
    "uvx": frozenset(
        {"--with", "--with-editable", "--python", "-p", "--index-url", "--index", "--extra-index-url", "--default-index", "-i",
         "--directory", "--project", "--env-file", "--constraint", "--cache-dir", "--refresh-package"}
    ),
    "docker": frozenset(
        {"-e", "--env", "-v", "--volume", "--mount", "--name", "-p", "--publish", "--network", "--net", "-w", "--workdir",
         "-u", "--user", "--env-file", "--entrypoint", "--platform", "-l", "--label", "--add-host", "-m", "--memory", "--cpus",
         "--pull", "--device", "--cap-add", "--cap-drop", "--security-opt", "--tmpfs", "--hostname", "-h", "--gpus", "--ulimit"}
    ),
}  # fmt: skip
"""Options of runners that are followed by a value, which is no package."""

_SOURCE_OPTIONS: Mapping[str, frozenset[str]] = {
    "npx": frozenset({"-p", "--package"}),
    "uvx": frozenset({"--from", "--spec"}),
    "docker": frozenset[str](),
}
"""Options whose value is the package, instead of the first word."""

_RUNNERS: Mapping[tuple[str, ...], str] = {
    ("npx",): "npx", ("bunx",): "npx", ("pnpx",): "npx", ("bun", "x"): "npx", ("pnpm", "dlx"): "npx", ("yarn", "dlx"): "npx",
    ("npm", "exec"): "npx", ("uvx",): "uvx", ("uv", "tool", "run"): "uvx", ("pipx", "run"): "uvx",
    ("docker", "run"): "docker", ("podman", "run"): "docker", ("nerdctl", "run"): "docker",
}  # fmt: skip
"""How package runners are called, and which options each takes."""

_EXACT = re.compile(r".+(?:@|==)v?[0-9]+\.[0-9]+(?:\.[0-9]+)*(?:[-+.]?[0-9A-Za-z][0-9A-Za-z.+-]*)?\Z")
_COMMIT = re.compile(r".*@[0-9a-f]{40}(?:#.*)?\Z")
_IMAGE = re.compile(r".+(?:@sha256:[0-9a-f]{64}|:v?[0-9]+\.[0-9]+[0-9A-Za-z._-]*)\Z")
_LOCAL = re.compile(r"(?:\.{0,2}/|~|[A-Za-z]:\\|file:|\.)")
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "cmd", "powershell", "pwsh"})
SHELL_FLAGS = frozenset({"-c", "-lc", "-ic", "-lic", "/c", "/C", "-Command", "-command"})
"""What stands before a line for a shell."""

_STARTERS = (
    _SHELLS | {called[0] for called in _RUNNERS} | {"node", "python", "python3", "deno", "java", "dotnet", "go", "ruby"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What a runner fetches, as written, and whether that is one exact version."""

    source: str
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """A stdio program that only passes messages on to `url`. `transport` is its own word, `headers` are `Name: value`."""

    url: str
    headers: tuple[tuple[str, str], ...]
    transport: str | None
    ignored: tuple[str, ...]
    package: Package
    whole: bool
    """False where the bridge was told something that a direct connection could not do."""


def program_of(command: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The command behind a wrapper, and what kind of wrapper that is: `shell`, `secrets` (op run, doppler run) or None."""
    name = _name(command[0])
    if name in _SHELLS and len(command) > 2 and command[1] in SHELL_FLAGS:
        words = _words(command[2]) if len(command) == 3 else command[2:]
        return (tuple(words) or tuple(command)), "shell"
    if name in {"op", "doppler", "infisical", "teller", "dotenvx"} and "--" in command[1:]:
        return tuple(command[list(command).index("--") + 1 :]) or tuple(command), "secrets"
    if name == "env":
        rest = [word for word in command[1:] if "=" not in word and not word.startswith("-")]
        start = list(command).index(rest[0]) if rest else 0
        return tuple(command[start:]), None
    return tuple(command), None


def words_of_line(text: str) -> list[str] | None:
    """The words of a program that is a whole command line, or None where it is one program, spaces in its path or not."""
    words = _words(text) if "\\" not in text else text.split()
    flag = next((index for index, word in enumerate(words) if index and word.startswith("-")), None)
    if len(words) < 2 or (flag is None and _name(words[0]) not in _STARTERS):
        return None
    # `/opt/My App/bin/x --flag`: where a path ends cannot be told.
    before = words[1 : len(words) if flag is None else flag]
    return None if re.search(r"[/\\]", words[0]) and any(re.search(r"[/\\]", word) for word in before) else words


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def package_of(command: Sequence[str]) -> Package | None:
    """The package that a runner would fetch, or None where the command starts something that is there already."""
    parts = _runner(command)
    if parts is None:
        return None
    runner, words = parts
    source = next(_sources(runner, words), None)
    if source is None or _LOCAL.match(source):
        return None
    exact = _IMAGE.match(source) if runner == "docker" else _EXACT.match(source) or _COMMIT.match(source)
    if "://" in source and not _COMMIT.match(source):
        exact = None
    return Package(source=source, exact=exact is not None)


def bridge_of(command: Sequence[str]) -> Bridge | None:
    """The remote server behind `mcp-remote`, or None where the command is no such bridge."""
    parts = _runner(command)
    words = parts[1] if parts else list(command)
    at = next((index for index, word in enumerate(words) if _bridge_name(word)), None)
    if at is None or any(not word.startswith("-") for word in words[:at]):
        return None
    options, rest = _bridge_options(words[at + 1 :])
    url = next((word for word in rest if "://" in word), None)
    if url is None:
        return None
    headers = [value.partition(":") for name, value in options if name == "--header"]
    return Bridge(
        url=url,
        headers=tuple((name.strip(), value.strip()) for name, _, value in headers),
        transport=next((value for name, value in options if name == "--transport"), None),
        ignored=tuple(value for name, value in options if name == "--ignore-tool"),
        package=package_of(command) or Package(source=words[at], exact=bool(_EXACT.match(words[at]))),
        whole=all(name in _CARRIED for name, _ in options),
    )


_BRIDGE_VALUED = frozenset(
    {
        "--header", "--transport", "--host", "--auth-timeout", "--static-oauth-client-metadata", "--resource",
        "--static-oauth-client-info", "--ignore-tool", "--callback-port",
    }
)  # fmt: skip
_CARRIED = frozenset(
    {"--header", "--transport", "--host", "--auth-timeout", "--ignore-tool", "--allow-http", "--debug", "--silent",
     "--callback-port", "--enable-proxy"}
)  # fmt: skip


def _bridge_name(word: str) -> bool:
    return _name(re.sub(r"@[^/]*\Z", "", word)) == "mcp-remote"


def _bridge_options(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The options behind the bridge's name, each with its value, and the words that belong to none."""
    options: list[tuple[str, str]] = []
    rest: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            rest.append(word)
        elif name in _BRIDGE_VALUED and not equals:
            options.append((name, waiting.pop() if waiting else ""))
        else:
            options.append((name, value))
    return options, rest


def _name(program: str) -> str:
    path = PureWindowsPath(program) if "\\" in program else PurePosixPath(program)
    return re.sub(r"\.(?:exe|cmd|bat|ps1)\Z", "", path.name, flags=re.IGNORECASE)


def _runner(command: Sequence[str]) -> tuple[str, list[str]] | None:
    """The family of a runner and the words behind its name."""
    first = (_name(command[0]), *command[1:3])
    for called, runner in _RUNNERS.items():
        if first[: len(called)] == called:
            return runner, list(command[len(called) :])
    return None


def _sources(runner: str, words: Sequence[str]) -> Iterator[str]:
    """What could be the package, the surest first: the value of an option that says so, else the first word of its own."""
    valued, named = _VALUED[runner], _SOURCE_OPTIONS[runner]
    plain: list[str] = []
    waiting = list(reversed(words))
    while waiting and not plain:
        word = waiting.pop()
        option, equals, value = word.partition("=")
        if option in named:
            yield value if equals else (waiting.pop() if waiting else "")
        elif option in valued and not equals and waiting:
            waiting.pop()
        elif not word.startswith("-"):
            plain.append(word)
    yield from plain
