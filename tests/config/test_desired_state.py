"""What a file that holds comes to."""

from pathlib import Path

from remit.config.loader import Loaded, load
from remit.core.desired import (
    Alias,
    BearerAuth,
    ClientCredentialsAuth,
    ConfigFile,
    Connection,
    Desired,
    DesiredAssistant,
    DesiredServer,
    Pattern,
    PrivateKeyJwtAuth,
    ProtocolPin,
    Selection,
    Tls,
    ToolPolicy,
)
from remit.core.diagnostics import Source
from remit.core.envelope import UNSET, AuditedArguments, EnvelopePatch, Recording, Surface, UnknownArguments
from remit.core.identity import HttpEndpoint, StdioEndpoint, Transport
from tests.config.reading import EXAMPLE, desired_of, findings_of, read, server


def at(line: int, column: int) -> Source:
    return Source("mcp.yaml", line, column)


def test_the_example_of_the_design_is_read_whole() -> None:
    assert desired_of(EXAMPLE) == Desired(
        workspace="acme-ops",
        owner="platform",
        servers=(
            DesiredServer(
                name="analytics",
                namespace="analytics",
                endpoint=StdioEndpoint(("{python}", "-m", "remit_analytics"), "."),
                source=at(9, 7),
                connection=Connection(env={"ANALYTICS_DB": "${env:ANALYTICS_DB:-analytics.duckdb}"}),
                envelope=EnvelopePatch(
                    surface=Surface.LOCKED, side_effecting=False, required_permission="read_analytics"
                ),
                envelope_source=at(18, 7),
                tools={
                    "run_query": ToolPolicy(
                        patch=EnvelopePatch(
                            surface=Surface.LOCKED, side_effecting=False, required_permission="query_analytics"
                        ),
                        source=at(20, 9),
                    )
                },
            ),
            DesiredServer(
                name="tickets",
                namespace="tickets",
                endpoint=HttpEndpoint("https://tickets.example.com/mcp"),
                source=at(21, 7),
                instance="prod",
                connection=Connection(
                    headers={"Authorization": "Bearer ${env:TICKETS_TOKEN}"}, tls=Tls(ca_file="/etc/ssl/corp.pem")
                ),
            ),
        ),
        assistants=(
            DesiredAssistant(
                name="ops",
                source=at(28, 5),
                permissions=("read_analytics", "query_analytics"),
                selections=(
                    Selection(
                        server="analytics",
                        source=at(31, 9),
                        include=(
                            Pattern(text="list_metrics", source=at(32, 19)),
                            Pattern(text="run_query", source=at(32, 33)),
                        ),
                        aliases={"run_query": Alias(provider_name="analytics_query", source=at(34, 30))},
                    ),
                ),
            ),
        ),
        default_envelope=EnvelopePatch(surface=Surface.HUMAN_CONTROLLED, side_effecting=True, reversible=False),
        default_envelope_source=at(7, 3),
        files=(ConfigFile(path="mcp.yaml", sha256=desired_of(EXAMPLE).files[0].sha256),),
    )
    assert findings_of(EXAMPLE) == ()


def test_a_file_is_known_by_its_path_as_written_and_the_hash_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "mcp.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: 1\r\nmcp: {servers: [{name: a, command: [x]}]}\r\n")
    result = load(path, display="./mcp.yaml")
    assert isinstance(result, Loaded)
    assert (result.desired.files, result.base_dir) == (
        (ConfigFile(path="./mcp.yaml", sha256="c4142a0ce5152d693122ece27b04b94674fc86e699532ec0b0f6a360109cc491"),),
        tmp_path,
    )
    assert result.desired.servers[0].source == Source("./mcp.yaml", 2, 17)


def test_everything_left_out_gets_the_documented_default() -> None:
    assert desired_of(server("command: [x]")) == Desired(
        workspace="default",
        owner="local",
        servers=(DesiredServer(name="s", namespace="s", endpoint=StdioEndpoint(("x",)), source=at(4, 7)),),
        files=desired_of(server("command: [x]")).files,
    )


def test_every_key_of_a_connection_arrives() -> None:
    lines = (
        "url: HTTPS://X.example.com:443/a/../mcp?q=1",
        "transport: sse",
        "protocol: 2026-07-28",
        "timeout_seconds: 0.5",
        "call_timeout_seconds: 0.5",
    )
    more = ("start_timeout_seconds: 0x10", "allow_private_network: true", "enabled: false")
    [found] = desired_of(server(*lines, *more)).servers
    assert (found.endpoint, found.enabled) == (HttpEndpoint("https://x.example.com/mcp?q=1", Transport.SSE), False)
    assert found.connection == Connection(
        protocol=ProtocolPin.MODERN,
        timeout_seconds=0.5,
        call_timeout_seconds=0.5,
        start_timeout_seconds=16.0,
        allow_private_network=True,
    )


def test_a_deadline_of_a_call_that_nobody_gave_is_never_below_its_silence() -> None:
    def limits(*lines: str) -> tuple[float, float]:
        connection = desired_of(server("command: [x]", *lines)).servers[0].connection
        return connection.timeout_seconds, connection.call_timeout_seconds

    assert limits() == (30, 300)
    assert limits("timeout_seconds: 600") == (600, 600)
    assert limits("timeout_seconds: 600", "call_timeout_seconds: 900") == (600, 900)


def test_the_example_of_the_documentation_holds_without_a_warning() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    (example,) = (part.split("```")[0] for part in page.split("```yaml\n")[1:] if part.startswith("version: 1\n"))
    found = desired_of(example)
    assert (findings_of(example), found.trace_days, found.servers[0].connection) == (
        (),
        30,
        Connection(timeout_seconds=30, call_timeout_seconds=900),
    )
    assert {name: policy.patch for name, policy in found.servers[0].tools.items()} == {
        "close_ticket": EnvelopePatch(side_effecting=True, audit_arguments=AuditedArguments.VALUES),
        "search_people": EnvelopePatch(record=Recording.DIGEST),
        "run_report": EnvelopePatch(unknown_arguments=UnknownArguments.PASS),
    }


def test_protocol_events_are_kept_a_week_or_as_long_as_the_file_says() -> None:
    assert [
        desired_of(text + server("command: [x]")).trace_days for text in ("", "trace_days: 0\n", "trace_days: 3650\n")
    ] == [7, 0, 3650]


def test_every_field_of_a_policy_arrives_from_default_server_and_tool() -> None:
    first = (
        "{surface: locked, side_effecting: false, reversible: true, required_permission: a, unknown_arguments: pass}"
    )
    text = (
        f"version: 1\nmcp:\n  default_envelope: {first}\n  servers:\n    - name: s\n      command: [x]\n"
        "      envelope: {record: digest, audit_arguments: values}\n"
        "      tools: {x: {unknown_arguments: reject, record: full, audit_arguments: digest}}\n"
    )
    found = desired_of(text)
    assert (found.default_envelope, found.servers[0].envelope, found.servers[0].tools["x"].patch) == (
        EnvelopePatch(
            surface=Surface.LOCKED,
            side_effecting=False,
            reversible=True,
            required_permission="a",
            unknown_arguments=UnknownArguments.PASS,
        ),
        EnvelopePatch(record=Recording.DIGEST, audit_arguments=AuditedArguments.VALUES),
        EnvelopePatch(
            unknown_arguments=UnknownArguments.REJECT, record=Recording.FULL, audit_arguments=AuditedArguments.DIGEST
        ),
    )


def test_each_kind_of_auth_is_read() -> None:
    def auth(text: str) -> object:
        return desired_of(server("url: https://x.example.com/mcp", f"auth: {{{text}}}")).servers[0].connection.auth

    fetched = 'token_url: "https://id.example.com/token", client_id: me, scopes: [a, b]'
    assert auth('type: bearer, token: "${env:T}"') == BearerAuth(token="${env:T}")
    assert auth(f'type: oauth_client_credentials, {fetched}, client_secret: "${{file:s}}"') == ClientCredentialsAuth(
        token_url="https://id.example.com/token", client_id="me", client_secret="${file:s}", scopes=("a", "b")
    )
    assert auth(f'type: private_key_jwt, {fetched}, private_key: "${{file:k}}", key_id: k1') == PrivateKeyJwtAuth(
        token_url="https://id.example.com/token",
        client_id="me",
        private_key="${file:k}",
        key_id="k1",
        scopes=("a", "b"),
    )


def test_a_permission_of_null_is_said_and_an_absent_one_is_not() -> None:
    tools = desired_of(
        server("command: [x]", "tools: {a: {required_permission: null}, b: {}, c: {required_permission: ~}}")
    )
    patches = {name: policy.patch.required_permission for name, policy in tools.servers[0].tools.items()}
    assert patches == {"a": None, "b": UNSET, "c": None}


def test_only_true_and_false_are_flags_and_no_on_and_times_are_text() -> None:
    lines = ("command: [no, on, 12:30, 0o14x, 1_000, 2026-11-30, y]", "env: {A: off, B: 1:2, C: 'null', D: \"\"}")
    [found] = desired_of(server(*lines)).servers
    assert found.endpoint == StdioEndpoint(("no", "on", "12:30", "0o14x", "1_000", "2026-11-30", "y"))
    assert found.connection.env == {"A": "off", "B": "1:2", "C": "null", "D": ""}


def test_references_stay_as_written() -> None:
    [found] = desired_of(server('command: [x, "${env:A}/${file:b}", "$$5"]', 'env: {T_TOKEN: "${env:T}"}')).servers
    assert found.endpoint == StdioEndpoint(("x", "${env:A}/${file:b}", "$$5"))
    assert found.connection.env == {"T_TOKEN": "${env:T}"}


def test_reserved_names_are_kept_case_folded() -> None:
    text = server("command: [x]") + "reserved_names: [My_Function]\n"
    assert desired_of(text).reserved_names == frozenset({"my_function"})


def test_one_endpoint_may_be_registered_twice_under_two_instances() -> None:
    text = server("url: https://x.example.com/mcp", "instance: a") + (
        "    - {name: t, url: 'https://X.example.com:443/mcp', instance: b}\n"
    )
    assert [each.instance for each in desired_of(text).servers] == ["a", "b"]


def test_a_file_without_servers_holds_with_one_warning() -> None:
    result = read("version: 1\n")
    assert isinstance(result, Loaded)
    assert [(each.code, each.source) for each in result.warnings] == [("no-servers", at(1, 1))]
