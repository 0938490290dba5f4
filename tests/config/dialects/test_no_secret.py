"""Property: no secret that stands in a configuration stands in anything that an import gives back."""

import json
import string
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.config.dialects.importing import import_files
from remit.config.dialects.reporting import import_document
from remit.config.dialects.writing import mcp_text
from remit.render.diagnostics import diagnostics_text

ALPHABET = string.ascii_letters + string.digits
STARTS = st.sampled_from(["", "ghp_", "sk-", "xoxb-1-", "dummy$", "p@ss/", "a b "])
BODIES = st.text(ALPHABET, min_size=24, max_size=40)
NAMES = st.sampled_from(
    ["TOKEN", "GITHUB_TOKEN", "apiKey", "DB_PASSWORD", "client_secret", "X-Api-Key", "Authorization"]
)
FLAGS = st.sampled_from(["--token", "--api-key", "--password", "--client-secret"])


@st.composite
def planted(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A server with one secret under a name that tells it, in one of the places where people put them."""
    secret, name, flag = draw(STARTS) + draw(BODIES), draw(NAMES), draw(FLAGS)
    variable = name.replace("-", "_")
    servers: list[dict[str, Any]] = [
        {"command": "x", "env": {variable: secret}},
        {"command": "x", "env": {variable: f"Bearer {secret}"}},
        {"command": "x", "args": [flag, secret], "env": {"PLAIN": "1"}},
        {"command": "x", "args": [f"{flag}={secret}"]},
        {"command": "docker", "args": ["run", "-e", f"{variable}={secret}", "img"]},
        {"command": "npx", "args": ["mcp-remote", "https://a.example.com/mcp", "--header", f"{name}: {secret}"]},
        {"command": "npx", "args": ["mcp-remote", "https://a.example.com/mcp", "--header", "X-K:${T}"], "env": {"T": f"Bearer {secret}"}},
        {"url": "https://a.example.com/mcp", "headers": {name: secret}},
        {"url": "https://a.example.com/mcp", "headers": {"Authorization": f"Bearer {secret}"}},
        {"command": "x", "vendor": [{"deep": {variable: secret}}]},
        {"command": "x", "env": {variable: secret}, "description": f"use {secret} here"},
        {"command": "x", "args": ["--note", secret], "env": {variable: secret}},
        {"command": "x", "env": {variable: f"${{OTHER:-{secret}}}"}},
    ]  # fmt: skip
    return draw(st.sampled_from(servers)), secret


@settings(deadline=None, max_examples=300)
@given(planted(), st.sampled_from(["m.json", "cline_mcp_settings.json", "m.yaml"]), st.booleans())
def test_no_secret_of_an_input_appears_in_any_output(
    case: tuple[dict[str, Any], str], name: str, disabled: bool
) -> None:
    server, secret = case
    text = json.dumps({"mcpServers": {"acme": {**server, "disabled": disabled}}})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(text, "utf-8")
        found = import_files([path])
    outputs = [
        mcp_text(found.servers, workspace="w", assistant="ops"),
        mcp_text(found.servers, workspace="w", assistant=None),
        diagnostics_text(found.diagnostics, colour=False),
        json.dumps(import_document(found, file="mcp.yaml", written=[])),
        repr(found),
    ]
    for spelling in {secret, secret.replace("$", "$$"), secret.strip(), secret[-24:]}:
        assert not any(spelling in output for output in outputs), (spelling, outputs[0])
