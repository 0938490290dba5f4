"""The keys of mcp.yaml, as one table (DESIGN.md section 2).

Decides which keys exist, what each may hold and how it is explained in an editor. What several keys mean together is
decided by servers.py, connections.py and assistants.py.
"""

from dataclasses import replace

from remit.config.shapes import (
    Choice,
    Constant,
    Days,
    Field,
    Flag,
    ListOf,
    MapOf,
    Number,
    Record,
    Text,
    TextOr,
    Variant,
)
from remit.core.desired import LockUse, ProtocolPin
from remit.core.envelope import AuditedArguments, Recording, Surface, UnknownArguments
from remit.core.identity import Transport

__all__ = ["INCLUDED_FILE", "MAX_DAYS", "MAX_SECONDS", "MCP_FILE", "NAMESPACE_PATTERN", "NAME_PATTERN"]

MAX_SECONDS = 86_400
"""A request or a start that takes longer than a day is a mistake in the unit."""

MAX_DAYS = 3650
"""Nobody keeps protocol events for more than ten years."""

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}"
NAMESPACE_PATTERN = r"(?=.{1,20}$)[a-z][a-z0-9]*(_[a-z0-9]+)*"

_NAME_RULE = "letters, digits, space and . _ - are allowed, at most 64, a letter or digit first"
_SERVER_NAME = Text(what="a server name", pattern=NAME_PATTERN, rule=_NAME_RULE, code="invalid-name", name=True)
_ASSISTANT_NAME = Text(what="an assistant name", pattern=NAME_PATTERN, rule=_NAME_RULE, code="invalid-name", name=True)
_REFERRED = Text(what="a server name", pattern=r"[\s\S]+", name=True)
_WORKSPACE = Text(
    what="a workspace name",
    pattern=r"[a-z0-9][a-z0-9_-]{0,63}",
    rule="lower-case letters, digits, - and _ are allowed, at most 64, a letter or digit first",
    code="invalid-name",
    name=True,
)
_OWNER = Text(
    what="an owner",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}",
    rule="letters, digits and . _ @ - are allowed, at most 64, a letter or digit first",
    code="invalid-name",
    name=True,
)
_PERMISSION = Text(
    what="a permission",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}",
    rule="letters, digits and . _ : / - are allowed, at most 128, a letter or digit first",
    code="invalid-name",
    name=True,
)
_NAMESPACE = Text(
    what="a namespace",
    pattern=NAMESPACE_PATTERN,
    rule="lower-case letters and digits in words joined by single _, a letter first, at most 20",
    code="invalid-namespace",
    name=True,
)
_INSTANCE = Text(
    what="an instance",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    rule="letters, digits and . _ - are allowed, at most 64, a letter or digit first",
    code="invalid-name",
    name=True,
)
_REMOTE_NAME = Text(what="a tool name", pattern=r"[\s\S]+", max_length=256, name=True)
_PATTERN = Text(what="a tool name or glob", pattern=r"[\s\S]+", max_length=256, name=True)
_ALIAS = Text(
    what="an alias",
    pattern=r"[a-zA-Z][a-zA-Z0-9_-]{0,63}",
    rule="letters, digits, _ and - are allowed, at most 64, a letter first: what every model provider accepts",
    code="invalid-alias",
    name=True,
)
_RESERVED = Text(
    what="a function name",
    pattern=r"[a-zA-Z0-9_-]{1,64}",
    rule="letters, digits, _ and - are allowed, at most 64",
    code="invalid-alias",
    name=True,
)
_ENV_NAME = Text(
    what="a variable name",
    pattern=r"(?!REMIT_)[A-Za-z_][A-Za-z0-9_]{0,127}",
    rule="letters, digits and _ are allowed, no digit first; REMIT_* configures remit itself",
    code="invalid-env-name",
    name=True,
)
_HEADER_NAME = Text(
    what="a header name",
    pattern=r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}",
    rule="letters, digits and - are allowed (RFC 9110 tokens)",
    code="invalid-header",
    name=True,
)
_VALUE = Text(what="a value", references=True)
_FILLED = Text(what="a value", pattern=r"[\s\S]+", references=True)
_PATH = Text(what="a path", pattern=r"[\s\S]+", name=True)
_INCLUDED = Text(what="a path or glob", pattern=r"[\s\S]+", max_length=1024, name=True)
_WORD = Text(what="a word", pattern=r"[\s\S]+", references=True, max_length=256)

_ENVELOPE_FIELDS = {
    "surface": Field(
        shape=Choice(what="surface", values=tuple(Surface)),
        description="How the tool may be reached. human_controlled: every call waits for a person. locked: calls run under "
        "the approved contract. open: calls run, a changed contract is only logged.",
    ),
    "side_effecting": Field(
        shape=Flag(), description="Whether a call changes anything. true: it is never repeated automatically."
    ),
    "reversible": Field(shape=Flag(), description="Whether what a call does can be undone. Shown to the approver."),
    "required_permission": Field(
        shape=Text(what="a permission", pattern=_PERMISSION.pattern, rule=_PERMISSION.rule, code="invalid-name",
                   nullable=True, name=True),
        description="The permission that an assistant must hold to call the tool; null for none.",
    ),
    "unknown_arguments": Field(
        shape=Choice(what="treatment of unknown arguments", values=tuple(UnknownArguments)),
        description="What happens to arguments that the tool's schema does not name. reject: the call is refused. pass: "
        "they are sent.",
    ),
    "record": Field(
        shape=Choice(what="way to record", values=tuple(Recording)),
        description="How the protocol trace keeps the messages of a call. full: as sent, secrets masked. digest: their "
        "digests only.",
    ),
    "audit_arguments": Field(
        shape=Choice(what="way to audit arguments", values=tuple(AuditedArguments)),
        description="What the audit trail keeps of a call's arguments. digest: their digest. values: the arguments "
        "themselves, which cannot be deleted later.",
    ),
}  # fmt: skip
_ENVELOPE = Record(title="envelope", fields=_ENVELOPE_FIELDS)

_SCOPES = Field(
    shape=ListOf(item=_WORD, example="[mcp.read]", unique=True), description="OAuth scopes to ask for. Default: none."
)
_TOKEN_URL = Field(
    shape=_FILLED, required=True, description="The token endpoint. Scheme, host and port are written out."
)
_CLIENT_ID = Field(shape=_FILLED, required=True, description="The OAuth client id.")


def _type(value: str) -> Field:
    return Field(shape=Choice(what="auth type", values=(value,)), required=True, description="The kind of credential.")


_AUTH = Variant(
    title="auth",
    description="How remit proves itself to the server. Secrets are references: ${env:NAME} or ${file:PATH}.",
    records={
        "bearer": Record(
            title="bearer",
            secretive=True,
            fields={
                "type": _type("bearer"),
                "token": Field(
                    shape=_FILLED, required=True, description="The bearer token: ${env:NAME} or ${file:PATH}."
                ),
            },
        ),
        "oauth_client_credentials": Record(
            title="oauth_client_credentials",
            secretive=True,
            fields={
                "type": _type("oauth_client_credentials"),
                "token_url": _TOKEN_URL,
                "client_id": _CLIENT_ID,
                "client_secret": Field(
                    shape=_FILLED, required=True, description="The client secret: ${env:NAME} or ${file:PATH}."
                ),
                "scopes": _SCOPES,
            },
        ),
        "private_key_jwt": Record(
            title="private_key_jwt",
            secretive=True,
            fields={
                "type": _type("private_key_jwt"),
                "token_url": _TOKEN_URL,
                "client_id": _CLIENT_ID,
                "private_key": Field(
                    shape=_FILLED, required=True, description="The PEM private key: ${file:PATH} or ${env:NAME}."
                ),
                "algorithm": Field(
                    shape=Choice(
                        what="algorithm",
                        values=(
                            "RS256",
                            "RS384",
                            "RS512",
                            "PS256",
                            "PS384",
                            "PS512",
                            "ES256",
                            "ES384",
                            "ES512",
                            "EdDSA",
                        ),
                    ),
                    description="How the JWT is signed. Default: RS256.",
                ),
                "key_id": Field(shape=_FILLED, description="The key id (kid) of the JWT's header."),
                "scopes": _SCOPES,
            },
        ),
    },
)

_TLS = Record(
    title="tls",
    fields={
        "ca_file": Field(
            shape=_PATH, description="A CA bundle (PEM) that the server's certificate is checked against."
        ),
        "client_cert": Field(shape=_PATH, description="A client certificate (PEM)."),
        "client_key": Field(shape=_PATH, description="The client certificate's private key (PEM)."),
    },
)

_SERVER = Record(
    title="server",
    secretive=True,
    either=("command", "url"),
    fields={
        "name": Field(
            shape=_SERVER_NAME, required=True, description="The server's name, unique here; used in addresses."
        ),
        "namespace": Field(
            shape=_NAMESPACE,
            description="First part of the model-facing names of its tools: <namespace>__<tool>. Default: the name if it "
            "fits. Changing it later renames nothing that is attached.",
        ),
        "transport": Field(
            shape=Choice(what="transport", values=tuple(Transport)),
            description="How the server is reached. Default: stdio with `command`, streamable_http with `url`.",
        ),
        "command": Field(
            shape=ListOf(item=_VALUE, example='["{python}", -m, my_server]', at_least_one=True),
            description="The program and its arguments, started without a shell. {python} is the running interpreter. The "
            "program is written out; arguments may hold references.",
        ),
        "url": Field(
            shape=_FILLED,
            description="The server's URL. Scheme, host and port are written out; path and query may hold references.",
        ),
        "env": Field(
            shape=MapOf(key=_ENV_NAME, value=_VALUE, example='{NAME: "${env:NAME}"}'),
            description="Environment of the command. The child gets these and a short allow-list, nothing else.",
        ),
        "cwd": Field(shape=_FILLED, description="Working directory of the command. Default: the folder of this file."),
        "headers": Field(
            shape=MapOf(key=_HEADER_NAME, value=_FILLED, example='{Authorization: "Bearer ${env:TOKEN}"}'),
            description="HTTP headers of every request.",
        ),
        "auth": Field(shape=_AUTH, description=_AUTH.description),
        "tls": Field(shape=_TLS, description="Certificates, as paths to PEM files."),
        "instance": Field(
            shape=_INSTANCE,
            description="Tells two registrations of one endpoint apart (other credentials). Part of the identity.",
        ),
        "protocol": Field(
            shape=Choice(what="protocol", values=tuple(ProtocolPin)),
            description="Which protocol era is spoken. auto finds out; the others pin it.",
        ),
        "timeout_seconds": Field(
            shape=Number(maximum=MAX_SECONDS),
            description="Deadline of one request; of a call, the longest time without any progress from the server. "
            "Default: 30.",
        ),
        "call_timeout_seconds": Field(
            shape=Number(maximum=MAX_SECONDS),
            description="Deadline of one call, which no progress extends; at least timeout_seconds. Default: 300, or "
            "timeout_seconds where that is more.",
        ),
        "start_timeout_seconds": Field(
            shape=Number(maximum=MAX_SECONDS), description="Deadline of the start and of the full listing. Default: 60."
        ),
        "allow_private_network": Field(
            shape=Flag(), description="Whether the URL may lead to private or link-local addresses. Default: false."
        ),
        "enabled": Field(shape=Flag(), description="false: registered, kept, not connected to. Default: true."),
        "protect": Field(
            shape=Flag(),
            description="true: nothing unregisters the server or takes all its tools away until an apply without this key ran. "
            "Default: false.",
        ),
        "envelope": Field(shape=_ENVELOPE, description="Policy for all tools of the server."),
        "tools": Field(
            shape=MapOf(key=_REMOTE_NAME, value=_ENVELOPE, example="{search: {surface: locked}}"),
            description="Policy per tool, by exact name as the server advertises it. Selects nothing: assistants do.",
        ),
    },
    elsewhere={
        "args": "arguments follow the program in `command: [program, argument]`",
        "type": "use `transport`, or leave it out",
        "disabled": "use `enabled: false`",
        "timeout": "use `timeout_seconds`",
        "include": "tools are selected under `assistants`",
        "allowed_tools": "tools are selected under `assistants`",
        "bearer_token": "use `auth: {type: bearer, token: ...}`",
        "token": "use `auth: {type: bearer, token: ...}`",
    },
)

_SELECTION = Record(
    title="selection",
    fields={
        "server": Field(shape=_REFERRED, required=True, description="The name of a server under `mcp.servers`."),
        "include": Field(
            shape=ListOf(item=_PATTERN, example="[search, get_issue]", at_least_one=True, unique=True),
            required=True,
            description='Tools by exact name, or globs (* ? [abc], case counts); ["*"] is all. What a glob newly matches '
            "waits for acceptance.",
        ),
        "exclude": Field(
            shape=ListOf(item=_PATTERN, example="[delete_*]", unique=True),
            description="Names or globs taken out again.",
        ),
        "aliases": Field(
            shape=MapOf(key=_REMOTE_NAME, value=_ALIAS, example="{search: find_issues}"),
            description="Model-facing names of your own, by exact tool name. Default: <namespace>__<tool>.",
        ),
    },
    elsewhere={"name": "use `server`", "tools": "use `include`"},
)

_ASSISTANT = Record(
    title="assistant",
    fields={
        "name": Field(shape=_ASSISTANT_NAME, required=True, description="The assistant's name, unique here."),
        "permissions": Field(
            shape=ListOf(item=_PERMISSION, example="[read_analytics]", unique=True),
            description="What the assistant holds; see `required_permission`.",
        ),
        "protect": Field(
            shape=Flag(),
            description="true: nothing deletes the assistant or takes all its tools away until an apply without this key ran. "
            "Default: false.",
        ),
        "tools": Field(
            shape=ListOf(item=_SELECTION, example="[{server: NAME, include: [TOOL]}]"),
            description="Which tools of which servers the assistant gets.",
        ),
    },
)

_MCP = Record(
    title="mcp",
    fields={
        "default_envelope": Field(
            shape=_ENVELOPE,
            description="Policy for tools that nothing else speaks about. Default: human_controlled, side-effecting, "
            "irreversible. Surface open is not allowed here.",
        ),
        "servers": Field(
            shape=ListOf(item=_SERVER, example="[{name: NAME, command: [PROGRAM]}]"), description="The MCP servers."
        ),
    },
    elsewhere={
        "mcpServers": "use `servers`, a list of entries with `name`",
        "trace_days": "it stands beside `version`, not under `mcp`",
    },
)

_ADDRESS = Text(what="an address", pattern=r"[\s\S]+", max_length=512, name=True)

_MOVE = Record(
    title="move",
    fields={
        "from": Field(
            shape=Text(what="an address", pattern=r"[\s\S]+", name=True),
            required=True,
            description="What it was called: server.NAME, tool.SERVER/TOOL, assistant.NAME or workspace.NAME; or the URL or "
            "the command that a server had.",
        ),
        "to": Field(
            shape=_ADDRESS, required=True, description="What this file calls it now: an address of the same kind."
        ),
    },
)

_REMOVAL = Record(
    title="removal",
    fields={
        "address": Field(
            shape=_ADDRESS,
            required=True,
            description="What may go: server.NAME, tool.SERVER/TOOL, assistant.NAME or assistant.NAME/ALIAS.",
        ),
        "keep": Field(
            shape=Flag(),
            description="true: it stays in service and belongs to no file until one declares it. Default: false.",
        ),
    },
)

MCP_FILE = Record(
    title="mcp.yaml",
    fields={
        "version": Field(shape=Constant(value=1), required=True, description="The version of this file's format: 1."),
        "include": Field(
            shape=ListOf(item=_INCLUDED, example="[mcp.d/*.yaml]", unique=True),
            description="More files of the same workspace, relative to this one and below its folder; globs are sorted. "
            "What they declare is added to this file's lists.",
        ),
        "workspace": Field(
            shape=_WORKSPACE,
            description="What this file owns in the database: remit touches nothing outside it. Default: default.",
        ),
        "owner": Field(shape=_OWNER, description="Who owns the registrations and assistants. Default: local."),
        "reserved_names": Field(
            shape=ListOf(item=_RESERVED, example="[my_function]", unique=True),
            description="Function names that no tool may take, beside the built-in ones.",
        ),
        "trace_days": Field(
            shape=Days(maximum=MAX_DAYS),
            description="How many days contents of calls are kept (protocol events, outputs, stored results, approvals that are "
            "over); 0: until the next clean-up. Default: 7.",
        ),
        "lock": Field(
            shape=Choice(what="use of a lock", values=tuple(LockUse)),
            description="Whether the lock file beside this one is the approval of what servers say. file: where there is one, "
            "or once was one. none: never. Default: file.",
        ),
        "mcp": Field(shape=_MCP, description="The servers and the policy for their tools."),
        "assistants": Field(
            shape=ListOf(item=_ASSISTANT, example="[{name: NAME, tools: []}]"),
            description="The assistants and the tools that each may use.",
        ),
        "moved": Field(
            shape=ListOf(item=_MOVE, example="[{from: server.old, to: server.new}]"),
            description="What has another name, tool name or endpoint now and is still the same: it keeps attachments and "
            "aliases. An entry that has nothing left to do is reported.",
        ),
        "removed": Field(
            shape=ListOf(item=TextOr(text=_ADDRESS, record=_REMOVAL), example="[server.old]"),
            description="What may go although a safeguard would refuse it, by address; nothing else is let through.",
        ),
    },
    elsewhere={
        "mcpServers": "servers are a list under `mcp.servers`; each entry has a `name`",
        "servers": "use `mcp: {servers: [...]}`",
        "default_envelope": "use `mcp: {default_envelope: {...}}`",
        "scope": "use `workspace`",
    },
)
"""The whole file."""

INCLUDED_FILE = replace(
    MCP_FILE,
    title="an included file",
    fields={key: field for key, field in MCP_FILE.fields.items() if key != "include"},
    elsewhere={**MCP_FILE.elsewhere, "include": "only the first file includes others; name this one's files there"},
)
"""A file that another one includes, or that stands behind a second -f."""
