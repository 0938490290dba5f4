"""What servers offer and what the database holds, word for word."""

import json
from dataclasses import replace

from remit.core.definition import Definition
from remit.core.governance import Suspension, SuspensionTarget
from remit.core.identity import CanonicalId, HttpEndpoint, ProviderName, RemoteName, ServerId, StdioEndpoint
from remit.core.live import (
    Era,
    Listed,
    ListedTool,
    McpDiscoveredTool,
    Quarantine,
    QuarantineReason,
    ServerIdentity,
    Skipped,
    SkipReason,
    Unreachable,
    UnreachableReason,
)
from remit.core.ports import HistoryEntry
from remit.core.recorded import LastGood, Recorded, RecordedAssistant, RecordedAttachment, RecordedServer
from remit.core.report import DatabaseFacts, StatusReport
from remit.render.listing_text import ServerListing, discover_document, discover_text
from remit.render.status_text import status_document, status_text
from tests.render.examples import LOCKED, NOON, SEARCH

HOSTILE = Definition.of(description="Star.\n::error::x\x1b[31m", input_schema={"type": "object"})

LISTINGS: tuple[ServerListing, ...] = (
    (
        "github",
        Listed(
            tools=(
                ListedTool(remote_name=RemoteName("search.issues"), definition=SEARCH),
                ListedTool(remote_name=RemoteName("star"), definition=HOSTILE),
            ),
            quarantined=(Quarantine(remote_name="", reason=QuarantineReason.INVALID_NAME, detail="empty"),),
            era=Era.MODERN,
            protocol_version="2026-07-28",
            server_info=ServerIdentity(name="gh\u202e", version="1.0"),
            observed_at=NOON,
            notes=("a note",),
        ),
        (
            McpDiscoveredTool(
                server_id=ServerId("mcp_a"),
                remote_name=RemoteName("search.issues"),
                canonical_id=CanonicalId("tool_a"),
                provider_name=ProviderName("github__search_issues"),
                definition=SEARCH,
            ),
            McpDiscoveredTool(
                server_id=ServerId("mcp_a"),
                remote_name=RemoteName("star"),
                canonical_id=CanonicalId("tool_b"),
                provider_name=ProviderName("github__star"),
                definition=HOSTILE,
            ),
        ),
    ),
    ("quiet", Listed(tools=(), era=Era.LEGACY, protocol_version="2025-06-18", observed_at=NOON), ()),
    ("jira", Unreachable(reason=UnreachableReason.TIMEOUT, detail="no answer within 10 s"), ()),
    ("files", Skipped(SkipReason.DISABLED), ()),
)


def test_each_server_is_a_block_with_all_names_of_its_tools():
    assert (
        discover_text(LISTINGS, colour=False, width=100)
        == rf"""files  not asked: disabled in the file

github  2 tools, 1 quarantined; modern era, protocol 2026-07-28, calls itself gh\u202e 1.0
  REMOTE NAME    PROVIDER NAME          CANONICAL ID  DIGEST           DESCRIPTION
  search.issues  github__search_issues  tool_a        {SEARCH.definition_digest[:15]}  Search issues.
  star           github__star           tool_b        {HOSTILE.definition_digest[:15]}  Star.\n::error::x\x1b[31m
  ! quarantined  (no name)  invalid_name: empty
  note: a note

jira  unreachable (timeout): no answer within 10 s

quiet  0 tools; legacy era, protocol 2025-06-18, gives no name

2 of 4 servers listed, 2 tools, 1 quarantined
"""
    )


def test_a_discovered_tool_is_given_in_full():
    document = json.loads(json.dumps(discover_document(LISTINGS)))
    assert [server["status"] for server in document["servers"]] == ["listed", "listed", "unreachable", "skipped"]
    assert document["servers"][0]["tools"][0] == {
        "server_id": "mcp_a",
        "remote_name": "search.issues",
        "canonical_id": "tool_a",
        "provider_name": "github__search_issues",
        "definition": {
            "title": None,
            "description": "Search issues.",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            },
            "outputSchema": None,
            "annotations": {},
        },
        "definition_digest": SEARCH.definition_digest,
        "contract_digest": SEARCH.contract_digest,
    }
    assert document["servers"][2:] == [
        {"status": "unreachable", "server": "jira", "reason": "timeout", "detail": "no answer within 10 s"},
        {"status": "skipped", "server": "files", "reason": "disabled"},
    ]


GITHUB = RecordedServer(
    server_id=ServerId("mcp_a"),
    owner="platform",
    workspace="acme",
    name="github",
    namespace="github",
    endpoint=HttpEndpoint("https://api.example.com/mcp"),
    era="modern",
    last_good=LastGood(tools=2, observed_at=NOON),
)
STATUS = StatusReport(
    workspace="acme",
    database=DatabaseFacts(exists=True, dialect="sqlite", lineage="7f3a", serial=2),
    recorded=Recorded(
        servers=(
            GITHUB,
            RecordedServer(
                server_id=ServerId("mcp_b"),
                owner="platform",
                workspace="acme",
                name="files",
                namespace="fs",
                endpoint=StdioEndpoint(("files-server",)),
                enabled=False,
            ),
            RecordedServer(
                server_id=ServerId("mcp_c"),
                owner="platform",
                workspace="other",
                name="slack",
                namespace="slack",
                endpoint=StdioEndpoint(("slack-server",)),
            ),
        ),
        assistants=(
            RecordedAssistant(
                owner="platform",
                workspace="acme",
                name="ops",
                permissions=("read_issues",),
                revision=3,
                foreign_functions=("lookup",),
            ),
            RecordedAssistant(owner="platform", workspace="other", name="sales"),
        ),
        attachments=tuple(
            RecordedAttachment(
                workspace=workspace,
                assistant_owner="platform",
                assistant=assistant,
                server_id=ServerId("mcp_a"),
                remote_name=RemoteName("search.issues"),
                canonical_id=CanonicalId("tool_a"),
                provider_name=ProviderName("github__search_issues"),
                definition=SEARCH,
                envelope=LOCKED,
                function_text=None,
                function_name=None,
                function_digest="",
            )
            for workspace, assistant in (("acme", "ops"), ("other", "sales"))
        ),
    ),
    history=(
        HistoryEntry(
            workspace="acme",
            serial=2,
            actor="user:ana",
            at=NOON,
            commit="9c1e2f00112233445566",
            digest="sha256:ab",
            outcome="applied",
            summary={"attach": 1, "detach": 0, "held": 2},
        ),
    ),
)


def test_a_status_shows_the_own_rows_and_counts_the_others():
    assert (
        status_text(STATUS, colour=False, width=100)
        == f"""\
Workspace acme
  database  sqlite, lineage 7f3a, serial 2
  unmanaged, never touched: 1 server, 1 assistant, 1 attachment, 1 function

servers
  files   stdio, disabled  files-server                 never connected to  never listed
  github  streamable_http  https://api.example.com/mcp  modern era          2 tools, listed 2026-11-30T12:00:00Z

assistant ops  1 tool; permissions read_issues; 1 foreign function
  github__search_issues  github/search.issues  locked, no side effects, needs read_issues  {SEARCH.definition_digest[:15]}

last applies
  serial 2  2026-11-30T12:00:00Z  user:ana  commit 9c1e2f001122  applied  1 attach
"""
    )


def test_a_status_document_holds_the_same_in_full():
    document = json.loads(json.dumps(status_document(STATUS)))
    assert document["assistants"] == [
        {
            "name": "ops",
            "permissions": ["read_issues"],
            "revision": 3,
            "foreign_functions": ["lookup"],
            "tools": [
                {
                    "provider_name": "github__search_issues",
                    "server": "github",
                    "remote_name": "search.issues",
                    "canonical_id": "tool_a",
                    "envelope": {
                        "surface": "locked",
                        "side_effecting": False,
                        "reversible": False,
                        "required_permission": "read_issues",
                        "unknown_arguments": "reject",
                        "record": "full",
                        "audit_arguments": "digest",
                    },
                    "definition_digest": SEARCH.definition_digest,
                    "enabled": True,
                }
            ],
        }
    ]
    assert document["unmanaged"] == {"servers": 1, "assistants": 1, "attachments": 1, "functions": 1}
    assert [each["name"] for each in document["servers"]] == ["files", "github"]
    assert document["applies"][0]["summary"] == {"attach": 1, "detach": 0, "held": 2}


def test_a_status_shows_first_what_is_suspended():
    suspension = Suspension(
        target=SuspensionTarget(server_id="mcp_a"),
        address="server.github",
        actor="user:ana",
        at=NOON,
        reason="leaks\x1b[2J\n::error::x",
    )
    report = replace(STATUS, suspensions=(suspension,))
    assert status_text(report, colour=False, width=100).splitlines()[4:7] == [
        "suspended: every call is denied",
        r"  server.github  leaks\x1b[2J\n::error::x  by user:ana  2026-11-30T12:00:00Z",
        "",
    ]
    assert status_document(report)["suspensions"] == [
        {
            "address": "server.github",
            "server_id": "mcp_a",
            "assistant": None,
            "remote_name": None,
            "actor": "user:ana",
            "at": "2026-11-30T12:00:00Z",
            "reason": "leaks\x1b[2J\n::error::x",
        }
    ]
    assert status_document(STATUS)["suspensions"] == []


def test_a_workspace_without_a_database_has_an_empty_status():
    report = StatusReport(workspace="acme", database=DatabaseFacts(exists=False, dialect="sqlite"), recorded=Recorded())
    assert (
        status_text(report, colour=False, width=80)
        == "Workspace acme\n  database  sqlite, does not exist yet: nothing is recorded\n"
    )
