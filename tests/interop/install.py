"""The real servers, installed in a prefix of their own: `./run interop-setup`, or by the first test that needs one.

The prefix lies inside the environment that runs the tests (.venv/interop), apart from what remit itself needs, since the
servers may demand other versions. An installation is made once and used again while its stamp says that it is up to date;
a file lock keeps two test processes from making it twice. What cannot be had is a `Missing` with its reason; an installation
that fails for another reason than that (a version that does not exist, say) raises.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias, assert_never

__all__ = ["PREFIX", "VERSIONS", "InstallFailed", "Missing", "Registry", "obtain"]

PREFIX = Path(sys.prefix) / "interop"
SECONDS = 400
"""How long one command of an installation may take."""


class Registry(StrEnum):
    """Where a server is published."""

    NPM = "npm"
    PYPI = "pypi"


VERSIONS: Mapping[Registry, Mapping[str, str]] = {
    Registry(registry): pins
    for registry, pins in tomllib.loads(Path(__file__).with_name("versions.toml").read_text("utf-8")).items()
}
"""The one version of each package, by registry."""

NEEDED: Mapping[Registry, tuple[str, ...]] = {Registry.NPM: ("node", "npm"), Registry.PYPI: ()}
"""Programs without which nothing from a registry can be used."""

UNREACHABLE = re.compile(
    r"E(?:NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|HOSTUNREACH)|network (?:request|connectivity)"
    r"|NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Connection refused|connection broken|dns error"
    r"|error sending request",
    re.IGNORECASE,
)
"""How npm, pip and uv say that they did not get through."""

Command: TypeAlias = list[str]


@dataclass(frozen=True, slots=True)
class Missing:
    """Servers that cannot be had on this machine, and why; `without_node`: there is no node that could run them."""

    reason: str
    without_node: bool = False


class InstallFailed(Exception):
    """An installation failed although its registry answers; the text is what the installer said."""


def obtain(registry: Registry, prefix: Path = PREFIX, environ: Mapping[str, str] | None = None) -> Path | Missing:
    """The folder of a registry's servers, installed if need be. Raises InstallFailed."""
    environ = os.environ if environ is None else environ
    absent = [program for program in NEEDED[registry] if shutil.which(program, path=environ.get("PATH", "")) is None]
    if absent:
        return Missing(f"{' and '.join(absent)}: not on the PATH", without_node="node" in absent)
    prefix.mkdir(parents=True, exist_ok=True)
    folder, stamp = prefix / registry, prefix / f"{registry}.stamp"
    wanted = json.dumps({"made with": sys.version, "at": str(folder), "pins": dict(VERSIONS[registry])}, indent=1)
    with locked(prefix / f"{registry}.lock"):
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return folder
        # The stamp goes first and comes last: an installation that was cut short is never taken for a whole one.
        stamp.unlink(missing_ok=True)
        if (said := installed(registry, folder, environ)) is not None:
            return said
        stamp.write_text(wanted, "utf-8")
    return folder


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold a file's lock; it ends with the process that holds it, however that ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def installed(registry: Registry, folder: Path, environ: Mapping[str, str]) -> Missing | None:
    """Install into an empty folder; None when that worked. Raises InstallFailed."""
    shutil.rmtree(folder, ignore_errors=True)
    for command in commands(registry, folder, environ):
        ended = subprocess.run(
            command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if ended.returncode:
            said = ended.stdout + ended.stderr
            if UNREACHABLE.search(said):
                return Missing(f"the {registry} registry cannot be reached")
            raise InstallFailed(f"{' '.join(command)} exited {ended.returncode}\n{said}")
    return None


def commands(registry: Registry, folder: Path, environ: Mapping[str, str]) -> list[Command]:
    """What makes an installation, in order."""
    pins = VERSIONS[registry].items()
    match registry:
        case Registry.NPM:
            packages = [f"{name}@{version}" for name, version in pins]
            return [["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-save", *packages]]
        case Registry.PYPI:
            packages = [f"{name}=={version}" for name, version in pins]
            python = str(folder / "bin" / "python")
            # Where uv made the environment of the tests, Python's own venv and pip may be absent.
            if shutil.which("uv", path=environ.get("PATH", "")) is not None:
                return [
                    ["uv", "venv", "--quiet", "--python", sys.executable, str(folder)],
                    ["uv", "pip", "install", "--quiet", "--python", python, *packages],
                ]
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            return [[sys.executable, "-m", "venv", str(folder)], [*pip, *packages]]
        case _:
            assert_never(registry)


def main() -> int:
    """Install everything and say where it is; 1 where something cannot be had."""
    found = {registry: obtain(registry) for registry in Registry}
    for registry, folder in found.items():
        sys.stdout.write(f"{registry:5} {folder.reason if isinstance(folder, Missing) else folder}\n")
    return int(any(isinstance(folder, Missing) for folder in found.values()))


if __name__ == "__main__":
    sys.exit(main())
