"""One measured program in a process of its own: `python -m bench.child FACTS PROGRAM ARGS...`.

Runs the program here and writes to the file FACTS what this process alone has spent: servers that it started are children
and do not count. Imports nothing that the program would not, so that start-up is the program's.
"""

import resource
import sys
from importlib import import_module

__all__ = ["main"]

_PROGRAMS = {
    "remit": ("remit.cli.main", "main"),
    "listing": ("bench.listing", "main"),
    "bare-calls": ("bench.calling", "bare"),
    "governed-calls": ("bench.calling", "governed"),
    "octodns": ("octodns.cmds.sync", "main"),
}
"""Module and function of each program; a function reads sys.argv, as the console script's does."""


def main() -> None:
    """Run the program, then write CPU seconds and peak memory in bytes, whatever it ended with."""
    facts, program, *arguments = sys.argv[1:]
    module, function = _PROGRAMS[program]
    sys.argv = [program, *arguments]
    try:
        getattr(import_module(module), function)()
    finally:
        used = resource.getrusage(resource.RUSAGE_SELF)
        with open(facts, "w", encoding="utf-8") as handle:  # noqa: PTH123 (pathlib would be an import of ours)
            handle.write(f"{used.ru_utime + used.ru_stime} {_peak(used.ru_maxrss)}")


def _peak(max_rss: int) -> int:
    """The most memory in use at a time. Linux hands `ru_maxrss` on from the parent, so its own count is better there."""
    if sys.platform == "darwin":
        return max_rss
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 (as above)
            lines = [line for line in status if line.startswith("VmHWM:")]
    except OSError:
        lines = []
    return 1024 * (int(lines[0].split()[1]) if lines else max_rss)


if __name__ == "__main__":
    main()
