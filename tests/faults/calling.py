"""A process that makes governed calls and may be killed: `python -m tests.faults.calling DATABASE MODE [ARGUMENT]`.

Says what it knows on stdout, a line each, as soon as it knows it:
  flight N        N calls are begun and none ends; prints each action, then waits to be killed
  flood           calls begin and end for ever in 8 threads; prints `begun ACTION` and `ended ACTION`
  reply-lost KEY  one call with a key begins and ends, and the process dies before anybody is told of the end
  consume N       N calls that need the one approval begin at once when a line comes in; prints the kind of each answer
  note N          N facts go to the chain `shared`
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from remit.core.audit import AuditFact, AuditKind
from remit.core.call_ports import Stamp
from remit.store.journal import Journal
from tests.store.calls import BINDING, SECONDS, Site, a_call, ended, intent

__all__ = ["main"]


def say(text: str) -> None:
    """One line in one write, so that lines of threads do not mix."""
    os.write(1, f"{text}\n".encode())


def flight(site: Site, journal: Journal, run_id: str, count: str) -> None:
    stamp = site.stamp
    calls = [a_call(site, run_id, stamp=stamp) for _ in range(int(count))]
    begun = [journal.begin(intent(facts, key=f"key-{number}")) for number, facts in enumerate(calls)]
    for facts, future in zip(calls, begun, strict=True):
        future.result(SECONDS)
        say(facts.action_id)
    say("all")
    sys.stdin.read()


def flood(site: Site, journal: Journal, run_id: str, _: str) -> None:
    stamp = site.stamp
    threads = [threading.Thread(target=call_for_ever, args=(site, journal, run_id, stamp)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def call_for_ever(site: Site, journal: Journal, run_id: str, stamp: Stamp) -> None:
    while True:
        facts = a_call(site, run_id, stamp=stamp)
        journal.begin(intent(facts)).result(SECONDS)
        say(f"begun {facts.action_id}")
        journal.end(ended(facts)).result(SECONDS)
        say(f"ended {facts.action_id}")


def reply_lost(site: Site, journal: Journal, run_id: str, key: str) -> None:
    facts = a_call(site, run_id)
    journal.begin(intent(facts, key=key)).result(SECONDS)
    say(facts.action_id)
    # Called by the journal's thread, which has committed by then.
    journal.end(ended(facts)).add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGKILL))
    threading.Event().wait(SECONDS)


def consume(site: Site, journal: Journal, run_id: str, count: str) -> None:
    stamp = site.stamp
    calls = [a_call(site, run_id, stamp=stamp) for _ in range(int(count))]
    say("ready")
    sys.stdin.readline()
    for future in [journal.begin(intent(facts, approval=BINDING)) for facts in calls]:
        say(type(future.result(SECONDS)).__name__)


def note(site: Site, journal: Journal, _: str, count: str) -> None:
    facts = [
        AuditFact(kind=AuditKind.CONTRACT_DRIFT, at=site.clock.now, actor="user:ana", trace_id=None, body={"n": number})
        for number in range(int(count))
    ]
    say("ready")
    sys.stdin.readline()
    for start in range(0, len(facts), 10):
        for future in [journal.note(fact) for fact in facts[start : start + 10]]:
            future.result(SECONDS)
    say("done")


MODES: Mapping[str, Callable[[Site, Journal, str, str], None]] = {
    "flight": flight,
    "flood": flood,
    "reply-lost": reply_lost,
    "consume": consume,
    "note": note,
}


def main(database: str, mode: str, argument: str = "") -> None:
    """Open a journal, start a run of this process, and do what the mode says."""
    site = Site(Path(database))
    journal = site.opened(writer="shared" if mode == "note" else "killed", busy_seconds=SECONDS)
    run_id = f"run-{os.getpid()}"
    journal.ledger.start_run(site.run(run_id))
    MODES[mode](site, journal, run_id, argument)
    journal.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
