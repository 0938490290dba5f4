"""The folders that a branch can write, and whether a path leads into or out of them.

A module of its own, as commands that plan nothing look where paths lead too. It opens nothing.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CHECKOUT_VARIABLES", "Checkout"]

CHECKOUT_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where runners say that they checked the branch out; a repository is found without them."""


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
        told = [Path(environ[name]) for name in CHECKOUT_VARIABLES if environ.get(name)]
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
