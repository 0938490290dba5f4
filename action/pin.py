"""Prints action/requirements.txt: all that remit needs to be built and to run, in the versions that are installed here.

From the root of the repository, in an environment where the tests are green and hatchling is installed:

    python action/pin.py > action/requirements.txt
"""

import sys
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HEAD = """\
# What action/install.sh installs, and nothing else: every distribution in one version, none resolved by name.
# Made by: python action/pin.py > action/requirements.txt
"""


def wanted(name: str, extras: frozenset[str]) -> list[Requirement]:
    """What an installed distribution requires here, with these extras of it."""
    found = [Requirement(each) for each in distribution(name).requires or []]
    return [
        each
        for each in found
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def pins() -> dict[str, str]:
    """Version by name of the build backend, of what remit requires, and of what those require in turn."""
    waiting, seen = [("remit", frozenset[str]()), ("hatchling", frozenset[str]())], set[tuple[str, frozenset[str]]]()
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += [(canonicalize_name(one.name), frozenset(one.extras)) for one in wanted(each[0], each[1])]
    return {name: distribution(name).version for name, _ in sorted(seen, key=lambda one: one[0]) if name != "remit"}


if __name__ == "__main__":
    sys.stdout.write(HEAD + "".join(f"{name}=={version}\n" for name, version in pins().items()))
