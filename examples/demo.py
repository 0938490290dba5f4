"""The main job on a real MCP server: plan, apply, and a second plan that has nothing left to do.

`./run demo` runs this. It works on a copy of config/ in a folder of its own, so it leaves nothing behind and can be run
again; and it does not trust the text that it shows: it reads the JSON plans and exits 1 where they are not as they must be.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

CONFIG = Path(__file__).parents[1] / "config"

Document: TypeAlias = dict[str, Any]


class Unexpected(Exception):
    """The demo saw something else than it promises."""


def remit(folder: Path, *arguments: str, capture: bool = False) -> str:
    """Run remit in a folder as a user would, and give its stdout if asked for. Raises Unexpected for a non-zero exit."""
    if not capture:
        print(f"\n$ remit {' '.join(arguments)}", flush=True)
    environment = {**os.environ, "ANALYTICS_DB": str(folder / "analytics.duckdb")}
    environment.pop("REMIT_DATABASE_URL", None)
    finished = subprocess.run(
        [sys.executable, "-m", "remit", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if capture else None,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    if finished.returncode:
        raise Unexpected(f"remit {' '.join(arguments)} exited {finished.returncode}")
    return finished.stdout or ""


def planned(folder: Path) -> Document:
    """The plan as JSON."""
    return json.loads(remit(folder, "plan", "--format", "json", capture=True))


def selected(config: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Assistant, server and tool for each tool that the file names; globs are left to the servers."""
    for assistant in config["assistants"]:
        for selection in assistant["tools"]:
            for tool in selection["include"]:
                if not set(tool) & set("*?["):
                    yield assistant["name"], selection["server"], tool


def check_first(plan: Document, config: Mapping[str, Any]) -> int:
    """The first plan attaches what the file names and nothing else; gives how many tools that is."""
    wanted = sorted(selected(config))
    attached = sorted(
        (operation["assistant"], operation["server"], operation["remote_name"])
        for operation in plan["operations"]
        if operation["op"] == "attach"
    )
    if not plan["complete"] or attached != wanted or not wanted:
        raise Unexpected(f"the first plan attaches {attached}, the file selects {wanted}")
    return len(wanted)


def check_second(plan: Document, attached: int) -> None:
    """After apply there is nothing to do, nothing waits and nothing is wrong; every attachment is counted unchanged."""
    counts: dict[str, int] = dict(plan["summary"])
    unchanged = counts.pop("unchanged")
    left = {name: count for name, count in counts.items() if count}
    if not plan["complete"] or left or plan["operations"] or unchanged < attached:
        raise Unexpected(f"the second plan still has {left or plan['operations']}, {unchanged} unchanged")


def demonstrate(folder: Path) -> None:
    """The whole demo, in a folder that holds a copy of config/."""
    config = yaml.safe_load((folder / "mcp.yaml").read_text("utf-8"))
    remit(folder, "validate")
    remit(folder, "plan")
    attached = check_first(planned(folder), config)
    remit(folder, "apply", "--create-db", "--auto-approve")
    remit(folder, "plan")
    check_second(planned(folder), attached)
    print(f"\ndemo: {attached} tools attached as the file selects them; the second plan is empty.")


def main() -> int:
    """Run the demo; 0 where everything was as promised."""
    with tempfile.TemporaryDirectory(prefix="remit-demo-") as temporary:
        folder = Path(temporary, "config")
        shutil.copytree(CONFIG, folder, ignore=shutil.ignore_patterns(".remit", "*.duckdb*"))
        try:
            demonstrate(folder)
        except Unexpected as unexpected:
            print(f"demo: FAILED: {unexpected}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
