"""Files that cannot be taken as text are refused with the reason, at once."""

import os
import tempfile
from pathlib import Path

import pytest

from remit.config.files import MAX_BYTES
from remit.config.loader import Loaded, Rejected, load
from remit.core.diagnostics import Diagnostic
from tests.ordinary_user import ordinary_user


def refused(path: Path) -> list[tuple[str, int, int]]:
    result = load(path, display="f")
    assert isinstance(result, Rejected)
    places = [(0, 0) if each.source is None else (each.source.line, each.source.column) for each in result.diagnostics]
    return [(each.code, *place) for each, place in zip(result.diagnostics, places, strict=True)]


def test_a_missing_file_is_refused_with_the_way_to_a_first_one(tmp_path: Path) -> None:
    assert load(tmp_path / "mcp.yaml", display="mcp.yaml") == Rejected(
        diagnostics=(
            Diagnostic(
                code="config-missing",
                message="there is no such file",
                address="mcp.yaml",
                hint="`remit init` writes a starter; `-f FILE` names another file",
            ),
        )
    )


def test_a_folder_a_pipe_and_an_impossible_path_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    paths = (tmp_path, pipe, tmp_path / "a\0b", tmp_path / ("x" * 5000))
    assert [refused(path) for path in paths] == [[("config-unreadable", 0, 0)]] * 4


def test_a_file_without_permission_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mcp.yaml")
        path.write_text("version: 1\n")
        Path(folder).chmod(0o755)
        for mode, outcome in ((0o644, Loaded), (0, Rejected)):
            path.chmod(mode)
            with ordinary_user():
                result = load(path, display="f")
            assert isinstance(result, outcome)
    assert result == Rejected(
        diagnostics=(
            Diagnostic(
                code="config-unreadable",
                message="the file cannot be read: Permission denied",
                address="f",
                hint="`remit init` writes a starter; check the path and its permissions",
            ),
        )
    )


def test_a_file_over_the_cap_is_refused_before_a_parser_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_bytes(b"version: 1\nx: " + b"y" * MAX_BYTES)
    assert refused(path) == [("config-too-large", 0, 0)]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("version: 1\n".encode("utf-16"), (1, 1)),
        (b"version: 1\nowner: \xe4\n", (2, 8)),
        ("é: 1\r\nü: ".encode() + b"\xff", (2, 4)),
        (b"version: 1\nowner: a\0b\n", (2, 9)),
        (b"version: 1\r\nowner: a\x1bb\r\n", (2, 9)),
        ("version: 1\n# a\u2028owner: b\n".encode(), (2, 4)),
        ("version: 1\nowner: \ufeffb\n".encode(), (2, 8)),
    ],
)
def test_what_is_not_clean_utf8_is_refused_at_its_place(tmp_path: Path, content: bytes, place: tuple[int, int]) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_bytes(content)
    assert refused(path) == [("config-encoding", *place)]


def test_a_symlink_is_followed_and_relative_paths_start_where_it_lies(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "mcp.yaml").write_text("version: 1\n")
    (tmp_path / "mcp.yaml").symlink_to(real / "mcp.yaml")
    result = load(tmp_path / "mcp.yaml")
    assert isinstance(result, Loaded)
    assert (result.base_dir, result.desired.files[0].path) == (tmp_path, str(tmp_path / "mcp.yaml"))
