"""Faults F14, F17 and F18 and inputs 82, 84, 85, 86: full and broken disks, files half written, odd texts in the database."""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import event

from remit.config.loader import Loaded, Rejected, load
from remit.core.live import Unreachable, UnreachableReason
from remit.core.operations import Detach
from remit.errors import DatabaseUnusable, OutputUnwritable
from remit.reconcile.whole_file import write_pieces, write_whole
from remit.store.sqlite import SqliteFile
from remit.store.store import DatabaseStore
from tests.cli.workspace import Workspace, clean_environment, tool
from tests.faults.processes import ROOT, SECONDS, start_remit, until, waited
from tests.faults.world import AFTER, BEFORE, LISTED_AFTER, LISTED_BEFORE, Here, held, incoherences, new_id
from tests.ordinary_user import ordinary_user
from tests.states import NOW, listed

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a, b]
"""


@pytest.fixture
def demo(here: Workspace) -> Workspace:
    """Two tools attached, and a file that asks for another one in place of the second."""
    here.serve("issues", tool("a"), tool("b"), tool("c"))
    here.write(CONFIG)
    assert here.apply().code == 0
    here.write(CONFIG.replace("[a, b]", "[a, c]"))
    return here


def database(here: Workspace) -> Path:
    return here.folder / ".remit" / "remit.db"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def tree(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file below a folder with its mode and the start of its content's hash."""
    return {
        name: ((folder / name).stat().st_mode, sha256(content).hexdigest()[:12])
        for name, content in contents(folder).items()
    }


# --- F14: a full disk ---------------------------------------------------------------------------------------------------------


def limited(here: Here, pages: int) -> DatabaseStore:
    """A store on a disk that holds so many pages."""
    file = SqliteFile(here.path)

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(file.writer, "connect", limit)
    return DatabaseStore(file, new_id=new_id, clock=lambda: NOW)


def test_fault_f14_whatever_room_there_is_an_apply_is_done_whole_or_not_at_all(tmp_path: Path) -> None:
    template = Here(tmp_path / "template")
    template.folder.mkdir()
    template.create().apply(template.plan(BEFORE, LISTED_BEFORE))
    before, size = template.recorded(), template.path.stat().st_size // 4096
    accept = held(template.plan(AFTER, LISTED_AFTER))
    outcomes: list[str] = []
    for spare in range(12):
        here = Here(tmp_path / str(spare))
        shutil.copytree(template.folder, here.folder)
        planned = here.plan(AFTER, LISTED_AFTER, accept=accept)
        try:
            here.apply(planned, store=limited(here, size + spare))
        except DatabaseUnusable as refused:
            outcomes.append(refused.code)
            assert (here.recorded(), incoherences(here)) == (before, [])
            here.apply(planned)
        else:
            outcomes.append("done")
        assert here.plan(AFTER, LISTED_AFTER).report.plan.operations == ()
    assert (outcomes[0], outcomes[-1], outcomes) == ("database-full", "done", sorted(outcomes))


WITHOUT_ROOM = """
import resource, sys
from remit.cli.main import run
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(run(sys.argv[2:]))
"""


def without_room(folder: Path, room: int, *arguments: str) -> tuple[int, str]:
    """Run remit in a process that may write no file beyond `room` bytes; its exit code and stderr."""
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOM, str(room), *arguments],
        cwd=folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.returncode, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 8192, 30_000])
def test_fault_f14_an_apply_without_room_for_its_files_changes_nothing_and_says_so(demo: Workspace, room: int) -> None:
    content = database(demo).read_bytes()
    code, err = without_room(demo.folder, room, "apply", "--auto-approve")
    assert (code, any(word in err for word in ("database-full", "database-io"))) == (1, True), err
    assert demo.plan().done == {"attach": 1, "detach": 1, "unchanged": 1}
    assert (demo.run("apply", "--auto-approve").code, demo.plan().done) == (0, {"unchanged": 2})
    assert content


@pytest.mark.slow
def test_fault_f14_a_plan_that_does_not_fit_leaves_the_one_before_and_nothing_half(demo: Workspace) -> None:
    assert demo.run("plan", "--out", "p.json").code == 0
    before = tree(demo.folder)
    code, err = without_room(demo.folder, 1000, "plan", "--out", "p.json")
    assert (code, "output-unwritable" in err, tree(demo.folder)) == (1, True, before), err


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 1000, 20_000, 100_000])
def test_fault_f14_an_init_without_room_can_be_run_again_when_there_is_some(tmp_path: Path, room: int) -> None:
    here = Workspace(tmp_path)
    code, err = without_room(tmp_path, room, "init")
    assert (code, any(word in err for word in ("output-unwritable", "database-full", "database-io"))) == (1, True), err
    half = [name for name in tree(tmp_path) if name.endswith((".partial", ".new", ".yaml", ".db"))]
    assert half == []
    assert (here.run("init").code, here.run("plan").code) == (0, 0)


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_that_cannot_be_written_whole_is_an_error_and_leaves_nothing(tmp_path: Path, replace: bool) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "nowhere" / "file", Path("/dev/null")):
        with pytest.raises(OutputUnwritable):
            write_whole(path, "text", replace=replace)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_text_that_fails_while_it_is_made_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "half of it\n" * 100_000
        raise DatabaseUnusable("gone")

    (tmp_path / "audit.jsonl").write_text("old", "utf-8")
    with pytest.raises(DatabaseUnusable):
        write_pieces(tmp_path / "audit.jsonl", pieces())
    assert contents(tmp_path) == {"audit.jsonl": b"old"}


def test_a_file_that_somebody_made_meanwhile_is_not_overwritten_where_that_was_asked(tmp_path: Path) -> None:
    (tmp_path / "mcp.yaml").write_text("theirs", "utf-8")
    with pytest.raises(OutputUnwritable):
        write_whole(tmp_path / "mcp.yaml", "ours", replace=False)
    write_whole(tmp_path / "p.json", "first")
    write_whole(tmp_path / "p.json", "second")
    assert contents(tmp_path) == {"mcp.yaml": b"theirs", "p.json": b"second"}


# --- input 82: databases that are none -----------------------------------------------------------------------------------------


def older(path: Path) -> None:
    """The database as a schema before all that are known had it: alembic's table is there, and nothing in it."""
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM alembic_version")
    connection.commit()
    connection.close()


def newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()


def damaged(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


BROKEN: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "0-byte": (lambda path: path.write_bytes(b""), "database-empty"),
    "half-a-header": (lambda path: path.write_bytes(path.read_bytes()[:10]), "database-not-sqlite"),
    "cut-off": (lambda path: path.write_bytes(path.read_bytes()[:8192]), "database-corrupt"),
    "damaged-pages": (damaged, "database-corrupt"),
    "a-text-file": (lambda path: path.write_text("version: 1\n"), "database-not-sqlite"),
    "newer": (newer, "database-newer"),
    "older": (older, "database-older"),
    "world-writable": (lambda path: path.chmod(0o666), "database-exposed"),
    "in-a-world-writable-folder": (lambda path: path.parent.chmod(0o777), "database-exposed"),
    "a-folder": (lambda path: (path.unlink(), path.mkdir()), "database-not-sqlite"),
    "foreign": (
        lambda path: (path.unlink(), sqlite3.connect(path).execute("CREATE TABLE songs (name)"), path.chmod(0o600)),
        "database-foreign",
    ),
}


@pytest.mark.parametrize(
    ("breaking", "code"), [pytest.param(breaking, code, id=name) for name, (breaking, code) in BROKEN.items()]
)
def test_input_82_a_database_that_cannot_be_used_is_refused_by_every_command_and_never_recreated(
    demo: Workspace, breaking: Callable[[Path], object], code: str
) -> None:
    breaking(database(demo))
    before = tree(demo.folder)
    commands = [("plan",), ("status",), ("apply", "--auto-approve"), ("apply", "--auto-approve", "--create-db")]
    if code != "database-older":
        commands.append(("db", "upgrade"))
    for arguments in commands:
        ended = demo.run(*arguments)
        assert (ended.code, ended.out, f"error {code}: " in ended.err) == (1, "", True), (arguments, ended)
    assert tree(demo.folder) == before


def test_input_82_a_read_only_database_is_planned_against_and_not_applied_to(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # pytest's folders are closed to others, and root is held back by nothing.
    folder = Path("/tmp") / f"remit-read-only-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        here = Here(folder).create()
        here.apply(here.plan(BEFORE, LISTED_BEFORE))
        here.path.chmod(0o444)
        folder.chmod(0o555)
        before = tree(folder)
        with ordinary_user():
            planned = here.plan(AFTER, LISTED_AFTER)
            with pytest.raises(DatabaseUnusable) as refused:
                here.apply(planned)
        assert (refused.value.code, tree(folder)) == ("database-read-only", before)
        assert planned.report.plan.operations != ()
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


# --- input 84: halves ------------------------------------------------------------------------------------------------------------


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("DELETE FROM assistant_functions WHERE name = 'issues__search'", id="provenance-without-function"),
        pytest.param(
            "UPDATE assistant_functions SET document = '{}' WHERE name = 'issues__search'", id="another-function"
        ),
        pytest.param(
            "UPDATE assistant_mcp_tools SET definition = replace(definition, 'Finds', 'Loses') WHERE remote_name = 'search'",
            id="another-definition",
        ),
    ],
)
def test_input_84_halves_are_found_by_a_plan_and_mended_by_an_apply_alone(tmp_path: Path, damage: str) -> None:
    here = Here(tmp_path).create()
    here.apply(here.plan(BEFORE, LISTED_BEFORE))
    execute(here.path, damage)
    content = here.path.read_bytes()
    found = here.plan(BEFORE, LISTED_BEFORE)
    assert (incoherences(here) != [], here.path.read_bytes() == content) == (True, True)
    shown = [each.reason for each in found.report.plan.operations] + [each.code for each in found.report.plan.problems]
    assert any("database" in word for word in map(str, shown)), shown
    here.apply(found)
    assert incoherences(here) == []
    assert here.plan(BEFORE, LISTED_BEFORE).report.plan.operations == ()


def test_input_84_a_function_that_was_cut_loose_is_foreign_and_keeps_its_name_until_somebody_takes_it_away(
    tmp_path: Path,
) -> None:
    """It may be a developer's by now, so remit does not take it; the apply fails for that assistant and says for whom."""
    here = Here(tmp_path).create()
    here.apply(here.plan(BEFORE, LISTED_BEFORE))
    execute(here.path, "UPDATE assistant_functions SET attachment_id = NULL WHERE name = 'issues__search'")
    before = here.recorded()
    failures = here.apply(here.plan(BEFORE, LISTED_BEFORE)).failures
    assert [(each.assistant, "taken by a foreign function" in each.message) for each in failures] == [("ops", True)]
    assert (here.recorded().assistants, here.recorded().attachments) == (before.assistants, before.attachments)
    execute(here.path, "DELETE FROM assistant_functions WHERE attachment_id IS NULL")
    assert here.apply(here.plan(BEFORE, LISTED_BEFORE)).failures == ()
    assert (incoherences(here), here.plan(BEFORE, LISTED_BEFORE).report.plan.operations) == ([], ())


def test_input_84_a_function_that_nobody_attached_is_counted_kept_and_never_taken_for_ours(tmp_path: Path) -> None:
    here = Here(tmp_path).create()
    here.apply(here.plan(BEFORE, LISTED_BEFORE))
    execute(
        here.path,
        "INSERT INTO assistant_functions (assistant_id, folded_name, name, document)"
        " SELECT id, 'shell', 'shell', '{\"type\":\"function\"}' FROM assistants WHERE name = 'ops'",
    )
    plan = here.plan(BEFORE, LISTED_BEFORE).report.plan
    assert (plan.operations, plan.unmanaged.functions) == ((), 1)
    here.apply(here.plan(AFTER, LISTED_AFTER, accept=held(here.plan(AFTER, LISTED_AFTER))))
    assert {each.name: each.foreign_functions for each in here.recorded().assistants}["ops"] == ("shell",)


# --- input 85: secrets ------------------------------------------------------------------------------------------------------------


CANARY = "dummy-secret-value-85"


def test_input_85_a_secret_is_in_no_file_no_log_and_no_output_of_a_whole_day(demo: Workspace) -> None:
    demo.serve("issues", tool("a"), tool("b"), tool("c"), env_in="KEY", stderr=f"token {CANARY}\n")
    text = CONFIG.replace("assistants:", "      env: {KEY: '${env:KEY}'}\nassistants:")
    demo.write(text)
    outputs: list[str] = []
    for arguments in (
        ("validate",), ("plan", "--out", "p.json"), ("plan", "--format", "json"), ("discover", "--format", "json"),
        ("apply", "--auto-approve"), ("apply", "p.json"), ("status",), ("show", "p.json"),
    ):  # fmt: skip
        ended = demo.run(*arguments, KEY=CANARY)
        outputs += [ended.out, ended.err]
    reader = sqlite3.connect(database(demo))
    reader.execute("SELECT count(*) FROM applies").fetchall()
    demo.serve("issues", tool("a", "Another."), tool("b"), error_on={"tools/list": [-1, f"bad {CANARY}"]}, env_in="KEY")
    demo.write(text.replace("[a, b]", "[b]"))
    ended = demo.run("apply", "--auto-approve", KEY=CANARY)
    outputs += [ended.out, ended.err]
    names = {path.name for path in database(demo).parent.iterdir()}
    assert "remit.db-wal" in names
    own = contents(demo.folder)
    reader.close()
    kept = {name for name, content in own.items() if CANARY.encode() in content and name != "issues.json"}
    assert (kept, [each for each in outputs if CANARY in each]) == (set(), [])


# --- input 86: odd texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("with\\0nul", id="nul"),
        pytest.param("lone\\ud800", id="surrogate"),
        pytest.param("x" * 1_000_000, id="a-megabyte"),
    ],
)
def test_input_86_a_name_that_no_database_keeps_is_refused_in_the_file_before_any_database(
    here: Workspace, name: str
) -> None:
    here.serve("issues", tool("a"))
    for part in ('    - name: "{}"\n      command: [x]\n', '    - name: issues\n      command: [x, "{}"]\n'):
        written = part.format(name)
        text = f"version: 1\nworkspace: demo\nmcp:\n  servers:\n{written}"
        here.write(text.replace("{server:", "{ server:"))
        ended = here.run("apply", "--auto-approve", "--create-db")
        if ended.code == 0:
            # An argument of a megabyte is long, and fine.
            assert "command" in written
            assert len(name) == 1_000_000
            continue
        assert (ended.code, len(ended.err) < 20_000, "internal-error" in ended.err) == (1, True, False)
        assert not database(here).exists()


def test_input_86_two_spellings_of_one_accent_are_two_tools_and_come_back_as_they_were(here: Workspace) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    here.serve("issues", tool(composed, "One."), tool(decomposed, "Two."), tool("a"))
    here.write(CONFIG.replace("[a, b]", f'["{composed}", "{decomposed}", a]'))
    first = here.apply()
    listing = {
        each["remote_name"]: each for each in here.run("discover", "--format", "json").document["servers"][0]["tools"]
    }
    assert (first.code in (0, 4), here.run("apply", "--auto-approve").code == first.code) == (True, True)
    recorded = {each["remote_name"] for each in _attachments(here)}
    assert recorded <= {composed, decomposed, "a"}
    assert recorded == set(listing) & {composed, decomposed, "a"}


def _attachments(here: Workspace) -> list[dict[str, str]]:
    connection = sqlite3.connect(database(here))
    rows = connection.execute("SELECT remote_name, provider_name FROM assistant_mcp_tools").fetchall()
    connection.close()
    return [{"remote_name": remote, "provider_name": alias} for remote, alias in rows]


# --- F17: half-written files --------------------------------------------------------------------------------------------------------


def test_fault_f17_wherever_a_file_is_cut_off_it_is_refused_or_a_safeguard_stops_what_is_missing(
    tmp_path: Path,
) -> None:
    """Cut between two lines a file can be valid and ask for less."""
    text = CONFIG.replace("{server:issues}", '["serve"]')
    here, answers = Here(tmp_path).create(), {"issues": listed("a", "b")}
    path = tmp_path / "mcp.yaml"
    path.write_text(text, "utf-8")
    whole = load(path)
    assert isinstance(whole, Loaded)
    here.apply(here.plan(whole.desired, answers))
    outcomes: dict[int, str] = {}
    for end in range(len(text)):
        path.write_text(text[:end], "utf-8")
        match load(path):
            case Rejected(diagnostics=diagnostics):
                assert diagnostics
            case Loaded(desired=desired):
                plan = here.plan(desired, answers, agree=False).report.plan
                outcomes[end] = "unchanged" if plan.operations == () else str(plan.vetoes != ())
    # Cut inside the workspace's name it is another, empty workspace, which detaches nothing of this one.
    assert (set(outcomes.values()), outcomes[len(text) - 1]) == ({"True", "unchanged"}, "unchanged")


CUT = """
import os, sys
from pathlib import Path
text = Path(sys.argv[2]).read_text()
while True:
    with open(sys.argv[1], "w") as file:
        for start in range(0, len(text), 4096):
            file.write(text[start : start + 4096])
            file.flush()
"""


@pytest.mark.slow
def test_fault_f17_a_file_that_is_written_over_and_over_is_read_whole_or_refused(tmp_path: Path) -> None:
    tools = ", ".join(f"tool_{number}" for number in range(20_000))
    text = CONFIG.replace("{server:issues}", '["serve"]').replace("[a, b]", f"[{tools}]")
    (tmp_path / "source").write_text(text, "utf-8")
    path = tmp_path / "mcp.yaml"
    writer = subprocess.Popen([sys.executable, "-c", CUT, str(path), str(tmp_path / "source")], cwd=ROOT)
    try:
        until(path.exists)
        sizes: set[int] = set()
        for _ in range(6):
            loaded = load(path)
            if not isinstance(loaded, Rejected):
                sizes |= {len(selection.include) for each in loaded.desired.assistants for selection in each.selections}
        assert sizes <= {20_000}
    finally:
        writer.kill()
        writer.wait()


# --- F18: discovery fails ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", list(UnreachableReason))
def test_fault_f18_no_way_to_fail_a_listing_removes_or_changes_a_tool(
    tmp_path: Path, reason: UnreachableReason
) -> None:
    here = Here(tmp_path).create()
    here.apply(here.plan(BEFORE, LISTED_BEFORE))
    before = here.recorded()
    for missing in ([*LISTED_BEFORE], ["issues"]):
        answers = {name: each for name, each in LISTED_BEFORE.items() if name not in missing}
        down = {name: Unreachable(reason=reason, detail="no listing") for name in missing}
        planned = here.plan(BEFORE, {**answers, **down})
        assert (planned.report.plan.operations, planned.report.plan.held, planned.report.plan.complete) == (
            (),
            (),
            False,
        )
        here.apply(planned)
        assert here.recorded() == before


@pytest.mark.parametrize("reason", list(UnreachableReason))
def test_fault_f18_what_the_file_takes_away_goes_also_while_the_server_is_down(
    tmp_path: Path, reason: UnreachableReason
) -> None:
    here = Here(tmp_path).create()
    here.apply(here.plan(BEFORE, LISTED_BEFORE))
    planned = here.plan(AFTER, {name: Unreachable(reason=reason, detail="no listing") for name in LISTED_AFTER})
    gone = sorted(each.tool.provider_name for each in planned.report.plan.operations if isinstance(each, Detach))
    assert gone == ["old__gone", "old__gone", "wiki__write"]


def test_fault_f18_a_server_that_fails_in_the_middle_of_its_listing_costs_the_plan_nothing_but_completeness(
    demo: Workspace,
) -> None:
    demo.write(CONFIG)
    for options in (
        {"page_size": 1, "error_on_page": 2},
        {"die_on": {"tools/list": 3}},
        {"cursor": "same", "page_size": 1},
    ):
        demo.serve("issues", tool("a"), tool("b"), **options)
        planned = demo.plan()
        assert (planned.code, planned.document["operations"], planned.document["complete"]) == (4, [], False)


def test_a_killed_plan_leaves_the_saved_one_before_it(demo: Workspace) -> None:
    assert demo.run("plan", "--out", "p.json").code == 0
    before = json.loads((demo.folder / "p.json").read_text("utf-8"))
    demo.serve("issues", tool("a"), silent_on=["tools/list"], methods=str(demo.folder / "methods"))
    remit = start_remit(demo, "plan", "--out", "p.json")
    until((demo.folder / "methods").exists)
    remit.kill()
    waited(remit)
    assert json.loads((demo.folder / "p.json").read_text("utf-8")) == before
    assert list(demo.folder.glob(".p.json.*")) == []
