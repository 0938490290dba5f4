"""Reading a text as mcp.yaml, for tests."""

import hashlib
from pathlib import Path

from remit.config.files import FileText
from remit.config.loader import Loaded, LoadResult, load_texts
from remit.core.desired import ConfigFile, Desired
from remit.core.diagnostics import Diagnostic

EXAMPLE = """\
# yaml-language-server: $schema=schemas/mcp.schema.json
version: 1
workspace: acme-ops
owner: platform

mcp:
  default_envelope: {surface: human_controlled, side_effecting: true, reversible: false}
  servers:
    - name: analytics
      namespace: analytics
      transport: stdio
      command: ["{python}", "-m", "remit_analytics"]
      env: {ANALYTICS_DB: "${env:ANALYTICS_DB:-analytics.duckdb}"}
      cwd: .
      protocol: auto
      timeout_seconds: 30
      enabled: true
      envelope: {surface: locked, side_effecting: false, required_permission: read_analytics}
      tools:
        run_query: {surface: locked, side_effecting: false, required_permission: query_analytics}
    - name: tickets
      url: https://tickets.example.com/mcp
      headers: {Authorization: "Bearer ${env:TICKETS_TOKEN}"}
      tls: {ca_file: /etc/ssl/corp.pem}
      instance: prod

assistants:
  - name: ops
    permissions: [read_analytics, query_analytics]
    tools:
      - server: analytics
        include: [list_metrics, run_query]
        exclude: []
        aliases: {run_query: analytics_query}
"""
"""The example of DESIGN.md section 2, without the key `include`."""


def read(text: str) -> LoadResult:
    """The result for a file `mcp.yaml` of this text."""
    file = ConfigFile(path="mcp.yaml", sha256=hashlib.sha256(text.encode()).hexdigest())
    return load_texts([FileText(file=file, text=text)], Path("/project"))


def desired_of(text: str) -> Desired:
    """The desired state of a text that holds."""
    result = read(text)
    assert isinstance(result, Loaded), result
    return result.desired


def findings_of(text: str) -> tuple[Diagnostic, ...]:
    """Errors and warnings of a text."""
    result = read(text)
    return result.warnings if isinstance(result, Loaded) else result.diagnostics


def places_of(text: str) -> list[tuple[str, int, int]]:
    """Code, line and column of each finding."""
    return [(each.code, each.source.line, each.source.column) for each in findings_of(text) if each.source]


def server(*lines: str) -> str:
    """A file with one server `s` of these lines; the first of them stands in line 5, column 7."""
    return "version: 1\nmcp:\n  servers:\n    - name: s\n" + "".join(f"      {line}\n" for line in lines)


def assistant(*lines: str) -> str:
    """A file with the server `s` and an assistant `a` of these lines; the first of them stands in line 8, column 5."""
    return server("command: [x]") + "assistants:\n  - name: a\n" + "".join(f"    {line}\n" for line in lines)
