"""A flowchart shows names and obeys none of them."""

import re

from remit.core.definition import Definition
from remit.core.envelope import MOST_RESTRICTIVE
from remit.core.holdings import holdings_of
from remit.core.identity import CanonicalId, ProviderName, RemoteName, ServerId, StdioEndpoint
from remit.core.recorded import Recorded, RecordedAssistant, RecordedAttachment, RecordedServer
from remit.render.graph_text import graph_mermaid, graph_text

HOSTILE = 'x"] --> evil\nclick a0 "javascript:1" %% <b>`#quot;`\u202e\x1b[2J ::error::'


def hostile(name: str, *, enabled: bool = True) -> Recorded:
    definition = Definition(text="{}", definition_digest="d1:0", contract_digest="d1:0")
    return Recorded(
        servers=(
            RecordedServer(
                server_id=ServerId("mcp_a"),
                owner="local",
                workspace="demo",
                name=name,
                namespace="n",
                endpoint=StdioEndpoint(("run",), None),
            ),
        ),
        assistants=(RecordedAssistant(owner="local", workspace="demo", name=name),),
        attachments=(
            RecordedAttachment(
                workspace="demo",
                assistant_owner="local",
                assistant=name,
                server_id=ServerId("mcp_a"),
                remote_name=RemoteName(name),
                canonical_id=CanonicalId("tool_a"),
                provider_name=ProviderName(name),
                definition=definition,
                envelope=MOST_RESTRICTIVE,
                function_text=None,
                function_name=None,
                function_digest="",
                enabled=enabled,
            ),
        ),
    )


def test_no_name_leaves_its_label_in_a_flowchart():
    lines = graph_mermaid(holdings_of(hostile(HOSTILE), "demo")).splitlines()
    assert len(lines) == 5
    label = r"[A-Za-z0-9 _#;-]*"
    forms = (
        r"flowchart LR",
        rf'  a0\(\["assistant {label}"\]\)',
        rf'  s0\[\("server {label}"\)\]',
        rf'  a0 --> t0\["{label}"\]',
        rf'  t0 -->\|"{label}"\| s0',
    )
    for form, line in zip(forms, lines, strict=True):
        assert re.fullmatch(form, line), line


def test_a_plain_line_holds_no_control_character():
    text = graph_text(holdings_of(hostile(HOSTILE), "demo"), colour=False)
    assert all(line.isprintable() for line in text.splitlines())


def test_a_disabled_tool_is_drawn_dotted_and_said_so():
    held = holdings_of(hostile("plain", enabled=False), "demo")
    assert '  t0 -.->|"human_controlled#44; disabled"| s0' in graph_mermaid(held)
    assert "human_controlled, disabled" in graph_text(held, colour=False)


def test_a_workspace_without_assistants_says_so():
    assert graph_text(holdings_of(Recorded(), "demo"), colour=False) == "Workspace demo has no assistants\n"
