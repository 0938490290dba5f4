"""Several files of one workspace: which are read, how they become one, and what is refused."""

import contextlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.config.composing import MAX_FILES
from remit.config.file_set import FileSet
from remit.config.loader import Loaded, Rejected, load
from remit.core.desired import Desired
from remit.core.diagnostics import Severity, Source
from remit.core.identity import StdioEndpoint
from remit.errors import UsageError

MAIN = """\
version: 1
workspace: demo
include: [mcp.d/*.yaml]
mcp:
  servers:
    - name: first
      command: [a]
assistants:
  - name: ops
    tools:
      - {server: second, include: [x]}
"""


def part(server: str, assistant: str = "") -> str:
    text = f"version: 1\nmcp:\n  servers:\n    - name: {server}\n      command: [{server}]\n"
    return text + (f"assistants:\n  - name: {assistant}\n" if assistant else "")


def write(folder: Path, **files: str) -> None:
    """Write files by name: `mcp_d__a` is mcp.d/a.yaml."""
    for name, text in files.items():
        path = folder / (name.replace("mcp_d__", "mcp.d/").replace("envs__", "envs/") + ".yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


def found(folder: Path, *others: str, environment: str | None = None) -> list[str]:
    """The findings as `file:line:column code`, without a place for those that have none."""
    result = load(
        FileSet(main=folder / "mcp.yaml", others=tuple(folder / each for each in others), environment=environment)
    )
    diagnostics = result.warnings if isinstance(result, Loaded) else result.diagnostics
    return [f"{each.source or each.address} {each.code}".replace(f"{folder}/", "") for each in diagnostics]


def desired(folder: Path, *others: str) -> Desired:
    result = load(FileSet(main=folder / "mcp.yaml", others=tuple(folder / each for each in others)))
    assert isinstance(result, Loaded), result
    return result.desired


def test_included_files_add_to_the_lists_in_their_order_and_keep_their_places(tmp_path: Path) -> None:
    write(tmp_path, mcp=MAIN, mcp_d__b=part("third"), mcp_d__a=part("second", "audit"))
    read = desired(tmp_path)
    assert [each.name for each in read.servers] == ["first", "second", "third"]
    assert [each.name for each in read.assistants] == ["ops", "audit"]
    assert read.servers[1].source == Source(f"{tmp_path}/mcp.d/a.yaml", 4, 7)
    assert [each.path for each in read.files] == [
        f"{tmp_path}/{name}" for name in ("mcp.yaml", "mcp.d/a.yaml", "mcp.d/b.yaml")
    ]
    assert (read.workspace, read.contributors) == ("demo", ("mcp.d/a.yaml", "mcp.d/b.yaml", "mcp.yaml"))


def test_each_file_is_read_once_and_neither_hidden_ones_nor_overlays_nor_folders_are(tmp_path: Path) -> None:
    wide = MAIN.replace("[mcp.d/*.yaml]", '["**/*.yaml", mcp.d/a.yaml, mcp.d/./a.yaml]')
    write(tmp_path, mcp=wide, mcp_d__a=part("second"), envs__prod="version: 1\n")
    (tmp_path / "mcp.d" / ".a.yaml").write_text("half a fi", "utf-8")
    (tmp_path / "mcp.d" / "folder.yaml").mkdir()
    (tmp_path / "mcp.d" / "link.yaml").symlink_to("a.yaml")
    assert desired(tmp_path, "mcp.d/a.yaml", "mcp.yaml").contributors == ("mcp.d/a.yaml", "mcp.yaml")


def test_files_have_the_same_names_wherever_a_run_starts(tmp_path: Path) -> None:
    write(tmp_path, mcp=MAIN, mcp_d__a=part("second"), extra=part("third"))
    inside = FileSet(others=(Path("extra.yaml"),))
    outside = FileSet(main=Path(tmp_path.name) / "mcp.yaml", others=(tmp_path / "extra.yaml",))
    seen: set[tuple[str, ...]] = set()
    for folder, files in ((tmp_path, inside), (tmp_path.parent, outside)):
        with contextlib.chdir(folder):
            result = load(files)
        assert isinstance(result, Loaded)
        seen.add(result.desired.contributors)
    assert seen == {("extra.yaml", "mcp.d/a.yaml", "mcp.yaml")}


def test_a_second_file_of_the_command_line_is_as_if_included_wherever_it_lies(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    write(below, mcp=MAIN.replace("include: [mcp.d/*.yaml]\n", ""))
    write(tmp_path, other=part("second"))
    assert [each.name for each in desired(below, "../other.yaml").servers] == ["first", "second"]
    assert desired(below, "../other.yaml").contributors == ("../other.yaml", "mcp.yaml")


@pytest.mark.parametrize(
    ("include", "codes"),
    [
        ("[gone.yaml]", ["mcp.yaml:3:11 include-missing"]),
        ("['gone*.yaml']", ["mcp.yaml:3:11 include-unmatched"]),
        ("[/etc/hostname]", ["mcp.yaml:3:11 include-outside"]),
        ("[../x.yaml]", ["mcp.yaml:3:11 include-outside"]),
        ("['../*.yaml']", ["mcp.yaml:3:11 include-outside"]),
        ("[linked.yaml]", ["mcp.yaml:3:11 include-outside"]),
        ("['link*.yaml']", ["mcp.yaml:3:11 include-outside"]),
        ("['']", ["mcp.yaml:3:11 wrong-value"]),
        ("[mcp.d]", ["mcp.d config-unreadable"]),
        ('["a\\0b"]', ["mcp.yaml:3:11 include-outside", "mcp.yaml:3:11 unsafe-character"]),
        ("mcp.d", ["mcp.yaml:3:10 wrong-type"]),
        ("[a.yaml, a.yaml]", ["mcp.yaml:3:11 include-missing", "mcp.yaml:3:19 duplicate-item", "mcp.yaml:3:19 include-missing"]),
    ],
)  # fmt: skip
def test_an_include_that_leads_nowhere_or_away_is_found_at_its_place(
    tmp_path: Path, include: str, codes: list[str]
) -> None:
    folder = tmp_path / "config"
    (folder / "mcp.d").mkdir(parents=True)
    write(tmp_path, x=part("x"))
    (folder / "linked.yaml").symlink_to(tmp_path / "x.yaml")
    write(folder, mcp=MAIN.replace("[mcp.d/*.yaml]", include).replace("server: second", "server: first"))
    assert found(folder) == codes


def test_a_glob_that_matches_nothing_is_a_warning_and_a_name_that_does_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, mcp=MAIN.replace("server: second", "server: first"))
    result = load(tmp_path / "mcp.yaml")
    assert isinstance(result, Loaded)
    assert [each.severity for each in result.warnings] == [Severity.WARNING]
    write(tmp_path, mcp=MAIN.replace("mcp.d/*.yaml", "mcp.d/a.yaml"))
    assert isinstance(load(tmp_path / "mcp.yaml"), Rejected)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", ["mcp.d/a.yaml:1:1 empty-file"]),
        ("# nothing\n", ["mcp.d/a.yaml:1:1 empty-file"]),
        ("mcp: [\n", ["mcp.d/a.yaml:2:1 yaml-syntax"]),
        ("- a\n", ["mcp.d/a.yaml:1:1 wrong-type"]),
        ("mcp: {servers: []}\n", ["mcp.d/a.yaml:1:1 missing-key", "mcp.yaml:11:18 unknown-server"]),
        (part("second") + "include: [b.yaml]\n", ["mcp.d/a.yaml:6:1 unknown-key"]),
        (part("second") + "workspace: demo\n", ["mcp.d/a.yaml:6:1 key-in-two-files"]),
        (part("second") + "owner: x\n", []),
        ("<<<<<<< HEAD\n" + part("second") + "=======\n" + part("third") + ">>>>>>> b\n", ["mcp.d/a.yaml:2:8 yaml-syntax"]),
        (part("second") + "---\n" + part("third"), ["mcp.d/a.yaml:6:1 yaml-second-document"]),
        (part("First") + "assistants: [{name: OPS}]\n", [
            "mcp.d/a.yaml:4:13 duplicate-name", "mcp.d/a.yaml:4:13 namespace-needed",
            "mcp.d/a.yaml:6:21 duplicate-name", "mcp.yaml:11:18 unknown-server",
        ]),
    ],
)  # fmt: skip
def test_what_is_wrong_in_an_included_file_or_between_two_is_found_at_its_place(
    tmp_path: Path, text: str, codes: list[str]
) -> None:
    write(tmp_path, mcp=MAIN, mcp_d__a=text)
    assert found(tmp_path) == codes


def test_a_finding_between_two_files_names_both(tmp_path: Path) -> None:
    write(tmp_path, mcp=MAIN, mcp_d__a=part("first") + "workspace: other\n")
    result = load(tmp_path / "mcp.yaml")
    assert isinstance(result, Rejected)
    told = [each.message.replace(f"{tmp_path}/", "") for each in result.diagnostics]
    assert told[0] == "line 6 of mcp.yaml has a server `first` already; case does not count"
    assert "`workspace` is given in line 2 of mcp.yaml already" in told
    assert result.diagnostics[0].excerpt == "    - name: first"


def test_values_that_are_no_lists_stand_in_one_file_only(tmp_path: Path) -> None:
    more = (
        "version: 1\ntrace_days: 3\nreserved_names: [b]\n"
        "mcp:\n  default_envelope: {surface: locked}\n  servers: [{name: second, command: [b]}]\n"
    )
    write(tmp_path, mcp=MAIN + "trace_days: 3\nreserved_names: [a]\n", mcp_d__a=more)
    assert found(tmp_path) == ["mcp.d/a.yaml:2:1 key-in-two-files", "mcp.d/a.yaml:5:3 loose-default"]
    write(tmp_path, mcp=MAIN + "reserved_names: [a]\n")
    assert (desired(tmp_path).trace_days, desired(tmp_path).reserved_names) == (3, frozenset({"a", "b"}))


def test_without_one_of_its_files_there_is_no_configuration(tmp_path: Path) -> None:
    write(tmp_path, mcp=MAIN, mcp_d__a=part("second"))
    assert found(tmp_path, "gone.yaml") == ["gone.yaml config-missing"]
    if os.geteuid() != 0:
        (tmp_path / "mcp.d" / "a.yaml").chmod(0)
        assert found(tmp_path) == ["mcp.d/a.yaml config-unreadable"]


@pytest.mark.parametrize("name", [b"a\nb.yaml", b"\xff.yaml", b"\xe2\x80\xae.yaml", b"\x1b[2J.yaml"])
def test_a_file_whose_name_cannot_be_shown_is_not_read(tmp_path: Path, name: bytes) -> None:
    write(tmp_path, mcp=MAIN, mcp_d__a=part("second"))
    (tmp_path / "mcp.d" / os.fsdecode(name)).write_text(part("third"), "utf-8")
    assert found(tmp_path) == ["mcp.yaml:3:11 unsafe-character"]


def test_a_glob_over_a_whole_disk_ends(tmp_path: Path) -> None:
    (tmp_path / "mcp.d").mkdir()
    for number in range(MAX_FILES + 1):
        (tmp_path / "mcp.d" / f"{number}.yaml").touch()
    write(tmp_path, mcp=MAIN.replace("server: second", "server: first"))
    assert found(tmp_path) == ["mcp.yaml:3:11 config-too-large"]


def test_an_environment_without_an_overlay_is_refused_with_those_there_are(tmp_path: Path) -> None:
    write(tmp_path, mcp=MAIN)
    with pytest.raises(UsageError) as none:
        found(tmp_path, environment="prod")
    write(tmp_path, envs__prod="version: 1\n", envs__dev="version: 1\n", envs__NotOne="version: 1\n")
    with pytest.raises(UsageError) as near:
        found(tmp_path, environment="prd")
    with pytest.raises(UsageError):
        found(tmp_path, environment="../mcp")
    assert (none.value.code, none.value.exit_code) == ("unknown-environment", 64)
    assert str(none.value.hint).startswith("there is none yet; each is a file envs/NAME.yaml beside mcp.yaml")
    assert str(near.value.hint).startswith("did you mean 'prod'? the environments are: dev, prod;")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", ["envs/prod.yaml:1:1 empty-file"]),
        ("# version: 1\n", ["envs/prod.yaml:1:1 empty-file"]),
        ("mcp: {servers: [\n", ["envs/prod.yaml:2:1 yaml-syntax"]),
        ("- a\n", ["envs/prod.yaml:1:1 wrong-type"]),
    ],
)
def test_an_overlay_that_cannot_be_read_leaves_no_configuration(tmp_path: Path, text: str, codes: list[str]) -> None:
    write(tmp_path, mcp=MAIN.replace("second", "first"), mcp_d__a=part("second"), envs__prod=text)
    assert found(tmp_path, environment="prod") == codes


def test_an_overlay_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    (folder / "envs").mkdir(parents=True)
    write(folder, mcp=MAIN, mcp_d__a=part("second"))
    (tmp_path / "prod.yaml").write_text("version: 1\n", "utf-8")
    (folder / "envs" / "prod.yaml").symlink_to(tmp_path / "prod.yaml")
    assert found(folder, environment="prod") == ["envs/prod.yaml include-outside"]


SERVERS = ["a", "b", "c", "d"]


@given(st.lists(st.sampled_from(["mcp", "mcp_d__1", "mcp_d__2"]), min_size=4, max_size=4))
def test_it_means_nothing_how_entries_are_spread_over_files(homes: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for home in ("mcp", "mcp_d__1", "mcp_d__2"):
            own = [server for server, at in zip(SERVERS, homes, strict=True) if at == home]
            servers = "".join(f"    - {{name: {server}, command: [{server}]}}\n" for server in own)
            assistants = "".join(
                f"  - {{name: of_{server}, tools: [{{server: {server}, include: [x]}}]}}\n" for server in own
            )
            text = f"mcp:\n  servers:\n{servers}assistants:\n{assistants}" if own else ""
            write(
                folder, **{home: ("version: 1\ninclude: [mcp.d/*.yaml]\n" if home == "mcp" else "version: 1\n") + text}
            )
        read = desired(folder)
    assert {(each.name, each.endpoint) for each in read.servers} == {(name, StdioEndpoint((name,))) for name in SERVERS}
    selected = {(each.name, selection.server) for each in read.assistants for selection in each.selections}
    assert selected == {(f"of_{name}", name) for name in SERVERS}
