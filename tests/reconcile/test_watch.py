"""A whole watch over real files, servers and databases: what it plans, what it applies, and what it never does."""

import asyncio
import os
import signal
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from remit.errors import WorkspaceBusy
from remit.reconcile.watch_files import no_events
from remit.reconcile.watch_pace import WatchPace
from tests.reconcile.watching import CONFIG, PACE, SECONDS, Lab, Told, in_a_loop, summary, tool, until
from tests.upstream.support import alive


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    lab.serve("a", tools=[tool("one"), tool("two")])
    lab.write()
    return lab


ONLY_ONE = CONFIG.replace("[one, two]", "[one]")


async def applied(told: Told, *operations: str, after: int = 0) -> int:
    return await told.until("applied", lambda done: set(operations) <= set(done), after=after)


@in_a_loop
async def test_saving_the_file_shows_the_plan_and_applies_it(lab: Lab) -> None:
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
        await told.until("plan", lambda plan: summary(plan) == {"unchanged": 2}, after=at)
        at = len(told.events)
        lab.write(ONLY_ONE)
        at = await told.until("plan", lambda plan: summary(plan) == {"detach": 1, "unchanged": 1}, after=at)
        await applied(told, "detach assistant.ops/a__two", after=at)
    assert lab.attached() == {"a__one": "Does one thing."}


@in_a_loop
async def test_a_saved_file_is_planned_within_a_second_at_the_pace_of_every_day(lab: Lab) -> None:
    lab.pace = WatchPace()
    clock = asyncio.get_running_loop().time
    took: list[float] = []
    async with lab.watched(applies=False) as told:
        at = await told.until("plan")
        # The median of a few, and of more where a machine does other things: most saves are planned in time, or it fails.
        while len(took) < 3 or (median(took) > 1.0 and len(took) < 9):
            wanted, text = (1, ONLY_ONE) if len(took) % 2 == 0 else (2, CONFIG)
            began = clock()
            lab.write(text)
            at = await told.until("plan", lambda plan, wanted=wanted: summary(plan).get("attach") == wanted, after=at)
            took.append(clock() - began)
    assert median(took) <= 1.0


ALL_THREE = CONFIG.replace("[one, two]", "[one, two, three]")


@pytest.mark.parametrize("announce", [False, True], ids=["polled", "pushing_but_silent"])
def test_an_apply_lists_first_and_attaches_what_is_offered_then_and_not_what_was_known(
    lab: Lab, announce: bool
) -> None:
    @in_a_loop
    async def scenario() -> None:
        lab.pace = replace(PACE, poll=60.0)
        lab.serve("a", announce=announce, push=0, tools=[tool("one"), tool("two"), tool("three")])
        lab.write(ONLY_ONE)
        async with lab.watched() as told:
            at = await applied(told, "attach assistant.ops/a__one")
            assert lab.listings("a") == 1
            lab.serve("a", tools=[tool("one"), tool("two", "Does another thing.")])
            lab.write(ALL_THREE)
            # The plan comes from what is known, as whoever saved the file waits for it.
            at = await told.until("plan", lambda plan: summary(plan).get("attach") == 2, after=at)
            await applied(told, "attach assistant.ops/a__two", after=at)
        assert told.of("applied")[1:] == [["attach assistant.ops/a__two"]]
        assert lab.attached() == {"a__one": "Does one thing.", "a__two": "Does another thing."}

    scenario()


@in_a_loop
async def test_a_server_that_fails_when_an_apply_lists_it_is_an_outage_and_the_rest_is_applied(lab: Lab) -> None:
    lab.pace = replace(PACE, poll=60.0)
    lab.serve("a", announce=False)
    lab.serve("b", announce=False, tools=[tool("three")])
    servers = CONFIG.replace("assistants:", "    - name: b\n      command: {b}\nassistants:")
    lab.write(servers.replace("[one, two]", "[one]"))
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one")
        lab.serve("a", error="connection reset")
        lab.write(servers + "      - server: b\n        include: [three]\n")
        at = await told.until("plan", lambda plan: summary(plan).get("attach") == 2, after=at)
        at = await told.until("server", lambda said: said == ("a", "protocol"), after=at)
        await applied(told, "attach assistant.ops/b__three", after=at)
    assert told.of("applied")[1:] == [["attach assistant.ops/b__three"]]


@in_a_loop
async def test_a_server_that_does_not_answer_an_apply_stops_no_plan_and_is_an_outage_when_its_time_is_over(
    lab: Lab,
) -> None:
    lab.pace = replace(PACE, poll=60.0)
    lab.serve("a", announce=False)
    lab.serve("b", announce=False, tools=[tool("three")])
    servers = CONFIG.replace("assistants:", "    - name: b\n      command: {b}\nassistants:")
    servers = servers.replace("command: {a}", "command: {a}\n      start_timeout_seconds: 2.5")
    lab.write(servers.replace("[one, two]", "[one]"))
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one")
        lab.serve("a", silent=True)
        lab.write(servers)
        at = await told.until("plan", lambda plan: summary(plan).get("attach") == 1, after=at)
        await until(lambda: lab.listings("a") >= 2)
        lab.write(servers + "      - server: b\n        include: [three]\n")
        at = await told.until("plan", lambda plan: summary(plan).get("attach") == 2, after=at)
        assert told.of("server")[2:] == []
        at = await told.until("server", lambda said: said == ("a", "timeout"), after=at)
        await applied(told, "attach assistant.ops/b__three", after=at)
    assert told.of("applied")[1:] == [["attach assistant.ops/b__three"]]


@in_a_loop
async def test_an_apply_that_believes_no_server_lists_none(lab: Lab) -> None:
    lab.pace = replace(PACE, poll=60.0)
    lab.serve("a", announce=False)
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
        lab.write(ONLY_ONE)
        await applied(told, "detach assistant.ops/a__two", after=at)
    assert lab.listings("a") == 1


@in_a_loop
async def test_without_apply_a_watch_shows_and_writes_no_row_of_the_workspace(lab: Lab) -> None:
    async with lab.watched(applies=False) as told:
        await told.until("plan", lambda plan: summary(plan).get("attach") == 2)
    assert not lab.database.exists()
    assert told.of("applied") == []


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_case_c09_a_push_lists_that_server_alone_and_what_it_changed_is_held(lab: Lab, era: str) -> None:
    @in_a_loop
    async def scenario() -> None:
        lab.serve("a", era=era)
        lab.serve("b", era=era, tools=[tool("other")])
        lab.write(CONFIG.replace("assistants:", "    - name: b\n      command: {b}\nassistants:"))
        async with lab.watched() as told:
            at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
            listed = lab.listings("b")
            lab.serve("a", tools=[tool("one", "Does another thing."), tool("new")])
            at = await told.until("server", lambda said: said == ("a", ["new", "one"]), after=at)
            await told.until("plan", lambda plan: summary(plan) == {"held": 1, "drift": 1}, after=at)
            before = lab.attached()
            # A file that changes now is applied, and what the server said still waits.
            lab.write(lab.config.read_text("utf-8").replace("[one, two]", '["on*", two]'))
            digest = told.of("plan")[-1]["config"]["digest"]
            await told.until("plan", lambda plan: plan["config"]["digest"] != digest, after=at)
        assert lab.listings("b") == listed
        assert len(told.of("applied")) == 1
        assert lab.attached() == before == {"a__one": "Does one thing.", "a__two": "Does one thing."}

    scenario()


@in_a_loop
async def test_what_is_held_enters_by_an_acceptance_beside_the_watch_which_notices(lab: Lab) -> None:
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one")
        lab.serve("a", tools=[tool("one", "Does another thing."), tool("two")])
        at = await told.until("plan", lambda plan: summary(plan).get("held") == 1, after=at)
        (held,) = told.of("plan")[-1]["held"]
        accept = f"{held['address']}@{held['after']['definition_digest']}"
        assert await asyncio.to_thread(lab.accept, accept) == 1
        await told.until("plan", lambda plan: summary(plan) == {"unchanged": 2}, after=at)
    assert lab.attached()["a__one"] == "Does another thing."


@in_a_loop
async def test_with_a_lock_a_changed_description_enters_only_by_the_lock(lab: Lab) -> None:
    assert await asyncio.to_thread(lab.lock) == 0
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
        lab.serve("a", tools=[tool("one", "Does another thing."), tool("two")])
        at = await told.until("plan", lambda plan: summary(plan) == {"drift": 1, "unchanged": 1}, after=at)
        assert [(each["address"], each["kind"]) for each in told.of("plan")[-1]["drift"]] == [
            ("assistant.ops/a__one", "changed")
        ]
        before = lab.attached()
        assert await asyncio.to_thread(lab.lock) == 0
        await applied(told, "refresh assistant.ops/a__one", after=at)
    assert (before["a__one"], lab.attached()["a__one"]) == ("Does one thing.", "Does another thing.")


@in_a_loop
async def test_fault_f18_a_server_that_fails_during_a_watch_takes_nothing_away(lab: Lab) -> None:
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
        lab.serve("a", error="connection reset")
        at = await told.until("server", lambda said: said == ("a", "protocol"), after=at)
        at = await told.until("plan", lambda plan: summary(plan) == {"deferred": 2}, after=at)
        lab.write(CONFIG + "# saved again\n")
        at = await told.until("files", after=at)
        await told.until("plan", lambda plan: summary(plan) == {"deferred": 2}, after=at)
        lab.serve("a", error=None)
        del lab.options["a"]["error"]
        lab.serve("a")
        await told.until("plan", lambda plan: summary(plan) == {"unchanged": 2}, after=at)
    assert sorted(lab.attached()) == ["a__one", "a__two"]
    assert len(told.of("applied")) == 1


@in_a_loop
async def test_case_c08_a_server_that_lists_nothing_after_it_listed_some_takes_nothing_away(lab: Lab) -> None:
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
        lab.serve("a", tools=[])
        at = await told.until("server", lambda said: said == ("a", "empty"), after=at)
        await told.until("plan", lambda plan: summary(plan) == {"deferred": 2}, after=at)
    assert sorted(lab.attached()) == ["a__one", "a__two"]


@in_a_loop
async def test_a_killed_server_is_started_again(lab: Lab) -> None:
    async with lab.watched() as told:
        await applied(told, "attach assistant.ops/a__one")
        pids = lab.folder / "a.pids"
        os.kill(int(pids.read_text("utf-8").split()[-1]), signal.SIGKILL)
        await until(lambda: lab.listings("a") >= 2)
    assert len(pids.read_text("utf-8").split()) == 2
    assert [each for each in told.of("plan") if each["summary"]["detach"]] == []


@in_a_loop
async def test_input_34_a_storm_of_ten_thousand_pushes_costs_a_few_listings(lab: Lab) -> None:
    lab.pace = replace(PACE, poll=30.0, gap=0.2)
    async with lab.watched() as told:
        await applied(told, "attach assistant.ops/a__one")
        before = lab.listings("a")
        lab.serve("a", push=10_000, tools=[tool("one", "Changed."), tool("two")])
        await told.until("plan", lambda plan: summary(plan).get("held") == 1)
        lab.serve("a", push=1, tools=[tool("one", "Changed again."), tool("two")])
        await told.until("plan", lambda plan: "Changed again." in str(plan["held"]))
    assert lab.listings("a") - before <= 8


@pytest.mark.parametrize("wrong", [None, "", "# mcp:\n", "mcp: [", "version: 1\n"])
def test_a_file_that_is_missing_empty_or_broken_takes_nothing_away(lab: Lab, wrong: str | None) -> None:
    @in_a_loop
    async def scenario() -> None:
        async with lab.watched() as told:
            at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
            if wrong is None:
                lab.config.unlink()
            else:
                lab.replace(lab.config, wrong)
            if wrong == "version: 1\n":
                # It is valid and asks for nothing, of another workspace even.
                await told.until("files", after=at)
            else:
                await told.until("rejected", after=at)
            lab.serve("a", tools=[tool("one"), tool("two"), tool("three")])
            await told.until(
                "server", lambda said: said == ("a", ["one", "three", "two"])
            ) if wrong != "version: 1\n" else None
            lab.write(ONLY_ONE)
            await applied(told, "detach assistant.ops/a__two", after=at)
        assert sorted(lab.attached()) == ["a__one"]
        assert len(told.of("applied")) == 2

    scenario()


@in_a_loop
async def test_a_file_that_asks_for_nothing_any_more_is_refused_by_the_safeguards(lab: Lab) -> None:
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
        lab.write("version: 1\nworkspace: demo\n")
        at = await told.until("plan", lambda plan: summary(plan).get("detach") == 2, after=at)
        assert "desired-emptied" in {each["code"] for each in told.of("plan")[-1]["problems"]}
        lab.write()
        await told.until("plan", lambda plan: summary(plan) == {"unchanged": 2}, after=at)
    assert len(told.of("applied")) == 1


@in_a_loop
async def test_a_watch_for_another_environment_than_the_one_applied_shows_why_it_applies_nothing(lab: Lab) -> None:
    lab.write(ONLY_ONE)
    async with lab.watched() as told:
        await applied(told, "attach assistant.ops/a__one")
    with closing(sqlite3.connect(lab.folder / ".remit" / "remit.db")) as raw, raw:
        assert raw.execute("SELECT environment FROM workspaces").fetchall() == [("",)]
        raw.execute("UPDATE workspaces SET environment = 'prod'")
    lab.write()
    async with lab.watched() as told:
        at = await told.until("plan", lambda plan: summary(plan).get("attach") == 1)
        assert [each["code"] for each in told.of("plan")[-1]["problems"]] == ["environment-other"]
        lab.write(ONLY_ONE)
        await told.until("plan", lambda plan: summary(plan).get("unchanged") == 1, after=at)
        assert told.of("applied") == []
    assert lab.attached() == {"a__one": "Does one thing."}


@in_a_loop
async def test_fault_f17_the_last_valid_file_is_what_stands_in_the_end(lab: Lab) -> None:
    texts = [CONFIG, ONLY_ONE, "mcp: [", "", CONFIG.replace("[one, two]", "[two]"), "version: 1\nmcp: {", ONLY_ONE]
    async with lab.watched(events=no_events) as told:
        at = await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
        for text in texts * 5:
            lab.config.write_text(lab.filled(text), "utf-8")
            await asyncio.sleep(0.003)
        await told.until("plan", lambda plan: summary(plan) == {"unchanged": 1}, after=at)
    assert sorted(lab.attached()) == ["a__one"]


@in_a_loop
async def test_a_database_that_is_locked_is_told_and_tried_again(lab: Lab) -> None:
    lab.pace = replace(PACE, patience=0.1)
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one")
        with closing(sqlite3.connect(lab.folder / ".remit" / "remit.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            lab.write(ONLY_ONE)
            at = await told.until("trouble", lambda code: code == "workspace-busy", after=at)
            # Long enough for more attempts, of which nobody need hear.
            await asyncio.sleep(0.6)
            other.execute("ROLLBACK")
        await applied(told, "detach assistant.ops/a__two", after=at)
        await told.until("mended", after=at)
    assert (told.of("trouble"), len(told.of("mended"))) == (["workspace-busy"], 1)
    # The flag that an apply has for this, a watch has not.
    assert [(each.hint, "--lock-timeout" in str(each)) for each in told.errors] == [
        ("it is tried again; the lock ends with the process that holds it", False)
    ]


@in_a_loop
async def test_a_lease_that_cannot_be_had_yet_lets_a_watch_plan_and_keeps_it_from_applying(lab: Lab) -> None:
    lab.pace = replace(PACE, patience=0.1)
    lab.database.create_or_upgrade()
    with closing(sqlite3.connect(lab.folder / ".remit" / "remit.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with lab.watched() as told:
            at = await told.until("plan", lambda plan: summary(plan).get("attach") == 2)
            lab.write(ONLY_ONE)
            at = await told.until("plan", lambda plan: summary(plan).get("attach") == 1, after=at)
            assert (told.of("applied"), told.of("mended")) == ([], [])
            other.execute("ROLLBACK")
            at = await applied(told, "attach assistant.ops/a__one", after=at)
            await told.until("mended")
    assert told.of("trouble") == ["workspace-busy"]


@in_a_loop
async def test_a_database_that_goes_is_an_outage_and_no_new_beginning(lab: Lab) -> None:
    path = lab.folder / ".remit" / "remit.db"
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one")
        await told.until("plan", lambda plan: summary(plan) == {"unchanged": 2}, after=at)
        aside = path.with_name("aside.db")
        path.rename(aside)
        at = await told.until("trouble", lambda code: code == "no-database", after=at)
        assert not path.exists()
        aside.rename(path)
        at = await told.until("mended", after=at)
        lab.write(ONLY_ONE)
        await applied(told, "detach assistant.ops/a__two", after=at)
    assert sorted(lab.attached()) == ["a__one"]


@in_a_loop
async def test_a_second_watch_of_a_workspace_is_refused_and_names_the_first(lab: Lab) -> None:
    async with lab.watched() as told:
        await applied(told, "attach assistant.ops/a__one")
        with pytest.raises(WorkspaceBusy) as refused:
            async with lab.watched() as second, asyncio.timeout(SECONDS):
                await second.ended()
    assert (refused.value.code, f"process {os.getpid()} on " in refused.value.message) == ("watcher-running", True)
    async with lab.watched() as told:
        await told.until("plan", lambda plan: summary(plan) == {"unchanged": 2})


@in_a_loop
async def test_fault_f4_a_watch_whose_lease_another_one_took_ends_and_applies_nothing_more(lab: Lab) -> None:
    lab.pace = replace(PACE, database_tick=60.0, lease=3600.0)

    async def scenario() -> None:
        async with lab.watched() as told:
            await applied(told, "attach assistant.ops/a__one", "attach assistant.ops/a__two")
            lab.expire_lease()
            assert lab.desk(applies=True).take(told.of("files")[-1]) is not None
            lab.write(ONLY_ONE)
            async with asyncio.timeout(SECONDS):
                await told.ended()

    with pytest.raises(WorkspaceBusy) as ended:
        await scenario()
    assert ended.value.code == "watcher-replaced"
    assert sorted(lab.attached()) == ["a__one", "a__two"]


@in_a_loop
async def test_a_lease_is_renewed_while_a_watch_goes_on(lab: Lab) -> None:
    lab.pace = replace(PACE, lease=0.3)
    async with lab.watched() as told:
        await applied(told, "attach assistant.ops/a__one")
        lab.expire_lease()
        first = lab.lease_end()
        await until(lambda: lab.lease_end() != first)
    assert told.of("trouble") == []


@in_a_loop
async def test_every_interval_each_server_is_listed_and_the_files_are_read(lab: Lab) -> None:
    lab.pace = replace(PACE, poll=60.0, interval=0.3, tick=60.0)
    async with lab.watched(events=no_events) as told:
        at = await applied(told, "attach assistant.ops/a__one")
        before = lab.listings("a")
        await until(lambda: lab.listings("a") >= before + 2)
        lab.write(ONLY_ONE)
        await applied(told, "detach assistant.ops/a__two", after=at)


@in_a_loop
async def test_a_server_that_is_declared_otherwise_is_asked_anew_and_nothing_of_the_old_one_counts(lab: Lab) -> None:
    lab.serve("b", tools=[tool("two")])
    async with lab.watched(applies=False) as told:
        at = await told.until("plan", lambda plan: summary(plan).get("attach") == 2)
        lab.write(CONFIG.replace("{a}", "{b}"))
        at = await told.until("server", lambda said: said == ("a", ["two"]), after=at)
        await told.until("plan", lambda plan: summary(plan).get("attach") == 1, after=at)


@in_a_loop
async def test_a_server_that_is_declared_no_more_is_ended(lab: Lab) -> None:
    lab.serve("b", tools=[tool("other")])
    lab.write(CONFIG.replace("assistants:", "    - name: b\n      command: {b}\nassistants:"))
    async with lab.watched() as told:
        at = await applied(told, "attach assistant.ops/a__one")
        await told.until("server", lambda said: said == ("b", ["other"]))
        pid = int((lab.folder / "b.pids").read_text("utf-8"))
        lab.write()
        await applied(told, "unregister_server server.b", after=at)
        await until(lambda: not alive(pid))


@in_a_loop
async def test_case_c26_a_folder_of_server_files_is_followed_and_a_tool_that_comes_later_is_not_attached_unseen(
    lab: Lab,
) -> None:
    lab.serve("b", tools=[tool("other")])
    part = "version: 1\nmcp:\n  servers:\n    - name: {name}\n      command: {command}\nassistants:\n"
    part += "  - name: ops-{name}\n    tools:\n      - server: {name}\n        include: ['*']\n        exclude: [two]\n"
    folder = lab.folder / "servers"
    folder.mkdir()
    for name in ("a", "b"):
        text = part.replace("{name}", name).replace("{command}", f"{{{name}}}")
        lab.replace(folder / f"{name}.yaml", lab.filled(text))
    lab.write("version: 1\nworkspace: demo\ninclude: [servers/*.yaml]\n")
    async with lab.watched() as told:
        at = await told.until("plan", lambda plan: summary(plan) == {"held": 2})
        accepts = [f"{each['address']}@{each['after']['definition_digest']}" for each in told.of("plan")[-1]["held"]]
        assert await asyncio.to_thread(lab.accept, *accepts) >= len(accepts)
        at = await told.until("plan", lambda plan: summary(plan) == {"unchanged": 2}, after=at)
        lab.serve("a", tools=[tool("one"), tool("two"), tool("three")])
        at = await told.until("plan", lambda plan: summary(plan) == {"held": 1, "unchanged": 2}, after=at)
        assert [each["remote_name"] for each in told.of("plan")[-1]["held"]] == ["three"]
        (folder / "b.yaml").unlink()
        await told.until("plan", lambda plan: summary(plan).get("detach") == 1, after=at)
        refused = {each["code"] for each in told.of("plan")[-1]["problems"]}
    async with lab.watched() as told:
        await told.until("plan", lambda plan: summary(plan).get("detach") == 1)
    assert {each["code"] for each in told.of("plan")[-1]["problems"]} == refused
    assert (told.of("applied"), sorted(lab.attached())) == ([], ["a__one", "b__other"])
