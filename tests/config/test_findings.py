"""Every mistake is found, at its place, together with all others."""

import pytest

from remit.config.codes import CODES
from remit.config.import_codes import IMPORT_CODES
from remit.core.diagnostics import Diagnostic, Severity, Source
from tests.config.reading import assistant, findings_of, places_of, server

HTTP = "url: https://x.example.com/mcp"
STDIO = "command: [x]"
DEFAULTS = "version: 1\nmcp:\n  default_envelope: {surface: %s}\n  servers: [{name: s, command: [x]}]\n"

BAD: dict[str, tuple[str, list[tuple[str, int, int]]]] = {
    # The file as a whole
    "nothing": ("", [("empty-file", 1, 1)]),
    "comments only": ("# version: 1\n", [("empty-file", 1, 1)]),
    "an empty document": ("---\n...\n", [("empty-file", 1, 1)]),
    "null": ("null\n", [("empty-file", 1, 1)]),
    "a text": ("hello\n", [("wrong-type", 1, 1)]),
    "a list": ("- version: 1\n", [("wrong-type", 1, 1)]),
    "two documents": ("version: 1\n---\nversion: 1\n", [("yaml-second-document", 2, 1)]),
    "no servers": ("version: 1\n", [("no-servers", 1, 1)]),
    "no version": ("mcp: {servers: [{name: s, command: [x]}]}\n", [("missing-key", 1, 1)]),
    "version 2": ("version: 2\nmcp: {servers: [{name: s, command: [x]}]}\n", [("unsupported-version", 1, 10)]),
    "version in quotes": ("version: '1'\nmcp: {servers: [{name: s, command: [x]}]}\n", [("wrong-type", 1, 10)]),
    # What YAML can do and mcp.yaml may not
    "an anchor": (server("command: &c [x]"), [("yaml-anchor", 5, 16)]),
    "an alias": (server(STDIO, "env: *e"), [("yaml-alias", 6, 12)]),
    "a tag": (server("command: [!!python/name:os.system x]"), [("yaml-tag", 5, 17)]),
    "a short tag": (server("command: !secret [x]"), [("yaml-tag", 5, 16)]),
    "a merge key": (server(STDIO, "<<: {enabled: false}"), [("yaml-merge-key", 6, 7)]),
    "a quoted merge key is a key": (server(STDIO, "'<<': {}"), [("unknown-key", 6, 7)]),
    "a key twice": (server(STDIO, "enabled: true", "enabled: false"), [("duplicate-key", 7, 7)]),
    "a key that is a list": (server(STDIO, "? [a]", ": b"), [("yaml-key", 6, 9)]),
    "a tab": (server(STDIO, "\tenabled: true"), [("yaml-syntax", 6, 7)]),
    "a bracket left open": ("version: [1\n", [("yaml-syntax", 2, 1)]),
    "an unquoted reference in braces": (server(STDIO, "env: {A: ${env:X}}"), [("yaml-syntax", 6, 17)]),
    "half a surrogate pair": (server('command: ["\\ud800"]'), [("yaml-syntax", 5, 20)]),
    # Keys and kinds
    "a misspelt key": (server(STDIO, "envelop: {}"), [("unknown-key", 6, 7)]),
    "a key in another case": (server(STDIO, "Enabled: true"), [("unknown-key", 6, 7)]),
    "a misspelt policy": (server(STDIO, "envelope: {side_efecting: false}"), [("unknown-key", 6, 18)]),
    "a connection nested as elsewhere": (
        server("transport: {type: http, url: 'https://x.example.com'}"),
        [("missing-key", 4, 7), ("wrong-type", 5, 18)],
    ),
    "a server without a name": ("version: 1\nmcp:\n  servers:\n    - command: [x]\n", [("missing-key", 4, 7)]),
    "a server without an endpoint": (server("enabled: true"), [("missing-key", 4, 7)]),
    "servers with nothing under it": ("version: 1\nmcp:\n  servers:\n", [("wrong-type", 3, 11)]),
    "a flag in quotes": (server(STDIO, 'envelope: {side_effecting: "false"}'), [("wrong-type", 6, 34)]),
    "a flag as no": (server(STDIO, "enabled: no"), [("wrong-type", 6, 16)]),
    "a number as a variable": (server(STDIO, "env: {PORT: 8080}"), [("wrong-type", 6, 19)]),
    "a number as a tool": (server(STDIO, "tools: {123: {}}"), [("wrong-type", 6, 15)]),
    "a command as one text": (server("command: npx -y x"), [("wrong-type", 5, 16)]),
    "an unquoted placeholder": (server("command: [{python}, -m, x]"), [("wrong-type", 5, 17)]),
    "an empty command": (server("command: []"), [("empty-list", 5, 16)]),
    "an empty program": (server("command: ['']"), [("invalid-command", 5, 17)]),
    "a whole command line": (server("command: [npx -y x@1.0.0]"), [("invalid-command", 5, 17)]),
    "another placeholder": (server("command: ['{node}']"), [("invalid-command", 5, 17)]),
    "an unknown surface": (server(STDIO, "envelope: {surface: lokced}"), [("wrong-value", 6, 27)]),
    "an unknown treatment of arguments": (server(STDIO, "envelope: {unknown_arguments: rejekt}"), [("wrong-value", 6, 37)]),
    "an unknown way to record": (server(STDIO, "tools: {x: {record: none}}"), [("wrong-value", 6, 27)]),
    "an unknown way to audit": (server(STDIO, "envelope: {audit_arguments: full}"), [("wrong-value", 6, 35)]),
    "arguments audited by a flag": (server(STDIO, "envelope: {audit_arguments: true}"), [("wrong-type", 6, 35)]),
    "unknown arguments misspelt": (server(STDIO, "envelope: {unknown_argument: pass}"), [("unknown-key", 6, 18)]),
    "a surface in capitals": (server(STDIO, "envelope: {surface: Locked}"), [("wrong-value", 6, 27)]),
    "an unknown protocol": (server(STDIO, "protocol: '2025'"), [("wrong-value", 6, 17)]),
    "a timeout of zero": (server(STDIO, "timeout_seconds: 0"), [("out-of-range", 6, 24)]),
    "a negative timeout": (server(STDIO, "timeout_seconds: -1"), [("out-of-range", 6, 24)]),
    "an endless timeout": (server(STDIO, "timeout_seconds: .inf"), [("out-of-range", 6, 24)]),
    "a timeout that is no number": (server(STDIO, "start_timeout_seconds: .nan"), [("out-of-range", 6, 30)]),
    "a timeout of 5,000 digits": (server(STDIO, "timeout_seconds: " + "9" * 5000), [("out-of-range", 6, 24)]),
    "a call shorter than its silence": (
        server(STDIO, "timeout_seconds: 40", "call_timeout_seconds: 39.5"),
        [("call-timeout-short", 7, 29)],
    ),
    "a call shorter than the silence that nobody gave": (
        server(STDIO, "call_timeout_seconds: 29"),
        [("call-timeout-short", 6, 29)],
    ),
    "a call of zero": (server(STDIO, "call_timeout_seconds: 0"), [("out-of-range", 6, 29)]),
    "a call of more than a day": (server(STDIO, "call_timeout_seconds: 86401"), [("out-of-range", 6, 29)]),
    "a call whose silence is out of range": (
        server(STDIO, "timeout_seconds: 90000", "call_timeout_seconds: 86400"),
        [("out-of-range", 6, 24)],
    ),
    "days below zero": ("trace_days: -1\n" + server(STDIO), [("out-of-range", 1, 13)]),
    "days of more than ten years": ("trace_days: 3651\n" + server(STDIO), [("out-of-range", 1, 13)]),
    "days of 5,000 digits": (f"trace_days: {'9' * 5000}\n" + server(STDIO), [("out-of-range", 1, 13)]),
    "half a day": ("trace_days: 0.5\n" + server(STDIO), [("wrong-type", 1, 13)]),
    "days in quotes": ("trace_days: '7'\n" + server(STDIO), [("wrong-type", 1, 13)]),
    "days under mcp": ("version: 1\nmcp:\n  trace_days: 7\n  servers: [{name: s, command: [x]}]\n", [("unknown-key", 3, 3)]),
    "arguments passed by default": (
        "version: 1\nmcp:\n  default_envelope: {unknown_arguments: pass}\n  servers: [{name: s, command: [x]}]\n",
        [("loose-default", 3, 3)],
    ),
    "a timeout in quotes": (server(STDIO, "timeout_seconds: '30'"), [("wrong-type", 6, 24)]),
    "a very long value": (server(f"command: [x, {'a b ' * 3000}]"), [("too-long", 5, 20)]),
    # Names
    "a workspace in capitals": ("workspace: Acme\n" + server(STDIO), [("invalid-name", 1, 12)]),
    "an owner with a space": ("owner: a b\n" + server(STDIO), [("invalid-name", 1, 8)]),
    "a path as a server name": (server(STDIO).replace("name: s", "name: ../x"), [("invalid-name", 4, 13)]),
    "a slash in a server name": (server(STDIO).replace("name: s", "name: a/b"), [("invalid-name", 4, 13)]),
    "a server name of 300": (server(STDIO).replace("name: s", "name: " + "s" * 300), [("invalid-name", 4, 13)]),
    "a right-to-left override": (server(STDIO).replace("name: s", "name: \u202es"), [("unsafe-character", 4, 13)]),
    "a zero-width space in a tool": (server(STDIO, "tools: {a\u200b: {}}"), [("unsafe-character", 6, 15)]),
    "a tag character in a command": (server("command: [x, a\U000e0041]"), [("unsafe-character", 5, 20)]),
    "a name that is no namespace": (server(STDIO).replace("name: s", "name: My server"), [("namespace-needed", 4, 13)]),
    "a namespace in capitals": (server(STDIO, "namespace: S"), [("invalid-namespace", 6, 18)]),
    "a namespace with two underscores": (server(STDIO, "namespace: a__b"), [("invalid-namespace", 6, 18)]),
    "a namespace of 21": (server(STDIO, "namespace: " + "s" * 21), [("invalid-namespace", 6, 18)]),
    "a server twice": (server(STDIO) + "    - {name: S, namespace: t, command: [y]}\n", [("duplicate-name", 6, 14)]),
    "a namespace twice": (
        server(STDIO) + "    - {name: t, namespace: s, command: [y]}\n",
        [("duplicate-namespace", 6, 28)],
    ),
    "an endpoint twice": (
        server(HTTP) + "    - {name: t, url: 'https://X.example.com:443/./%6dcp?#'}\n",
        [("duplicate-endpoint", 6, 22)],
    ),
    "a command twice": (server(STDIO) + "    - {name: t, command: [x]}\n", [("duplicate-endpoint", 6, 26)]),
    # Connections
    "command and url": (server(STDIO, HTTP), [("transport-conflict", 6, 7)]),
    "a url over stdio": (server(HTTP, "transport: stdio"), [("transport-conflict", 6, 18)]),
    "a command over http": (server(STDIO, "transport: sse"), [("transport-conflict", 6, 18)]),
    "headers of a command": (server(STDIO, "headers: {X-A: b}"), [("transport-conflict", 6, 7)]),
    "variables of a url": (server(HTTP, "env: {A: b}", "cwd: ."), [("transport-conflict", 6, 7), ("transport-conflict", 7, 7)]),
    "a relative url": (server("url: //x.example.com/mcp"), [("invalid-url", 5, 12)]),
    "a file url": (server("url: file:///etc/passwd"), [("invalid-url", 5, 12)]),
    "a url without a host": (server("url: 'https://'"), [("invalid-url", 5, 12)]),
    "port 0": (server("url: https://x.example.com:0/mcp"), [("invalid-url", 5, 12)]),
    "port 99999": (server("url: https://x.example.com:99999/mcp"), [("invalid-url", 5, 12)]),
    "a user in a url": (server("url: https://me@x.example.com/mcp"), [("invalid-url", 5, 12)]),
    "a backslash in a url": (server("url: 'https://good\\@127.0.0.1/mcp'"), [("invalid-url", 5, 12)]),
    "a fragment that hides the host": (server("url: 'https://x.example.com#@y/mcp'"), []),
    "a tab in a url": (server('url: "https://x.example.com/\\tmcp"'), [("unsafe-character", 5, 12)]),
    "a line break in a url": (server('url: "https://x.example.com/\\r\\nmcp"'), [("unsafe-character", 5, 12)]),
    "a reference as host": (server("url: https://${env:HOST}/mcp"), [("invalid-url", 5, 12)]),
    "a reference as scheme": (server("url: '${env:URL}'"), [("invalid-url", 5, 12)]),
    "a reference as program": (server("command: ['${env:X}']"), [("reference-not-allowed", 5, 17)]),
    "a reference in a name": (server(STDIO).replace("name: s", "name: '${env:N}'"), [("reference-not-allowed", 4, 13)]),
    "a reference in a policy": (
        server(STDIO, "envelope: {required_permission: $READ}"),
        [("reference-not-allowed", 6, 39)],
    ),
    "a reference in tls": (server(HTTP, "tls: {ca_file: '${env:CA}'}"), [("reference-not-allowed", 6, 22)]),
    "the form of other tools": (server(HTTP, 'headers: {Authorization: "Bearer ${T}"}'), [("invalid-reference", 6, 32)]),
    "the form of other tools in a command": (server("command: [x, $T]"), [("invalid-reference", 5, 20)]),
    "the form of other tools in a url": (server("url: https://x.example.com/$T"), [("invalid-reference", 5, 12)]),
    "remit's own variables": (server(STDIO, "env: {A: '${env:REMIT_TOKEN}'}"), [("invalid-reference", 6, 16)]),
    "a variable for remit": (server(STDIO, "env: {REMIT_X: a}"), [("invalid-env-name", 6, 13)]),
    "a variable with a dash": (server(STDIO, "env: {A-B: a}"), [("invalid-env-name", 6, 13)]),
    "a NUL in a variable": (server(STDIO, 'env: {A: "a\\0b"}'), [("unsafe-character", 6, 16)]),
    "a header with a space": (server(HTTP, "headers: {X A: b}"), [("invalid-header", 6, 17)]),
    "a header with a line break": (server(HTTP, 'headers: {X-A: "b\\r\\nX-B: c"}'), [("invalid-header", 6, 22)]),
    "a header of the client": (server(HTTP, "headers: {Host: b}"), [("invalid-header", 6, 17)]),
    "a header of the protocol": (server(HTTP, "headers: {Mcp-Session-Id: b}"), [("invalid-header", 6, 17)]),
    "a header twice": (server(HTTP, "headers: {X-A: b, x-a: c}"), [("invalid-header", 6, 25)]),
    "a header against auth": (
        server(HTTP, "headers: {authorization: '${env:A}'}", "auth: {type: bearer, token: '${env:A}'}"),
        [("invalid-header", 6, 17)],
    ),
    "auth without a type": (server(HTTP, "auth: {token: '${env:A}'}"), [("missing-key", 6, 7)]),
    "auth of an unknown type": (server(HTTP, "auth: {type: basic}"), [("wrong-value", 6, 20)]),
    "auth with a key of another type": (
        server(HTTP, "auth: {type: bearer, token: '${env:A}', scopes: [a]}"),
        [("unknown-key", 6, 47)],
    ),
    "a token url with a reference as host": (
        server(
            HTTP,
            "auth: {type: oauth_client_credentials, token_url: 'https://${env:H}/t', client_id: a, client_secret: '${env:A}'}",
        ),
        [("invalid-url", 6, 57)],
    ),
    "a client key alone": (server(HTTP, "tls: {client_key: k.pem}"), [("missing-key", 6, 13)]),
    "a hidden character in a file reference": (server("command: [x, '${file:a\u200bb}']"), [("unsafe-character", 5, 20)]),
    "a hidden character in a secret's path": (
        server(STDIO, 'env: {A: "${file:a\\nb}"}'),
        [("invalid-reference", 6, 16)],
    ),
    # Policies
    "open by default": (DEFAULTS % "open", [("open-default", 3, 31)]),
    "locked by default": (DEFAULTS % "locked", [("loose-default", 3, 3)]),
    "a glob as a policy": (server(STDIO, "tools: {'delete_*': {}}"), [("glob-in-policy", 6, 15)]),
    # Assistants
    "an assistant without a name": (server(STDIO) + "assistants: [{tools: []}]\n", [("missing-key", 6, 14)]),
    "a selection without a server": (assistant("tools: [{include: [x]}]"), [("missing-key", 8, 13)]),
    "an assistant twice": (assistant() + "  - name: A\n", [("duplicate-name", 8, 11)]),
    "a permission twice": (assistant("permissions: [a, a]"), [("duplicate-item", 8, 22)]),
    "a server nobody declared": (assistant("tools: [{server: z, include: [x]}]"), [("unknown-server", 8, 22)]),
    "a server selected twice": (
        assistant("tools:", "  - {server: s, include: [x]}", "  - {server: s, include: [y]}"),
        [("duplicate-selection", 10, 18)],
    ),
    "nothing included": (assistant("tools: [{server: s, include: []}]"), [("empty-list", 8, 34)]),
    "no include": (assistant("tools: [{server: s}]"), [("missing-key", 8, 13)]),
    "an alias of a tool that is not included": (
        assistant("tools: [{server: s, include: [x], aliases: {y: z}}]"),
        [("alias-without-tool", 8, 49)],
    ),
    "an alias of an excluded tool": (
        assistant("tools: [{server: s, include: ['*'], exclude: ['d*'], aliases: {del: z}}]"),
        [("alias-without-tool", 8, 68)],
    ),
    "an alias of a glob": (
        assistant("tools: [{server: s, include: ['a*'], aliases: {'ab*': z}}]"),
        [("alias-without-tool", 8, 52)],
    ),
    "an alias with a dot": (
        assistant("tools: [{server: s, include: [x], aliases: {x: a.b}}]"),
        [("invalid-alias", 8, 52)],
    ),
    "an alias of the platform": (
        assistant("tools: [{server: s, include: [x], aliases: {x: Web_Search}}]"),
        [("reserved-alias", 8, 52)],
    ),
    "an alias reserved by the file": (
        assistant("tools: [{server: s, include: [x], aliases: {x: MINE}}]") + "reserved_names: [mine]\n",
        [("reserved-alias", 8, 52)],
    ),
    "an alias twice": (
        assistant("tools: [{server: s, include: [x, y], aliases: {x: q, y: Q}}]"),
        [("duplicate-alias", 8, 61)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_at_the_exact_place(name: str) -> None:
    text, places = BAD[name]
    assert places_of(text) == places


def test_a_finding_shows_what_where_and_the_way_out() -> None:
    assert findings_of(server(STDIO, "envelope: {surface: lokced}", "tmeout_seconds: 3")) == (
        Diagnostic(
            code="wrong-value",
            message="`lokced` is no surface",
            source=Source("mcp.yaml", 6, 27),
            hint="did you mean `locked`?",
            excerpt="      envelope: {surface: lokced}",
        ),
        Diagnostic(
            code="unknown-key",
            message="`tmeout_seconds` is no key of `server`",
            source=Source("mcp.yaml", 7, 7),
            hint="did you mean `timeout_seconds`?",
            excerpt="      tmeout_seconds: 3",
        ),
    )


def test_a_warning_rejects_nothing() -> None:
    [found] = findings_of(DEFAULTS % "locked")
    assert found.severity is Severity.WARNING


def test_a_loose_default_is_told_field_by_field() -> None:
    loose = "{record: digest, audit_arguments: values, unknown_arguments: pass}"
    [found] = findings_of(f"version: 1\nmcp:\n  default_envelope: {loose}\n  servers: [{{name: s, command: [x]}}]\n")
    assert (found.severity, found.message) == (
        Severity.WARNING,
        "the default is looser than the built-in one: "
        "unknown arguments reject -> pass, record full -> digest, audit arguments digest -> values",
    )


def test_a_call_that_ends_before_its_silence_says_both_limits_and_the_way_out() -> None:
    assert findings_of(server(STDIO, "timeout_seconds: 40", "call_timeout_seconds: 39.5")) == (
        Diagnostic(
            code="call-timeout-short",
            message="the deadline of a whole call is below `timeout_seconds` (40), the longest silence within one",
            address="server.s",
            source=Source("mcp.yaml", 7, 29),
            hint="give at least 40, or lower `timeout_seconds`",
            excerpt="      call_timeout_seconds: 39.5",
        ),
    )


def test_different_mistakes_all_come_out_in_the_order_of_the_file() -> None:
    text = (
        "version: 1\nworkspce: a\nmcp:\n  servers:\n    - name: s\n      command: [x]\n      command: [y]\n"
        "      enabled: 'false'\n    - name: t\n      url: ftp://x\nassistants:\n  - name: a\n    tools:\n"
        "      - server: z\n        include: &all ['*']\n"
    )
    assert places_of(text) == [
        ("unknown-key", 2, 1),
        ("duplicate-key", 7, 7),
        ("wrong-type", 8, 16),
        ("invalid-url", 10, 12),
        ("unknown-server", 14, 17),
        ("yaml-anchor", 15, 18),
    ]


def test_findings_between_two_entries_name_the_line_of_the_first() -> None:
    text = server(HTTP) + "    - name: s\n      url: https://x.example.com/mcp\n      url: https://y.example.com/mcp\n"
    assert [(each.code, each.message) for each in findings_of(text)] == [
        ("duplicate-name", "line 4 has a server `s` already; case does not count"),
        ("duplicate-endpoint", "this is the same endpoint as in line 5"),
        ("duplicate-key", "`url` is given twice, in line 7 and in line 8"),
    ]


def test_the_hint_says_what_would_be_right() -> None:
    def hint(text: str) -> str | None:
        return findings_of(text)[0].hint

    assert hint(server(STDIO, "enabled: no")) == "`no` is text in YAML 1.2; write `false`"
    assert hint(server(STDIO, "enabled: 'no'")) == "write `false`, without quotes"
    assert hint(server(STDIO, "timeout_seconds: '30'")) == "write it without quotes"
    assert hint(server("command: [{python}]")) == 'write "{python}" in quotes'
    assert hint(server(STDIO).replace("name: s", "name: Azure MCP Server 2")) == "add `namespace: azure_mcp_server_2`"
    assert hint(server(STDIO).replace("name: s", "name: 42")) == 'write "42" in quotes'
    assert hint(server(STDIO, "envelope: {unknown_arguments: rejekt}")) == "did you mean `reject`?"
    assert hint(server(STDIO, "envelope: {record: none}")) == "one of digest, full"
    assert hint(server(STDIO, "envelope: {audit_argumens: values}")) == "did you mean `audit_arguments`?"
    assert hint(server(STDIO, "call_timeout: 60")) == "did you mean `call_timeout_seconds`?"
    assert hint("trace_day: 7\n" + server(STDIO)) == "did you mean `trace_days`?"
    assert hint("version: 1\nmcp: {trace_days: 7}\n") == "it stands beside `version`, not under `mcp`"
    assert hint("trace_days: '7'\n" + server(STDIO)) == "write it without quotes"
    assert hint(server(STDIO, "args: [a]")) == "arguments follow the program in `command: [program, argument]`"
    assert hint("version: 1\nmcp:\n  servers:\n") == "write `[]` if there are none, or delete the key"


def test_a_wrong_name_is_named_and_one_that_may_be_a_secret_is_not() -> None:
    def messages(name: str, alias: str) -> list[str]:
        text = (
            server(STDIO)
            + f"assistants: [{{name: a, tools: [{{server: {name}, include: [x], aliases: {{x: {alias}}}}}]}}]\n"
        )
        return [each.message for each in findings_of(text)]

    rule = "letters, digits, _ and - are allowed, at most 64, a letter first: what every model provider accepts"
    assert messages("other", "9 lives") == [
        "no server `other` is declared",
        f"`9 lives` is not an alias: {rule}",
    ]
    secret = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"
    assert messages(secret, secret) == ["no server of this name is declared", f"`x` is not an alias: {rule}"]


def test_a_misspelt_key_is_one_mistake_and_not_a_missing_one_too() -> None:
    text = "version: 1\nmcp: {servers: [{nmae: s, comand: [x]}]}\nassistants: [{name: a, tools: [{sever: s, include: [x]}]}]\n"

    assert [(each.code, each.message, each.hint) for each in findings_of(text)] == [
        ("unknown-key", "`nmae` is no key of `server`", "did you mean `name`?"),
        ("unknown-key", "`comand` is no key of `server`", "did you mean `command`?"),
        ("unknown-key", "`sever` is no key of `selection`", "did you mean `server`?"),
    ]


def test_a_server_without_a_name_makes_no_selection_look_wrong() -> None:
    text = "version: 1\nmcp: {servers: [{command: [x]}]}\nassistants: [{name: a, tools: [{server: s, include: [x]}]}]\n"
    assert places_of(text) == [("missing-key", 2, 17)]


def test_every_code_that_comes_out_is_explained() -> None:
    codes = {each.code for text, _ in BAD.values() for each in findings_of(text)}
    assert codes - set(CODES) == set()
    of_locks = {code for code in CODES if code.startswith("lock-")}
    assert set(CODES) - set(IMPORT_CODES) - of_locks - codes == {
        "config-encoding", "config-missing", "config-too-large", "config-unreadable", "inline-secret", "same-machine",
        "too-many-findings", "yaml-too-deep",
        # Of several files; test_composition.py has them.
        "include-missing", "include-outside", "include-unmatched", "key-in-two-files", "overlay-directive",
        "overlay-entry", "unknown-environment",
        # Of moved and removed; test_moves.py has them.
        "invalid-address", "moved-chain", "moved-kinds", "moved-server", "moved-still-declared", "moved-undeclared", "named-twice",
        "removed-kind", "removed-still-declared",
    }  # fmt: skip
