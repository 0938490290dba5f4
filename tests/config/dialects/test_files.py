"""JSON with comments, TOML and YAML of other tools: positions, and mistakes that are told without a value."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.config.dialects.importing import import_files
from remit.config.dialects.json_nodes import parse_json
from remit.config.dialects.table import DIALECTS
from remit.config.findings import Findings
from remit.config.nodes import ListNode, MapNode, Node, Scalar
from tests.config.dialects.support import findings, imported


def plain(node: Node | None) -> object:
    """A tree as Python values, scalars as their text with whether they stand in quotes."""
    match node:
        case Scalar():
            return (node.text, not node.plain)
        case MapNode():
            return {key: plain(entry.value) for key, entry in node.entries.items()}
        case ListNode():
            return [plain(item) for item in node.items]
        case _:
            return None


def test_comments_and_trailing_commas_are_no_part_of_the_tree() -> None:
    text = '// a\n{"a": /* b */ [1, true, null, "//c",], // d\n "e": {},}\n/* f */'
    assert plain(parse_json(text, "f", Findings({}))) == {
        "a": [("1", False), ("true", False), ("null", False), ("//c", True)],
        "e": {},
    }


def test_a_place_is_a_line_and_a_column_whatever_the_line_ends_are() -> None:
    for end in ("\n", "\r\n", "\r"):
        root = parse_json(f'{{{end}  "a": "x",{end}  "b": [{end} -1e3]{end}}}', "f", Findings({}))
        assert isinstance(root, MapNode)
        listed = root.node("b")
        assert isinstance(listed, ListNode)
        assert (root.entries["b"].key.source.line, root.entries["b"].key.source.column) == (3, 3)
        assert (listed.items[0].source.line, listed.items[0].source.column) == (4, 2)


BROKEN = {
    "": 1,
    "{": 1,
    '{"a" 1}': 1,
    '{"a": 1\n "b": 2}': 2,
    '{"a": "dummy\n"}': 1,
    '{"a": "\\x"}': 1,
    '{"a": "\\ud800"}': 1,
    "{a: 1}": 1,
    "[1, 2": 1,
    "[01]": 1,
    "[,]": 1,
    "{} {}": 1,
    "[1] /* open": 1,
    "[" * 100: 1,
}


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_no_json_is_told_with_its_line(text: str) -> None:
    found = Findings({})
    assert parse_json(text, "f", found) is None
    [finding] = found.diagnostics()
    assert (finding.code, finding.source and finding.source.line) == ("json-syntax", BROKEN[text])
    assert "dummy" not in repr(finding)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab\\"\n/*', max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.sampled_from([None, 2]))
def test_every_json_document_is_read_as_it_is_meant(value: object, indent: int | None) -> None:
    import json

    def expected(each: object) -> object:
        if isinstance(each, dict):
            return {key: expected(inner) for key, inner in each.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if isinstance(each, list):
            return [expected(inner) for inner in each]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return (each, True) if isinstance(each, str) else (json.dumps(each), False)

    found = Findings({})
    assert plain(parse_json(json.dumps(value, indent=indent), "f", found)) == expected(value)
    assert found.diagnostics() == ()


TOML = """\
# [mcp_servers.off]
[mcp_servers.a]
command = "x"
[mcp_servers.a.env]
TOKEN = "dummy-secret-value"
[mcp_servers."b c"]
url = "https://b.example.com"
enabled = "yes"
"""


def test_toml_findings_stand_where_the_key_does(tmp_path: Path) -> None:
    assert findings(imported(tmp_path, "config.toml", TOML)) == [
        ("warning inline-secret", 5, "a"),
        ("error not-a-boolean", 8, "b c"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            TOML + '[mcp_servers.a]\ncommand = "y"\n',
            [("duplicate-key", 9, "`a` is given twice, in line 2 and in line 9")],
        ),
        (
            TOML.replace('url = "https', 'enabled = true\nurl = "https'),
            [("duplicate-key", 9, "`enabled` is given twice, in line 7 and in line 9")],
        ),
        ("[mcp_servers.a]\ntoken = dummy-secret-value\n", [("toml-syntax", 2, "this is not valid TOML")]),
        ("[mcp_servers.a\n", [("toml-syntax", 1, "this is not valid TOML")]),
    ],
)
def test_broken_toml_is_refused_whole_and_quotes_nothing(
    tmp_path: Path, text: str, expected: list[tuple[str, int, str]]
) -> None:
    found = imported(tmp_path, "config.toml", text)
    assert found.servers == ()
    shown = [(each.code, each.source.line if each.source else 0, each.message) for each in found.diagnostics]
    assert shown == expected
    assert "dummy" not in repr(found)


def test_yaml_with_a_key_twice_or_a_merge_is_refused_whole(tmp_path: Path) -> None:
    text = "mcp_servers:\n  a: &x {command: y, command: z}\n  b: *x\n"
    found = imported(tmp_path, "litellm.yaml", text)
    assert (found.servers, [code for code, _, _ in findings(found)]) == (
        (),
        ["error yaml-anchor", "error duplicate-key", "error yaml-alias"],
    )


def test_a_file_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(b"\xff\xfe{\x00}\x00")
    assert [each.code for each in import_files([path]).diagnostics] == ["config-encoding"]


def test_servers_of_single_folders_are_counted_where_they_are_left_out(tmp_path: Path) -> None:
    table = {"mcpServers": {"a": {"command": "x"}}}
    text = json.dumps({"projects": {"/a": table, "/b": table, "/c": {}}})
    for kept in (text, text.replace("{", '{"mcpServers": {}, ', 1)):
        found = imported(tmp_path, ".claude.json", kept)
        assert (found.servers, found.failed) == ((), False)
        assert [(each.code, each.message) for each in found.diagnostics] == [
            ("no-servers", "the file has no server"),
            ("not-carried-over", "`projects`: 2 that a single folder has were left out"),
        ]


@pytest.mark.parametrize("named", ["vscode", "zed", "codex", "opencode"])
def test_a_file_of_another_client_than_the_named_one_is_told(tmp_path: Path, named: str) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"mcpServers": {"a": {"command": "x"}}}', "utf-8")
    [finding] = import_files([path], dialect=DIALECTS[named]).diagnostics
    assert (finding.code, finding.message, finding.hint) == (
        "no-servers",
        f"the file has no server where {named} has them; it has `mcpServers`, as claude-code writes it",
        "leave --dialect out",
    )


def test_a_file_without_a_server_is_told_beside_one_that_has_some(tmp_path: Path) -> None:
    paths = [tmp_path / "empty.json", tmp_path / "full.json"]
    paths[0].write_text('{"mcpServers": {}}', "utf-8")
    paths[1].write_text('{"mcpServers": {"a": {"command": "x"}}}', "utf-8")
    found = import_files(paths)
    assert [(each.code, Path(each.source.file).name) for each in found.diagnostics if each.source] == [
        ("no-servers", "empty.json")
    ]
