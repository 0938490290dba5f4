"""How the real servers come to be there, and what happens where they cannot: no registry is asked here."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.interop.cases import CASES
from tests.interop.install import VERSIONS, InstallFailed, Missing, Registry, obtain
from tests.interop.page import PAGE, servers_on
from tests.interop.requirement import settle

ROOT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:9"


def programs(folder: Path, **scripts: str) -> str:
    """A PATH with these shell scripts before what is there."""
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_every_pinned_package_is_tried_and_every_case_is_pinned():
    pinned = {(registry, package) for registry, pins in VERSIONS.items() for package in pins}
    assert {(case.registry, case.package) for case in CASES} == pinned


def test_the_page_names_every_case_in_the_version_that_is_tested():
    tested = [(case.name, case.package, case.version) for case in CASES]
    assert servers_on(PAGE.read_text("utf-8")) == tested


UNREACHABLE = Missing("the registry cannot be reached")
NO_NPM = Missing("npm: not on the PATH")
NO_NODE = Missing("node and npm: not on the PATH", without_node=True)
SKIPS, FAILS = pytest.skip.Exception, pytest.fail.Exception


@pytest.mark.parametrize(
    ("value", "missing", "outcome"),
    [
        ("", UNREACHABLE, SKIPS),
        ("", NO_NODE, SKIPS),
        ("required", UNREACHABLE, FAILS),
        ("required", NO_NPM, FAILS),
        ("required", NO_NODE, SKIPS),
        ("yes", NO_NODE, FAILS),
    ],
)
def test_a_missing_server_skips_and_where_it_is_required_only_for_want_of_node(
    value: str, missing: Missing, outcome: type[BaseException]
):
    with pytest.raises(outcome, match="REMIT_INTEROP=yes" if value == "yes" else missing.reason):
        settle(missing, {"REMIT_INTEROP": value})
    if not value:
        with pytest.raises(outcome):
            settle(missing, {})


def test_ci_requires_the_servers_with_node_and_without(tmp_path: Path):
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "run").write_text('#!/bin/sh\necho "$REMIT_INTEROP $*"\n', "utf-8")
    (tmp_path / "run").chmod(0o755)
    only = programs(tmp_path / "bin").split(":")[0]
    for program in ("bash", "dirname", "sh"):
        (Path(only) / program).symlink_to(shutil.which(program) or program)
    for path in (only, f"{programs(tmp_path / 'with', node='').split(':')[0]}:{only}"):
        ended = subprocess.run(
            [str(Path(only) / "bash"), str(script)],
            env={"PATH": path},
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        assert ended.stdout == "required test\n"


def test_without_node_its_servers_are_missing_and_nothing_is_made(tmp_path: Path):
    assert obtain(Registry.NPM, tmp_path / "prefix", {"PATH": ""}) == NO_NODE
    only_node = programs(tmp_path / "bin", node="").split(":")[0]
    assert obtain(Registry.NPM, tmp_path / "prefix", {"PATH": only_node}) == NO_NPM
    assert not (tmp_path / "prefix").exists()


@pytest.mark.parametrize("registry", [Registry.NPM, pytest.param(Registry.PYPI, marks=pytest.mark.slow)])
def test_a_registry_that_cannot_be_reached_makes_its_servers_missing(tmp_path: Path, registry: Registry):
    if registry is Registry.NPM and shutil.which("npm") is None:
        pytest.skip("npm: not on the PATH")
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "npm_config_"))},
        "npm_config_registry": NOWHERE,
        "npm_config_cache": str(tmp_path / "cache"),
        "npm_config_fetch_retries": "0",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": NOWHERE,
        "PIP_RETRIES": "1",  # without a retry pip does not say why it found nothing
        "UV_NO_CONFIG": "1",
        "UV_DEFAULT_INDEX": NOWHERE,
        "UV_HTTP_RETRIES": "0",
        "UV_CACHE_DIR": str(tmp_path / "cache"),
    }
    assert obtain(registry, tmp_path / "prefix", environ) == Missing(f"the {registry} registry cannot be reached")


def test_processes_that_need_a_server_at_once_install_it_once(tmp_path: Path):
    count = tmp_path / "count"
    environ = {"PATH": programs(tmp_path / "bin", node="", npm=f'echo once >>"{count}"')}
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(obtain, Registry.NPM, tmp_path / "prefix", environ) for _ in range(8)]
    assert ({each.result() for each in asked}, count.read_text("utf-8")) == ({tmp_path / "prefix" / "npm"}, "once\n")


def test_an_installation_that_failed_is_reported_and_made_again(tmp_path: Path):
    broken = {"PATH": programs(tmp_path / "broken", node="", npm="echo no such version; exit 1")}
    mended = {"PATH": programs(tmp_path / "mended", node="", npm="exit 0")}
    with pytest.raises(InstallFailed, match="no such version"):
        obtain(Registry.NPM, tmp_path / "prefix", broken)
    assert obtain(Registry.NPM, tmp_path / "prefix", mended) == tmp_path / "prefix" / "npm"
