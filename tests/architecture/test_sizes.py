"""Sizes and names over src/remit: what keeps a file readable in one sitting (the budget of docs/architecture.md)."""

import ast
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from tests.architecture.sources import FunctionNode, SourceFile, sources_under

FILE_CAP = 500
BODY_MEDIAN = 8
BODY_95TH = 30
BODY_CAP = 60
PUBLIC_NAMES_CAP = 12

MANY_NAMES: Mapping[str, str] = {
    "src/remit/core/call_ports.py": "the journal's closed union of answers, and the shapes that go in",
    "src/remit/config/shapes.py": "the closed union of shapes that a value in mcp.yaml may have",
    "src/remit/core/desired.py": "one value type for each part of mcp.yaml",
    "src/remit/core/envelope.py": "the closed sets of values of a policy, and what is done with whole ones",
    "src/remit/core/gatekeeper.py": "the closed unions of contracts and decisions around one function",
    "src/remit/core/identity.py": "the four names of a tool and the closed union of endpoints",
    "src/remit/core/live.py": "the closed union of observations with its closed sets of reasons",
    "src/remit/core/operations.py": "the closed union of operations",
    "src/remit/render/shapes.py": "the closed objects of the plan document, one type each",
    "src/remit/errors.py": "the one error tree",
    "src/remit/store/audit_bodies.py": "one body for each kind of audit event",
}
"""Modules with more than PUBLIC_NAMES_CAP public names, and why splitting them would hide something."""

SCRIPTS: Mapping[str, str] = {"src/remit/store/migrations/": "alembic runs these files by path; nobody imports them"}
"""Folders whose files are no modules, and why; they need no `__all__`."""

BANNED_WORDS = frozenset({"manager", "helper", "helpers", "utils", "common", "misc", "data", "info", "current"})
"""Words that say nothing about the thing they name."""

NAMES_OF_OTHERS: Mapping[str, str] = {"server_info": "the protocol's own name for what a server calls itself"}
"""Names that we did not choose, and whose they are."""

SOURCES = sources_under("src/remit")


def body_lines(function: FunctionNode) -> int:
    """Lines of a function's body without its docstring; 0 for a stub, which has nothing to read."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if not body or all(ast.unparse(node) == "..." for node in body):
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


def bodies() -> Iterator[tuple[str, int]]:
    """Every function that is no stub, as `path:line name`, with the lines of its body."""
    for source in SOURCES:
        for function in source.functions:
            if lines := body_lines(function):
                yield f"{source.path}:{function.lineno} {function.name}", lines


def declared_all(source: SourceFile) -> list[str] | None:
    """What a module's `__all__` lists, or None where there is none that can be read without running it."""
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names)):
                return [name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)]
            case _:
                continue
    return None


def public_names(source: SourceFile) -> set[str]:
    """What a module offers: its `__all__`, and every function and class without an underscore."""
    definitions = (node for node in source.tree.body if isinstance(node, FunctionNode | ast.ClassDef))
    return {node.name for node in definitions if not node.name.startswith("_")} | set(declared_all(source) or ())


def is_module(source: SourceFile) -> bool:
    """Whether a file is there to be imported by name."""
    package_file = PurePosixPath(source.path).name in {"__init__.py", "__main__.py"}
    return not package_file and not source.path.startswith(tuple(SCRIPTS))


def dunder_all_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by name: the order that ruff's RUF022 writes."""
    return (0 if name.isupper() else 1 if name.lstrip("_")[:1].isupper() else 2), name


def words_of(name: str) -> set[str]:
    """The words in a snake_case or CamelCase name, lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z0-9])|[A-Z]?[a-z0-9]+", name)}


def chosen_names(source: SourceFile) -> Iterator[tuple[int, str]]:
    """Names that the file's author chose, with their lines: the file's, and of functions, classes and parameters."""
    yield 1, PurePosixPath(source.path).stem
    for node in ast.walk(source.tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case _:
                continue


def test_no_file_is_longer_than_one_sitting() -> None:
    lengths = {source.path: len(source.text.splitlines()) for source in SOURCES}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_CAP} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    assert [(name, lines) for name, lines in bodies() if lines > BODY_CAP] == []


def test_nineteen_of_twenty_functions_are_short() -> None:
    ranked = sorted(bodies(), key=lambda one: -one[1])
    longest = [one for one in ranked if one[1] > BODY_95TH]
    assert len(longest) <= len(ranked) * 0.05, longest


def test_the_usual_function_is_a_few_lines() -> None:
    assert statistics.median(lines for _, lines in bodies()) <= BODY_MEDIAN


def test_a_module_offers_few_names_or_says_why_not() -> None:
    crowded = {source.path for source in SOURCES if len(public_names(source)) > PUBLIC_NAMES_CAP}
    assert crowded - set(MANY_NAMES) == set()


def test_every_reason_for_many_names_is_still_needed() -> None:
    crowded = {source.path for source in SOURCES if len(public_names(source)) > PUBLIC_NAMES_CAP}
    assert set(MANY_NAMES) - crowded == set()


def test_every_module_lists_its_public_names_in_order() -> None:
    listed = {source.path: declared_all(source) for source in SOURCES if is_module(source)}
    unordered = [
        path for path, names in listed.items() if names is None or names != sorted(names, key=dunder_all_order)
    ]
    assert unordered == []


def test_every_file_says_what_it_is_for() -> None:
    assert [source.path for source in SOURCES if ast.get_docstring(source.tree) is None] == []


def test_no_name_uses_a_word_that_says_nothing() -> None:
    empty_words = [
        f"{source.path}:{line} {name}"
        for source in SOURCES
        for line, name in chosen_names(source)
        if words_of(name) & BANNED_WORDS and name not in NAMES_OF_OTHERS
    ]
    assert empty_words == []


def test_words_are_found_in_both_spellings() -> None:
    assert words_of("ServerInfoV2") == {"server", "info", "v2"}
    assert words_of("HTTPDataStore") == {"http", "data", "store"}
    assert words_of("_last_current_of") == {"last", "current", "of"}
    assert words_of("database_information") == {"database", "information"}
