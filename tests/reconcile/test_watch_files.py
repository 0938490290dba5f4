"""Files under watch: every way an editor has of saving, half-written files, lost and needless events (fault F17)."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path

import pytest

from remit.config.file_set import FileSet
from remit.config.loader import Loaded, LoadResult, Rejected, load
from remit.config.watched_files import WatchedFiles
from remit.errors import UsageError
from remit.reconcile.watch_files import FileEvents, FileWatch, file_events, no_events
from tests.reconcile.watching import PACE, SECONDS, in_a_loop

TEXT = "version: 1\nworkspace: {name}\nmcp:\n  servers:\n    - name: a\n      command: ['true']\n"


def text(name: str) -> str:
    return TEXT.replace("{name}", name)


class Reader:
    """A watch of files, and its readings one by one."""

    def __init__(
        self, folder: Path, *, events: FileEvents = file_events, environment: str | None = None, ticks: bool = True
    ):
        files = FileSet(main=folder / "mcp.yaml", environment=environment)
        self.watch = FileWatch(WatchedFiles(files), lambda: load(files), PACE, events=events, ticks=ticks)
        self.readings = self.watch.readings()

    async def __aenter__(self) -> "Reader":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.readings.aclose()

    async def result(self) -> LoadResult:
        async with asyncio.timeout(SECONDS):
            return await anext(self.readings)

    async def following(self) -> str:
        """The workspace of the next reading, or the codes of what is wrong with it."""
        match await self.result():
            case Loaded(desired=desired):
                return desired.workspace
            case Rejected(diagnostics=diagnostics):
                return " ".join(sorted({each.code for each in diagnostics}))


def by_rename(path: Path, new: str) -> None:
    partial = path.with_suffix(".swp")
    partial.write_text(new, "utf-8")
    partial.replace(path)


def by_backup(path: Path, new: str) -> None:
    path.rename(path.with_suffix(".bak"))
    path.write_text(new, "utf-8")


def in_place(path: Path, new: str) -> None:
    path.write_text(new, "utf-8")


def by_link(path: Path, new: str) -> None:
    """As Kubernetes mounts a ConfigMap: the file is a link whose target is exchanged."""
    target = path.with_name(f"target-{len(list(path.parent.iterdir()))}")
    target.write_text(new, "utf-8")
    link = path.with_name("link")
    link.symlink_to(target)
    link.replace(path)


@pytest.mark.parametrize("save", [by_rename, by_backup, in_place, by_link])
@pytest.mark.parametrize("events", [file_events, no_events], ids=["told", "fault_f17_no_event_arrives"])
def test_every_way_of_saving_is_one_new_reading(
    tmp_path: Path, save: Callable[[Path, str], None], events: FileEvents
) -> None:
    path = tmp_path / "mcp.yaml"

    @in_a_loop
    async def scenario() -> None:
        path.write_text(text("first"), "utf-8")
        async with Reader(tmp_path, events=events) as reader:
            assert await reader.following() == "first"
            save(path, text("second"))
            # A save in several steps may be read in between, but never as anything that nobody wrote.
            seen = [await reader.following()]
            while seen[-1] != "second":
                seen.append(await reader.following())
        assert set(seen) <= {"second", "config-missing"}

    scenario()


@in_a_loop
async def test_a_file_that_grows_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_text(text("first"), "utf-8")
    async with Reader(tmp_path) as reader:
        assert await reader.following() == "first"
        following = asyncio.ensure_future(reader.following())
        with path.open("w", encoding="utf-8") as handle:
            for character in text("second"):
                handle.write(character)
                handle.flush()
                await asyncio.sleep(0.002)
        assert await following == "second"


@in_a_loop
async def test_files_that_are_missing_empty_or_broken_are_told_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_text(text("first"), "utf-8")
    async with Reader(tmp_path) as reader:
        seen = [await reader.following()]
        for wrong in (None, "", "# nothing here\n", "mcp: ["):
            path.unlink() if wrong is None else path.write_text(wrong, "utf-8")
            seen.append(await reader.following())
            path.write_text(text("first"), "utf-8")
            seen.append(await reader.following())
    assert seen[::2] == ["first"] * 5
    assert seen[1::2] == ["config-missing", "empty-file", "empty-file", "yaml-syntax"]


@in_a_loop
async def test_fault_f17_needless_events_are_no_reading(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_text(text("first"), "utf-8")
    async with Reader(tmp_path, events=no_events) as reader:
        assert await reader.following() == "first"
        following = asyncio.ensure_future(reader.following())
        for number in range(100):
            (tmp_path / "other.txt").write_text(str(number), "utf-8")
            reader.watch.look()
            await asyncio.sleep(0)
        assert not following.done()
        by_rename(path, text("second"))
        assert await following == "second"


@in_a_loop
async def test_case_c26_files_below_an_include_count_edited_new_and_deleted(tmp_path: Path) -> None:
    (tmp_path / "servers").mkdir()
    part = "version: 1\nmcp:\n  servers:\n    - name: {}\n      command: ['{}']\n"
    (tmp_path / "mcp.yaml").write_text("version: 1\ninclude: ['servers/*.yaml']\n", "utf-8")
    (tmp_path / "servers" / "a.yaml").write_text(part.format("a", "a"), "utf-8")
    found: list[list[str]] = []
    async with Reader(tmp_path) as reader:

        async def names() -> None:
            result = await reader.result()
            assert isinstance(result, Loaded), result
            found.append([each.name for each in result.desired.servers])

        await names()
        by_rename(tmp_path / "servers" / "b.yaml", part.format("b", "b"))
        await names()
        (tmp_path / "servers" / "a.yaml").unlink()
        await names()
        by_rename(tmp_path / "servers" / "b.yaml", part.format("c", "c"))
        await names()
    assert found == [["a"], ["a", "b"], ["b"], ["c"]]


@in_a_loop
async def test_an_environment_that_never_was_is_a_usage_error_and_one_that_goes_is_told(tmp_path: Path) -> None:
    (tmp_path / "mcp.yaml").write_text(text("first"), "utf-8")
    async with Reader(tmp_path, environment="prod") as reader:
        with pytest.raises(UsageError):
            await reader.following()
    (tmp_path / "envs").mkdir()
    overlay = tmp_path / "envs" / "prod.yaml"
    overlay.write_text("version: 1\nworkspace: second\n", "utf-8")
    async with Reader(tmp_path, environment="prod") as reader:
        seen = [await reader.following()]
        overlay.unlink()
        seen.append(await reader.following())
        overlay.write_text("version: 1\nworkspace: third\n", "utf-8")
        seen.append(await reader.following())
    assert seen == ["second", "unknown-environment", "third"]


@in_a_loop
async def test_files_last_only_while_nobody_changes_them(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_text(text("first"), "utf-8")
    async with Reader(tmp_path, events=no_events) as reader:
        await reader.following()
        lasted = [await reader.watch.lasted()]
        by_rename(path, text("second"))
        lasted.append(await reader.watch.lasted())
        await reader.following()
        lasted.append(await reader.watch.lasted())
    assert lasted == [True, False, True]


@in_a_loop
async def test_events_of_the_file_system_are_heard_at_once(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_text(text("first"), "utf-8")
    async with Reader(tmp_path, ticks=False) as reader:
        seen = [await reader.following()]
        for name in ("second", "third"):
            following = asyncio.ensure_future(reader.following())
            # The first change may come before anybody listens, and nothing but an event tells of it here.
            while not following.done():
                by_rename(path, text(name))
                await asyncio.wait({following}, timeout=0.5)
            seen.append(await following)
    assert seen == ["first", "second", "third"]


@in_a_loop
async def test_events_that_cannot_be_had_are_told_and_the_files_are_looked_at_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(folders: Iterable[Path]) -> AsyncGenerator[None]:
        raise OSError("too many watches")
        yield

    path = tmp_path / "mcp.yaml"
    path.write_text(text("first"), "utf-8")
    async with Reader(tmp_path, events=broken) as reader:
        seen = [await reader.following()]
        by_rename(path, text("second"))
        seen.append(await reader.following())
    assert seen == ["first", "second"]
    assert "too many watches" in caplog.text
