"""The same size through octoDNS, the Python tool closest in shape: a no-op plan of one zone, YAML to YAML."""

import shutil
import subprocess
import sys
from pathlib import Path

from bench.measure import ROOT, Program

__all__ = ["VERSION", "octodns_program"]

VERSION = "1.22.0"
ENVIRONMENT = ROOT / ".venv" / "bench-octodns"

_CONFIG = """\
providers:
  source: {class: octodns.provider.yaml.YamlProvider, directory: ./source}
  target: {class: octodns.provider.yaml.YamlProvider, directory: ./target}
zones:
  example.com.: {sources: [source], targets: [target]}
"""


def octodns_program(parent: Path, size: int) -> Program:
    """A no-op plan of so many records; makes octoDNS's environment where it is missing."""
    folder = parent / f"records-{size}"
    for name in ("source", "target"):
        (folder / name).mkdir(parents=True)
        records = (f"record-{n:05}:\n  type: A\n  values: [10.0.{n // 250}.{n % 250 + 1}]\n" for n in range(size))
        (folder / name / "example.com.yaml").write_text("---\n" + "".join(records), "utf-8")
    (folder / "config.yaml").write_text(_CONFIG, "utf-8")
    return Program(
        name="octodns",
        arguments=("--config-file", "config.yaml"),
        folder=folder,
        python=_environment_python(),
    )


def _environment_python() -> str:
    python = ENVIRONMENT / "bin" / "python"
    ready = ENVIRONMENT / f"ready-{VERSION}"
    if not ready.exists():
        sys.stderr.write(f"bench: installing octoDNS {VERSION} into {ENVIRONMENT}\n")
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", f"octodns=={VERSION}"], check=True)
        ready.touch()
    return str(python)
