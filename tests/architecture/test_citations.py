"""What the source cites of the design can be looked up: docs/design.md has the section."""

import re
from collections.abc import Iterator
from itertools import chain

from tests.architecture.sources import ROOT

PAGE = ROOT / "docs" / "design.md"
PLACES = ("src", "tests", "docs", "bench", "examples")
KINDS = (".py", ".md", ".toml")
TOP = ("README.md", "CHANGELOG.md", "pyproject.toml")

# A citation may be broken over two lines, of a docstring or of comments.
NUMBERS = re.compile(r"[\s#]+sections?[\s#]+(\d+(?:(?:,|[\s#]+and)[\s#]+\d+)*)")
NAME = "DESIGN.md"


def sections_cited(text: str) -> list[int | None]:
    """Every number behind the design's name in a text; None where it is named without one."""
    cited: list[int | None] = []
    for found in re.finditer(re.escape(NAME), text):
        numbers = NUMBERS.match(text, found.end())
        cited += [None] if numbers is None else [int(number) for number in re.findall(r"\d+", numbers[1])]
    return cited


def citations() -> Iterator[tuple[str, int | None]]:
    """Every citation in the repository, with the file it stands in; the page itself and this file only talk about them."""
    below = chain.from_iterable((ROOT / place).rglob("*") for place in PLACES)
    files = sorted(path for path in below if path.suffix in KINDS and ".venv" not in path.parts)
    for path in (*files, *(ROOT / name for name in TOP)):
        if path != PAGE and path.name != "test_citations.py":
            for number in sections_cited(path.read_text("utf-8")):
                yield path.relative_to(ROOT).as_posix(), number


def test_every_cited_section_is_a_heading_of_the_design() -> None:
    headings = [int(number) for number in re.findall(r"^## (\d+)\. \S", PAGE.read_text("utf-8"), re.MULTILINE)]
    assert headings == list(range(1, len(headings) + 1))
    cited = list(citations())
    assert len(cited) > 40
    assert [(path, number) for path, number in cited if number not in headings] == []


def test_the_design_names_nothing_outside_the_repository() -> None:
    text = PAGE.read_text("utf-8")
    assert re.findall(r"reference/|design-documents|\.\./|/work/", text) == []


def test_a_citation_is_read_over_line_ends_and_with_several_numbers() -> None:
    text = "(DESIGN.md\nsection 5). # DESIGN.md section\n# 12; DESIGN.md sections 4 and 6: DESIGN.md sections 1, 2 and 3, 7."
    assert sections_cited(text) == [5, 12, 4, 6, 1, 2, 3, 7]
    assert sections_cited("see DESIGN.md, or DESIGN.md section x") == [None, None]
