"""Every finding of an import can be explained, and every explanation is one of a finding that exists."""

import ast

from remit.config.codes import CODES
from remit.config.import_codes import IMPORT_CODES
from tests.architecture.sources import sources_under

REPORTING = {"report", "_error", "_add", "add"}


def codes_written() -> set[str]:
    """The first texts in calls that report, in the modules of the dialects."""
    calls = [node for source in sources_under("src/remit/config/dialects") for node in ast.walk(source.tree)]
    found: set[str] = set()
    for node in calls:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(code)), *_]):
                found |= {code} if name in REPORTING else set()
            case ast.Call(func=ast.Call(), args=[ast.Constant(value=str(code)), *_]):
                found.add(code)
            case _:
                continue
    return found


def test_every_code_of_an_import_is_explained() -> None:
    written = codes_written()
    assert len(written) > 40
    assert written - set(CODES) == set()


def test_every_explained_code_of_an_import_is_used() -> None:
    assert set(IMPORT_CODES) - codes_written() == set()
