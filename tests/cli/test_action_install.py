"""What the action installs: its own code, every other distribution in one version, and the same again only for the same code."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from sysconfig import get_path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from remit.version import __version__
from tests.cli.actions_runner import ROOT, outputs_in

PARTS = ("action", "src", "pyproject.toml", "README.md", "LICENSE")
PIP = "-I -m pip install --quiet --disable-pip-version-check --no-deps"


class Runner:
    """A machine with the action's code in `source`, and a `python3` that notes how it is called before it is one."""

    def __init__(self, folder: Path, venv: str):
        """`venv` is shell code that makes the environment in `$last`."""
        self.folder = folder
        self.source, self.kept = folder / "source", folder / "kept"
        for each in (folder / "bin", folder / "temp", folder / "checkout", self.source / "src"):
            each.mkdir(parents=True)
        python = folder / "bin" / "python3"
        python.write_text(
            f'#!/bin/sh\nprintf "%s|%s\\n" "$PWD" "$*" >> {folder}/called\nfor last; do :; done\n'
            f'case "$*" in\n*"-m venv"*) {venv} ;;\n*"-m pip"*) ;;\n*) exec {sys.executable} "$@" ;;\nesac\n',
            "utf-8",
        )
        python.chmod(0o755)

    def install(self, **environ: str) -> subprocess.CompletedProcess[str]:
        """One run of install.sh, in the checkout of a branch."""
        environ = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "REMIT_SOURCE": str(self.source),
            "REMIT_VENV": str(self.kept),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            **environ,
        }
        script = ["sh", str(ROOT / "action" / "install.sh")]
        return subprocess.run(
            script, cwd=self.folder / "checkout", env=environ, capture_output=True, text=True, timeout=60, check=False
        )

    def calls(self) -> list[str]:
        """What pythons were called with since the last look."""
        file = self.folder / "called"
        lines = file.read_text("utf-8").splitlines()
        file.unlink()
        assert all(line.startswith(f"{self.folder / 'temp'}|-I ") for line in lines), lines
        return [line.partition("|")[2] for line in lines]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """One whose environments are empty: each has a `python` like its `python3`, and a `remit` of version 0."""
    made = Runner(
        tmp_path,
        'mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; '
        'printf "#!/bin/sh\\necho remit, version 0\\n" > "$last/bin/remit"; chmod +x "$last/bin/remit"',
    )
    shutil.copytree(ROOT / "action", made.source / "action")
    (made.source / "pyproject.toml").touch()
    (made.source / "src" / "code.py").touch()
    return made


def test_python_takes_no_module_from_the_checkout_and_pip_resolves_nothing(runner: Runner):
    assert runner.install(INPUT_VERSION="0").returncode == 0
    *_, venv, pins, code, check = runner.calls()
    assert (venv.startswith("-I -m venv "), check) == (True, "-I -m pip check")
    assert pins == f"{PIP} -r {runner.source}/action/requirements.txt"
    assert code == f"{PIP} --no-index --no-build-isolation {runner.source}"


def test_another_version_than_the_input_says_fails(runner: Runner):
    ended = runner.install(INPUT_VERSION="1")
    assert (ended.returncode, "has another version" in ended.stdout) == (1, True)


@pytest.mark.parametrize("changed", ["src/code.py", "src/more.py", "action/requirements.txt", "pyproject.toml"])
def test_a_kept_install_is_used_again_for_the_same_code_only(runner: Runner, changed: str):
    def installs() -> bool:
        assert runner.install().returncode == 0
        return any("-m venv" in each for each in runner.calls())

    first = (installs(), installs())
    before = outputs_in((runner.folder / "output").read_text("utf-8"))["remit"]
    with (runner.source / changed).open("a", encoding="utf-8") as file:
        file.write("# Another.\n")
    assert (first, (installs(), installs())) == ((True, False), (True, False))
    after = outputs_in((runner.folder / "output").read_text("utf-8"))["remit"]
    assert (before != after, Path(before).exists()) == (True, True)


def test_an_install_that_broke_off_is_made_anew(runner: Runner):
    assert runner.install().returncode == 0
    for complete in runner.kept.glob("*/complete"):
        complete.unlink()
    runner.calls()
    assert runner.install().returncode == 0
    assert any("-m venv" in each for each in runner.calls())


# --- the versions ------------------------------------------------------------------------------------------------------


def pins() -> dict[str, str]:
    text = (ROOT / "action" / "requirements.txt").read_text("utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", text, re.MULTILINE))


def required(name: str, extras: frozenset[str], exact: Mapping[str, str]) -> list[Requirement]:
    """What a distribution requires, where it is here in the version that the action installs; of another nobody can say."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return []
    if name in exact and found.version != exact[name]:
        return []
    needs = [Requirement(each) for each in found.requires or []]
    return [
        each
        for each in needs
        if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in ("", *extras))
    ]


def test_every_version_that_the_action_installs_satisfies_all_that_ask_for_it():
    built = [Requirement("hatchling>=1.27")]
    assert str(built[0]) in (ROOT / "pyproject.toml").read_text("utf-8")
    exact, seen = pins(), set[str]()
    waiting = [*required("remit", frozenset(), exact), *built]
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        assert name in exact, f"{each} has no version; see action/pin.py"
        assert each.specifier.contains(exact[name], prereleases=True), f"{each}, and the action installs {exact[name]}"
        if name not in seen:
            seen.add(name)
            waiting += required(name, frozenset(each.extras), exact)
    named = [line for line in (ROOT / "action" / "requirements.txt").read_text("utf-8").splitlines() if line[0] != "#"]
    assert len(named) == len(exact) > len(built)


def test_the_example_for_another_ci_installs_the_same_versions():
    text = (ROOT / "examples" / "ci" / "gitlab-ci.yml").read_text("utf-8")
    assert "--no-deps -r /opt/source/action/requirements.txt" in text
    assert "--no-deps --no-index --no-build-isolation /opt/source" in text


def test_no_index_is_named_in_the_action():
    texts = [path.read_text("utf-8") for path in (ROOT / "action").iterdir() if path.is_file()]
    assert not [text for text in texts if "index-url" in text or "://" in text]


# --- once for real -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_action_builds_and_installs_its_own_code(tmp_path: Path):
    """With a real pip and a real build. What is pinned is there already, so that no index is needed."""
    lib = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    runner = Runner(
        tmp_path,
        f'{sys.executable} -I -m venv --without-pip "$last" && echo {get_path("purelib")} > "$last/{lib}/beside.pth"',
    )
    for name in PARTS:
        place = runner.source / name
        if (ROOT / name).is_dir():
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    pinned = subprocess.run(
        [sys.executable, "action/pin.py"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    (runner.source / "action" / "requirements.txt").write_text(pinned.stdout, "utf-8")

    ended = runner.install(INPUT_VERSION=__version__, PIP_NO_INDEX="1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    remit = Path(outputs_in((runner.folder / "output").read_text("utf-8"))["remit"])
    where = subprocess.run(
        [remit.with_name("python"), "-I", "-c", "import json, remit; print(json.dumps(remit.__file__))"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert Path(json.loads(where.stdout)).is_relative_to(remit.parents[1])
