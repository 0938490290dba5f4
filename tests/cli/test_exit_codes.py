"""Exit codes: each as a shell sees it, from a process, and for each pair the graver one, from the command in this process."""

import json
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager

import pytest

from tests.cli.workspace import Workspace, tool

CONFIG = """\
version: 1
workspace: demo
mcp:
  servers:
    - name: issues
      command: {server:issues}
      envelope: {surface: locked, side_effecting: false}
assistants:
  - name: ops
    tools:
      - server: issues
        include: [a, b, c, d, e]
"""
NAMES = ("a", "b", "c", "d", "e")
DEAD = {"die_on": {"tools/list": 1}}


@pytest.fixture
def applied(here: Workspace) -> Workspace:
    here.serve("issues", *map(tool, NAMES))
    here.write(CONFIG)
    assert here.apply().code == 0
    return here


def break_config(here: Workspace) -> None:
    (here.folder / "mcp.yaml").write_text("version: 2\n", "utf-8")


def take_too_much(here: Workspace) -> None:
    here.write(CONFIG.replace("[a, b, c, d, e]", "[a]"))


def hold_file_operation(here: Workspace) -> None:
    """A loosening while the tool is drifted: asked for by the file, held all the same."""
    here.serve("issues", *(tool(name, "Changed.") for name in NAMES))
    here.write(CONFIG.replace("locked", "open"))


def save_then_make_stale(here: Workspace) -> None:
    here.write(CONFIG.replace("side_effecting: false", "side_effecting: false, required_permission: x"))
    assert here.run("plan", "--out", "p.json").code == 0
    here.write(CONFIG.replace("side_effecting: false", "side_effecting: false, required_permission: y"))


@contextmanager
def busy(here: Workspace) -> Generator[None]:
    """Somebody else is writing to the database."""
    with closing(sqlite3.connect(here.folder / ".remit" / "remit.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")


APPLY = ("apply", "--auto-approve", "--lock-timeout", "0.2")


def test_0_nothing_to_do(applied: Workspace):
    assert applied.process("plan", "--detailed-exitcode").code == 0


def test_1_a_file_that_does_not_hold(applied: Workspace):
    break_config(applied)
    assert [applied.process("validate").code, *(applied.run(each).code for each in ("plan", "status"))] == [1, 1, 1]


def test_2_changes_only_where_it_was_asked_for(applied: Workspace):
    applied.write(CONFIG.replace("[a, b, c, d, e]", "[a, b, c, d]"))
    assert (applied.run("plan", "--detailed-exitcode").code, applied.run("plan").code) == (2, 0)


def test_2_a_held_live_change_is_a_change_and_no_error(applied: Workspace):
    applied.serve("issues", *(tool(name, "Changed.") for name in NAMES))
    assert (applied.process("plan", "--detailed-exitcode").code, applied.run("plan").code) == (2, 0)


def test_3_a_safeguard_refuses_and_its_exact_number_lets_through(applied: Workspace):
    take_too_much(applied)
    refused = applied.run(*APPLY)
    assert (refused.code, "--allow-detach 4" in refused.out + refused.err) == (3, True)
    assert [applied.run(*APPLY, "--allow-detach", n).code for n in ("3", "5", "4")] == [3, 3, 0]


def test_3_a_held_file_operation(applied: Workspace):
    hold_file_operation(applied)
    assert (applied.run("plan").code, applied.process(*APPLY).code) == (3, 3)


def test_4_a_server_that_was_not_listed(applied: Workspace):
    applied.serve("issues", **DEAD)
    assert (applied.run("plan").code, applied.process(*APPLY).code) == (4, 4)


def test_4_a_selection_that_stays_unresolved(applied: Workspace):
    applied.write(CONFIG.replace("[a, b", "[a, bb, b"))
    ended = applied.run("plan")
    assert (ended.code, "tool-not-advertised" in ended.out) == (4, True)


def test_4_require_complete_does_nothing_at_all(applied: Workspace):
    applied.serve("issues", **DEAD)
    applied.write(CONFIG.replace("side_effecting: false", "side_effecting: false, required_permission: x"))
    assert applied.run(*APPLY, "--require-complete").code == 4
    assert applied.plan().done == {"set_envelope": 5, "problems": 1, "deferred": 5}


def test_5_a_saved_plan_that_no_longer_comes_out(applied: Workspace):
    save_then_make_stale(applied)
    ended = applied.process("apply", "p.json")
    assert (ended.code, "set_envelope assistant.ops/issues__a" in ended.err) == (5, True)


def test_5_an_approved_digest_that_is_another_one(applied: Workspace):
    take_too_much(applied)
    digest = "sha256:" + "0" * 64
    assert applied.run("apply", "--allow-detach", "4", "--approve-digest", digest).code == 5


def test_6_somebody_else_is_applying(applied: Workspace):
    applied.write(CONFIG.replace("[a, b, c, d, e]", "[a, b, c, d]"))
    with busy(applied):
        ended = applied.process(*APPLY)
    assert (ended.code, "workspace-busy" in ended.err) == (6, True)
    assert applied.run(*APPLY).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "--no-such-flag"),
        ("no-such-command",),
        ("plan", "--server", "isues"),
        ("plan", "--accept", "assistant.ops/issues__z@00000000"),
        ("plan", "--accept", "assistant.ops/issues__a@0000000"),
        ("plan", "--allow-empty", "isues"),
        ("plan", "--allow-detach", "-1"),
        ("explain", "tool-not-advertized"),
        ("apply", "p.json", "--auto-approve"),
    ],
    ids=" ".join,
)
def test_64_a_command_line_that_cannot_be_meant(applied: Workspace, arguments: tuple[str, ...]):
    ended = applied.run(*arguments)
    assert (ended.code, ended.out) == (64, "")
    assert ended.err


def test_64_a_misspelt_command_is_told_the_one_that_was_meant(applied: Workspace):
    ended = applied.run("cal")
    assert (ended.code, ended.out) == (64, "")
    assert "No such command 'cal'. Did you mean 'call'?" in ended.err


@pytest.mark.parametrize("flag", ["--server", "--allow-empty"])
@pytest.mark.parametrize(
    ("name", "hint"), [("isues", "did you mean 'issues'?"), ("nothing-like-it", "the servers are: issues")]
)
def test_64_a_server_that_is_none_names_the_near_one_or_all(applied: Workspace, flag: str, name: str, hint: str):
    ended = applied.run("plan", flag, name)
    assert (ended.code, ended.err) == (64, f"error usage: {flag}: no server is called '{name}'\n  hint: {hint}\n")


# --- pairs: the graver code wins (1 5 6 3 4 2 0) ----------------------------------------------------------------------


def test_1_before_5(applied: Workspace):
    save_then_make_stale(applied)
    break_config(applied)
    assert applied.run("apply", "p.json").code == 1


def test_1_before_6(applied: Workspace):
    break_config(applied)
    with busy(applied):
        assert applied.run(*APPLY).code == 1


def test_1_before_3_and_4_and_2(applied: Workspace):
    take_too_much(applied)
    applied.serve("issues", **DEAD)
    break_config(applied)
    assert applied.run("plan", "--detailed-exitcode").code == 1


def test_5_before_6(applied: Workspace):
    save_then_make_stale(applied)
    with busy(applied):
        assert applied.run("apply", "p.json", "--lock-timeout", "0.2").code == 5


def test_5_before_3(applied: Workspace):
    save_then_make_stale(applied)
    take_too_much(applied)
    assert applied.run("apply", "p.json").code == 5


def test_5_before_4(applied: Workspace):
    applied.write(CONFIG.replace("b, c", "b, f, c"))
    applied.serve("issues", *map(tool, (*NAMES, "f")))
    assert applied.run("plan", "--out", "p.json").code == 0
    applied.serve("issues", **DEAD)
    assert applied.run("apply", "p.json").code == 5


def test_5_before_2(applied: Workspace):
    save_then_make_stale(applied)
    assert applied.run("apply", "p.json", "--detailed-exitcode").code == 5


def test_6_before_3(applied: Workspace):
    hold_file_operation(applied)
    with busy(applied):
        assert applied.run(*APPLY).code == 6


def test_6_before_4(applied: Workspace):
    applied.serve("issues", **DEAD)
    with busy(applied):
        assert applied.run(*APPLY).code == 6


def test_6_before_2(applied: Workspace):
    applied.write(CONFIG.replace("[a, b, c, d, e]", "[a, b, c, d]"))
    with busy(applied):
        assert applied.run(*APPLY, "--detailed-exitcode").code == 6


def test_3_before_4(applied: Workspace):
    take_too_much(applied)
    applied.serve("issues", **DEAD)
    assert applied.run("plan").code == 3


def test_3_before_2(applied: Workspace):
    take_too_much(applied)
    assert applied.run("plan", "--detailed-exitcode").code == 3


def test_4_before_2(applied: Workspace):
    applied.write(CONFIG.replace("[a, b, c, d, e]", "[a, b, c, d]"))
    applied.serve("issues", **DEAD)
    assert applied.run("plan", "--detailed-exitcode").code == 4


def test_2_before_0_after_an_apply_that_changed_something(applied: Workspace):
    applied.write(CONFIG.replace("[a, b, c, d, e]", "[a, b, c, d]"))
    assert [applied.run(*APPLY, "--detailed-exitcode").code for _ in range(2)] == [2, 0]


def test_usage_before_everything(applied: Workspace):
    break_config(applied)
    assert applied.process("plan", "--no-such-flag").code == 64


def test_what_ended_with_an_error_changed_nothing(applied: Workspace):
    before = json.dumps(applied.run("status", "--format", "json").document["applies"])
    save_then_make_stale(applied)
    applied.run("apply", "p.json")
    break_config(applied)
    applied.run(*APPLY)
    applied.write(CONFIG)
    assert json.dumps(applied.run("status", "--format", "json").document["applies"]) == before
