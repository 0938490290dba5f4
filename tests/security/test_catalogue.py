"""Every number of the hostile-input catalogue that is about something remit does has a test that is really there."""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.architecture.sources import sources_under
from tests.security.catalogue import COVERED, NOT_IN_SCOPE

ROOT = Path(__file__).parents[2]
NUMBERS = frozenset(range(1, 87))
PAGE = ROOT / "docs" / "security.md"
TEST_ID = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)(?:\[([^\]`]+)\])?`")


@cache
def written() -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
    """By file: the names of its tests, and every text in it (a parameter's name is one of them)."""
    return {
        source.path: (
            frozenset(each.name for each in source.functions if each.name.startswith("test_")),
            frozenset(
                node.value
                for node in ast.walk(source.tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ),
        )
        for source in sources_under("tests")
    }


def numbered() -> frozenset[int]:
    """The numbers that names of tests carry: `test_input_22_23_a_listing...` carries two."""
    found: set[int] = set()
    for names, _ in written().values():
        for name in names:
            if match := re.match(r"test_input_((?:\d\d_)+)", name):
                found.update(int(number) for number in match[1].split("_") if number)
    return frozenset(found)


def missing(identity: str) -> str | None:
    """What of a test's id is not there, or None."""
    match = TEST_ID.fullmatch(f"`{identity}`")
    if match is None:
        return f"{identity} is no id of a test"
    path, name, parameter = match.groups()
    if path not in written():
        return f"{path} is not there"
    names, texts = written()[path]
    if name not in names:
        return f"{path} has no {name}"
    return f"{path} has no {parameter!r}" if parameter and parameter not in texts else None


def test_every_number_is_tested_or_says_what_it_waits_for() -> None:
    assert NUMBERS - numbered() - COVERED.keys() - NOT_IN_SCOPE.keys() == set()


def test_what_waits_is_tested_nowhere_yet() -> None:
    assert NOT_IN_SCOPE.keys() & (numbered() | COVERED.keys()) == set()


def test_every_test_that_stands_for_a_number_is_there() -> None:
    assert [problem for ids in COVERED.values() for identity in ids if (problem := missing(identity))] == []


def test_the_page_about_security_names_tests_that_are_there() -> None:
    named = ["".join(match) for match in re.findall(r"`(tests/[\w/]+\.py::[^`]+)`", PAGE.read_text("utf-8"))]
    assert len(named) > 50
    assert [problem for identity in named if (problem := missing(identity))] == []


def test_an_id_of_a_test_that_is_not_there_is_told() -> None:
    here = "tests/security/test_catalogue.py"
    assert [
        missing(f"{here}::test_no_such_test"),
        missing("tests/none.py::test_a"),
        missing(f"{here}::test_an_id_of_a_test_that_is_not_there_is_told"),
        missing("tests/config/test_findings.py::test_a_bad_file_is_refused_at_the_exact_place[no such parameter]"),
        missing("test_a"),
    ] == [
        f"{here} has no test_no_such_test",
        "tests/none.py is not there",
        None,
        "tests/config/test_findings.py has no 'no such parameter'",
        "test_a is no id of a test",
    ]
