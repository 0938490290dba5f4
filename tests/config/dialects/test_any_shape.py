"""Property: whatever stands in a file, an import ends with findings or with servers that mcp.yaml can have."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.config.dialects.importing import import_files
from remit.config.dialects.table import DIALECTS
from tests.config.dialects.support import entries

KEYS = [
    "command", "args", "env", "url", "httpUrl", "headers", "type", "envFile", "cwd", "disabled", "enabled", "timeout",
    "alwaysAllow", "trust", "tools", "includeTools", "excludeTools", "name", "requestOptions", "env_http_headers",
    "env_vars", "auth_value", "alias", "environment", "description", "startup_timeout_sec", "headersFrom", "x",
]  # fmt: skip
WORDS = [
    "", "x", "npx", "https://a.example.com/mcp", "http://[::1", "https://u:p@h/x", "${A}", "${", "$A", "${input:x}", "{{A}}",
    "op://a/b", "stdio", "sse", "30s", "-1", "a\nb", "\u202e", "bash", "-c", "--token", "Bearer abcdefghi", "mcp-remote",
    "https://a/%zz", "docker", "run", "é", "*", "A=b", "--header", "X: y", "https://h/?token=abc&x=1#f",
]  # fmt: skip
ROOTS: list[Callable[[Any], Any]] = [
    lambda servers: {"mcpServers": servers},
    lambda servers: {"servers": servers, "inputs": [{"id": "x"}]},
    lambda servers: {"context_servers": servers},
    lambda servers: {"mcp_servers": servers, "litellm_settings": {"mcp_aliases": {"q": "a"}}},
    lambda servers: {"mcp": {"servers": servers}},
    lambda servers: {"mcp": servers},
    lambda servers: {"mcpServers": [servers, {"name": "n", **servers}]},
    lambda spec: {
        "apiVersion": "kagent.dev/v1alpha2",
        "kind": "RemoteMCPServer",
        "metadata": {"name": "a"},
        "spec": spec,
    },
    lambda spec: {
        "apiVersion": "toolhive.stacklok.dev/v1",
        "kind": "MCPServer",
        "metadata": {"name": "a"},
        "spec": spec,
    },
]

LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=6)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=14,
)
ENTRIES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=7)
SERVERS = st.dictionaries(
    st.sampled_from(["a", "A", "a b", "no", "x/y"]) | st.text(max_size=6), ENTRIES | VALUES, max_size=4
)


@settings(deadline=None, max_examples=150)
@given(
    SERVERS, st.sampled_from(ROOTS), st.sampled_from(["m.json", "m.yaml"]), st.sampled_from([None, *DIALECTS.values()])
)
def test_nothing_in_a_file_breaks_an_import_or_makes_a_file_that_does_not_load(
    servers: Any, root: Callable[[Any], Any], name: str, dialect: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(json.dumps(root(servers)), "utf-8")
        found = import_files([path], dialect=dialect)
    assert found.servers or found.diagnostics or not found.dialects
    if found.servers:
        entries(found, assistant="ops")
        entries(found)
