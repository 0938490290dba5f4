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


def constants() -> Mapping[str, str]:
    """Every text that the source gives an upper-case name to, at the top of a module."""
    return {
        name: text
        for source in sources_under("src/remit")
        for node in source.tree.body
        for name, text in [named_text(node)]
        if name.isupper()
    }


def named_text(node: ast.stmt) -> tuple[str, str]:
    """The name and the text of an assignment of a literal, two empty texts for any other statement."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
            return name, text
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text))):
            return name, text
        case _:
            return "", ""


def strings_in(node: ast.expr, named: Mapping[str, str]) -> Iterator[str]:
    """The texts that an expression can come out as: a literal, a constant's, or either side of a condition."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name) if name in named:
            yield named[name]
        case ast.IfExp(body=body, orelse=orelse):
            yield from strings_in(body, named)
            yield from strings_in(orelse, named)
        case _:
            return


def code_of(node: ast.AST) -> ast.expr | None:
    """The expression that stands for a code: `code=`, `default_code =`, or what comes first in `findings.add(code, ...)`."""
    match node:
        case ast.keyword(arg="code", value=value):
            return value
        case ast.AnnAssign(target=ast.Name(id="default_code"), value=value):
            return value
        case ast.Assign(targets=[ast.Name(id="default_code")], value=value):
            return value
        case ast.Call(func=ast.Attribute(attr="add"), args=[value, _, *_]):
            return value
        case _:
            return None


def codes_in(source: SourceFile, named: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Every code slug that a file writes down, with its place."""
    for node in ast.walk(source.tree):
        if (value := code_of(node)) is not None:
            yield from ((code, f"{source.path}:{value.lineno}") for code in strings_in(value, named))


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
    named = constants()
    used = [used for source in sources_under("src/remit") for used in codes_in(source, named)]
    assert sorted({f"{code} ({place})" for code, place in used if code not in explained}) == []
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


def test_codes_are_found_in_every_way_of_writing_them() -> None:
    text = """
GONE = "gone"
class Wrong:
    default_code: str = "annotated"
class Worse(Wrong):
    default_code = "plain"
Worse(code="keyword")
Worse(code=GONE)
Worse(code="either" if GONE else "or")
findings.add("first", source, "words")
names.add("no-code")
"""
    source = SourceFile(path="example.py", text=text, tree=ast.parse(text))
    found = {code for code, _ in codes_in(source, {"GONE": "gone"})}
    assert found == {"annotated", "plain", "keyword", "gone", "either", "or", "first"}
