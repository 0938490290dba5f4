"""The source files that the rules of this folder judge, read once."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One Python file: its path from the repository's root, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def functions(self) -> Iterator[FunctionNode]:
        """Every function and method, nested ones included."""
        return (node for node in ast.walk(self.tree) if isinstance(node, FunctionNode))


@cache
def sources_under(folder: str) -> tuple[SourceFile, ...]:
    """Every Python file below a folder of the repository, sorted by path."""
    return tuple(
        SourceFile(path=path.relative_to(ROOT).as_posix(), text=text, tree=ast.parse(text))
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in [path.read_text("utf-8")]
    )
