"""The places that are looked at are those of the table, and nothing else is opened."""

from pathlib import Path

import pytest

from remit.config.dialects.places import Found, found_on, places_on
from remit.config.dialects.table import DIALECTS

ONE = '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}'


def put(path: Path, text: str = ONE) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_files_are_found_below_the_home_folder_and_the_working_folder(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    cursor = put(home / ".cursor/mcp.json")
    desktop = put(home / ".config/Claude/claude_desktop_config.json")
    broken = put(home / ".codex/config.toml", "[mcp_servers")
    put(folder / ".mcp.json")
    put(folder / ".vscode/mcp.json", '{"servers": {"c": {"command": "x"}},}')
    put(folder / ".gemini/settings.json", '{"theme": "dark"}')
    put(folder / "elsewhere/.mcp.json")
    assert found_on("linux", home, folder) == (
        Found(dialect="claude-code", path=Path(".mcp.json"), servers=2),
        Found(dialect="vscode", path=Path(".vscode/mcp.json"), servers=1),
        Found(dialect="claude-desktop", path=desktop, servers=2),
        Found(dialect="codex", path=broken, servers=None),
        Found(dialect="cursor", path=cursor, servers=2),
    )


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("linux", ".config/Claude/claude_desktop_config.json"),
    ],
)
def test_each_platform_has_its_own_place_for_settings(tmp_path: Path, platform: str, place: str) -> None:
    path = put(tmp_path / "home" / place)
    assert [each.path for each in found_on(platform, tmp_path / "home", tmp_path / "work")] == [path]


def test_a_link_that_leads_out_of_both_folders_is_not_followed(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    outside = put(tmp_path / "outside/mcp.json")
    inside = put(home / "dotfiles/mcp.json")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(outside)
    (folder / ".cursor").mkdir()
    (folder / ".cursor/mcp.json").symlink_to(inside)
    assert [each.path for each in found_on("linux", home, folder)] == [Path(".cursor/mcp.json")]


def test_a_file_that_is_in_both_folders_is_listed_once(tmp_path: Path) -> None:
    put(tmp_path / ".cursor/mcp.json")
    assert len(found_on("linux", tmp_path, tmp_path)) == 1


def test_every_place_belongs_to_a_dialect_and_lies_below_one_of_the_folders(tmp_path: Path) -> None:
    for platform in ("linux", "darwin", "win32", "other"):
        for dialect, path in places_on(platform, tmp_path / "home", tmp_path / "work"):
            assert dialect in DIALECTS
            assert ".." not in path.parts
            assert not path.is_absolute() or path.is_relative_to(tmp_path / "home")
