"""`moved`, `removed` and `protect` as they are written: what is read, and what is said of entries that are wrong."""

import pytest

from remit.core.desired import Move, Removal
from remit.core.diagnostics import Source
from remit.core.subjects import AssistantSubject, EndpointSubject, ServerSubject, ToolSubject
from tests.config.reading import desired_of, findings_of

BASE = """\
version: 1
workspace: acme
mcp:
  servers:
    - {name: a, command: [a], protect: true}
assistants:
  - name: ops
    protect: false
    tools: [{server: a, include: ["find*"]}]
"""


def test_entries_are_read_with_their_places() -> None:
    desired = desired_of(
        BASE
        + """\
moved:
  - {from: tool.a/search, to: tool.a/find.all}
  - from: "HTTPS://Old.Example.com:443/mcp"
    to: server.a
removed:
  - assistant.old
  - {address: server.gone, keep: true}
"""
    )
    assert desired.moved == (
        Move(before=ToolSubject("a", "search"), after=ToolSubject("a", "find.all"), source=Source("mcp.yaml", 11, 5)),
        Move(
            before=EndpointSubject("https://old.example.com/mcp"),
            after=ServerSubject("a"),
            source=Source("mcp.yaml", 12, 5),
        ),
    )
    assert desired.removed == (
        Removal(subject=AssistantSubject("old"), source=Source("mcp.yaml", 15, 5)),
        Removal(subject=ServerSubject("gone"), source=Source("mcp.yaml", 16, 5), keep=True),
    )
    assert desired.servers[0].protect == Source("mcp.yaml", 5, 31)
    assert desired.assistants[0].protect is None


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("moved: [{from: sever.old, to: server.a}]\n", "invalid-address", 10),
        ("moved: [{from: server.old, to: a}]\n", "invalid-address", 10),
        ("moved: [{from: server.old}]\n", "missing-key", 10),
        ("moved: [server.old]\n", "wrong-type", 10),
        ("moved: [{from: server.old, to: server.lost}]\n", "moved-undeclared", 10),
        ("moved: [{from: assistant.ops, to: assistant.b}]\n", "moved-undeclared", 10),
        ("moved: [{from: tool.a/find, to: server.a}]\n", "moved-kinds", 10),
        ("moved:\n  - {from: server.x, to: server.a}\n  - {from: server.y, to: server.a}\n", "named-twice", 12),
        ("moved: [{from: server.a, to: server.a}]\n", "moved-chain", 10),
        ("removed: [server.a]\n", "removed-still-declared", 10),
        ("removed: [tool.a/find_it]\n", "removed-still-declared", 10),
        ("removed: [workspace.acme]\n", "removed-kind", 10),
        ("removed: [a]\n", "invalid-address", 10),
        ("removed: [{keep: true}]\n", "missing-key", 10),
        ("removed: [{address: server.x, keep: yes}]\n", "wrong-type", 10),
        ("removed: server.x\n", "wrong-type", 10),
    ],
)
def test_what_is_wrong_is_found_where_it_stands(text: str, code: str, line: int) -> None:
    found = [(each.code, each.source.line if each.source else None) for each in findings_of(BASE + text)]
    assert (code, line) in found


def test_a_credential_in_an_address_is_not_repeated() -> None:
    (found,) = findings_of(BASE + 'moved: [{from: "https://u:dummy-secret-value@old.example.com/", to: server.a}]\n')
    assert "dummy-secret-value" not in repr(found)
