"""What `remit init` writes holds as it stands, and after a newcomer's first edit."""

from remit.config.starter import starter_text, workspace_from
from tests.config.reading import desired_of, findings_of


def test_the_untouched_starter_holds_and_asks_for_nothing() -> None:
    text = starter_text("Acme Ops")
    desired = desired_of(text)
    assert (desired.workspace, desired.servers, desired.assistants) == ("acme-ops", (), ())
    assert [(each.code, each.hint) for each in findings_of(text)] == [
        ("no-servers", "delete the `# ` before the example in this file, or add one under `mcp.servers`")
    ]
    assert [each.hint for each in findings_of("version: 1\n")] == ["add one under `mcp.servers`"]


def test_the_starter_with_its_example_uncommented_holds_without_a_warning() -> None:
    head, marker, example = starter_text("acme").partition('Delete the "# "')
    lines = example.split("\n")[1:]
    text = head + marker + "\n" + "\n".join(line.removeprefix("# ").removeprefix("#") for line in lines)
    desired = desired_of(text)
    assert findings_of(text) == ()
    assert [server.name for server in desired.servers] == ["time", "tickets"]
    assert [selection.server for selection in desired.assistants[0].selections] == ["time"]


def test_editors_of_both_families_find_the_schema() -> None:
    first, second, *_ = starter_text("acme", schema="s.json").split("\n")
    assert (first, second) == ("# yaml-language-server: $schema=s.json", "# $schema: s.json")


def test_any_folder_gives_a_workspace_name_that_holds() -> None:
    folders = ["acme", "Acme Ops", "--x--", "日本", "", "_a", "a" * 200, "1.2"]
    names = [workspace_from(folder) for folder in folders]
    assert names == ["acme", "acme-ops", "x", "default", "default", "a", "a" * 64, "1-2"]
    assert {desired_of(starter_text(folder)).workspace for folder in folders} == set(names)
