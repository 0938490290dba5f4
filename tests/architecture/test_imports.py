"""Rules about what the code may reach for that the import linter cannot see: codes with no explanation, fakes by patching.

The layers themselves are contracts in pyproject.toml, checked by `./run lint`.
"""

import ast
import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import cast

import remit
from remit.core.codes import Explanation
from remit.core.plan import SAFEGUARD_CODES
from tests.architecture.sources import SourceFile, sources_under

ROOT_CODE = "error"
"""The default code of the error tree's root, which nobody raises."""


def explanations() -> Iterator[tuple[str, Mapping[str, Explanation]]]:
    """Every table of explained codes, with the name of the module that holds it."""
    for package in pkgutil.iter_modules(remit.__path__):
        name = f"remit.{package.name}.codes"
        if package.ispkg and find_spec(name) is not None:
            module = importlib.import_module(name)
            for table in ("CODES", "PLAN_CODES"):
                if hasattr(module, table):
                    yield name, cast("Mapping[str, Explanation]", getattr(module, table))


def strings_in(node: ast.expr) -> Iterator[str]:
    """The string literals that an expression can come out as: itself, or either side of a condition."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from strings_in(body)
            yield from strings_in(orelse)
        case _:
            return


def codes_in(source: SourceFile) -> Iterator[tuple[str, str]]:
    """Every code slug that a file writes down as `code=` or `default_code`, with its place."""
    for node in ast.walk(source.tree):
        match node:
            case ast.keyword(arg="code", value=value):
                codes = strings_in(value)
            case ast.AnnAssign(target=ast.Name(id="default_code"), value=ast.expr() as value):
                codes = strings_in(value)
            case ast.Assign(targets=[ast.Name(id="default_code")], value=value):
                codes = strings_in(value)
            case _:
                continue
        yield from ((code, f"{source.path}:{node.lineno}") for code in codes)


def imported_names(source: SourceFile) -> Iterator[tuple[int, str]]:
    """Every name that a file imports, dotted from the top, with its line."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((node.lineno, f"{module}.{name.name}") for name in names)
            case ast.Attribute(value=ast.Name(id=module), attr=attribute):
                yield node.lineno, f"{module}.{attribute}"
            case _:
                continue


def test_every_code_in_the_source_can_be_explained() -> None:
    explained = {code for _, table in explanations() for code in table} | {ROOT_CODE}
    used = [(code, place) for source in sources_under("src/remit") for code, place in codes_in(source)]
    assert [one for one in used if one[0] not in explained] == []
    assert SAFEGUARD_CODES - explained == set()


def test_every_code_has_one_explanation() -> None:
    counted = Counter(code for _, table in explanations() for code in table)
    assert [code for code, times in counted.items() if times > 1] == []


def test_no_test_patches_or_sleeps() -> None:
    banned = ("unittest.mock", "mock", "pytest_mock", "time.sleep")
    found = [
        f"{source.path}:{line} {name}"
        for source in sources_under("tests")
        if PurePosixPath(source.path).name.startswith(("test_", "conftest"))
        for line, name in imported_names(source)
        if any(name == word or name.startswith(f"{word}.") for word in banned)
    ]
    assert found == []
