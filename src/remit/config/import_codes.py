"""What `remit explain CODE` says about findings in the configurations of other tools."""

from collections.abc import Mapping

from remit.core.codes import Explanation

__all__ = ["IMPORT_CODES"]

_FILES: Mapping[str, Explanation] = {
    "json-syntax": Explanation(
        "A file to import is not valid JSON, comments and trailing commas aside.",
        "Nothing behind this place can be understood, and half a file is never taken.",
        "Close brackets and quotes and put a comma between entries; the client that reads the file refuses it too.",
    ),
    "toml-syntax": Explanation(
        "A file to import is not valid TOML.",
        "Nothing behind this place can be understood, and half a file is never taken.",
        "Put texts in quotes and close brackets; the client that reads the file refuses it too.",
    ),
    "unknown-dialect": Explanation(
        "The file has no server table that any known client writes.",
        "A guess would import settings that are no servers.",
        "Name what it is with --dialect; docs/import.md lists the dialects and their tables.",
    ),
    "already-declared": Explanation(
        "A server with this name or this endpoint is there already.",
        "An import adds; it never changes what somebody reviewed.",
        "Edit mcp.yaml by hand if the imported entry is the better one, or give one of the two another name.",
    ),
    "name-collision": Explanation(
        "Two servers of the sources come to one name.",
        "Numbering one of them would give it a name that nobody chose and that depends on the order of the files.",
        "Rename one of the two where it is declared, then import again.",
    ),
}

_NAMES: Mapping[str, Explanation] = {
    "namespace-derived": Explanation(
        "The server's name cannot begin the names of its tools, so a namespace was made from it.",
        "The namespace is part of what a model reads, and stays once tools are attached.",
        "Read it, and change `namespace` now if you want another.",
    ),
    "second-name": Explanation(
        "The source gives the server a second name, which begins the names of its tools there.",
        "mcp.yaml has a namespace for that; the server is the same under both names.",
        "Nothing, if the namespace suits you.",
    ),
    "instance-given": Explanation(
        "Two servers of the sources have one endpoint and other credentials.",
        "An endpoint is one server unless `instance` tells two registrations of it apart.",
        "Keep the `instance`, or delete the entry that you do not need.",
    ),
    "several-agents": Explanation(
        "Several agents of the file select tools from one server.",
        "One list for all of them would give each agent the tools of the others.",
        "Write one assistant for each agent, each with its own `include`.",
    ),
}

_VALUES: Mapping[str, Explanation] = {
    "not-a-string": Explanation(
        "A name or an argument is a number, true or false, or nothing, where a text belongs.",
        "Parsers of YAML 1.1 and 1.2 disagree about it: `no` is false to one, `0755` is 493.",
        "Write it in quotes in the source.",
    ),
    "not-a-boolean": Explanation(
        "A switch is neither true nor false, such as a reference to a variable.",
        "An import resolves nothing, and a text that is not empty is not true; the server is imported as disabled.",
        "Decide it: delete `enabled: false` in mcp.yaml, or leave it.",
    ),
    "string-boolean": Explanation(
        'A switch is written as a text, "true" or "false".',
        "Some clients take every text for true, so what it does there may not be what it says.",
        "Nothing in mcp.yaml; write it without quotes in the source.",
    ),
    "not-a-number": Explanation(
        "A timeout is no number.",
        "A reference cannot be resolved at import, and its unit would be a guess.",
        "Write `timeout_seconds` in mcp.yaml; without it remit's default holds.",
    ),
    "null-value": Explanation(
        "A variable under `env` has no value.",
        "Clients make the text `null`, an empty text or nothing of it.",
        "Give it a value in mcp.yaml, or an empty text.",
    ),
    "dropped-item": Explanation(
        "A list of tools has an empty or a repeated entry.",
        "It means nothing; the rest of the list was read.",
        "Look whether another tool was meant.",
    ),
    "glob-in-list": Explanation(
        "A list of tools has a pattern in it.",
        "A pattern also means tools that do not exist yet; clients read it in different ways.",
        "Name the tools, or write the pattern into `include` or `exclude` yourself.",
    ),
    "unsupported-transport": Explanation(
        "The server speaks a transport that remit does not.",
        "remit reaches servers over stdio, streamable HTTP and SSE.",
        "Look for another address of the server, or leave it out.",
    ),
    "transport-inferred": Explanation(
        "The source does not say which transport the URL speaks.",
        "The same key means streamable HTTP to one client and SSE to another.",
        "Run `remit discover`; give `transport: sse` or delete it if the server does not answer.",
    ),
    "plain-http": Explanation(
        "The URL is not encrypted.",
        "Whoever sits between can read and change what is sent, credentials included.",
        "Use https, unless the server is on this machine.",
    ),
    "derived-endpoint": Explanation(
        "A Kubernetes object says what runs, not where it is reached.",
        "The address that its operator gives such a server was taken; it holds inside the cluster only.",
        "Check the address, and add `allow_private_network: true` where remit runs in the cluster.",
    ),
}

_SECRETS: Mapping[str, Explanation] = {
    "placeholder-secret": Explanation(
        "Where a secret belongs stands a placeholder, such as YOUR_KEY.",
        "It was never replaced, so the server cannot have worked; it is not a secret and not a reference.",
        "Set the variable that stands in its place.",
    ),
    "empty-secret": Explanation(
        "Where a secret belongs stands nothing.",
        "An empty secret is a missing one, never a valid one.",
        "Set the variable that stands in its place.",
    ),
    "undeclared-input": Explanation(
        "The value asks for an input that the file does not declare.",
        "It was copied from a VS Code file, and this client would send the text itself.",
        "Set the variable that stands in its place.",
    ),
    "bare-variable": Explanation(
        "A whole value is `$NAME`, which is no reference in this client.",
        "The client sends the text itself; it was most likely meant as a variable.",
        "Set the variable, or write $$NAME if the text is meant.",
    ),
    "per-user-variable": Explanation(
        "The value differs by the user of a chat there.",
        "A server in mcp.yaml is reached with one account.",
        "Set the variable to the value of the account that remit is to use.",
    ),
    "unresolvable-variable": Explanation(
        "The value holds a variable that only the client knows, such as ${workspaceFolder}.",
        "remit has no workspace, and sending the text itself would reach something else.",
        "Write the path, or set the variable that stands in its place.",
    ),
    "unsupported-secret-scheme": Explanation(
        "The value refers to a secret store that remit does not read.",
        "It is no secret and must not be passed on as a text either.",
        "Have the store write the value into the variable that stands in its place, or into a file, before remit starts.",
    ),
    "secret-in-argument": Explanation(
        "A secret is passed as an argument of a command.",
        "Every process on the machine can read the arguments of the others.",
        "Pass it under `env` if the program takes it there.",
    ),
    "env-file": Explanation(
        "Variables come from a file that the client or a wrapper reads.",
        "An import reads no secret: the file was neither opened nor copied.",
        "Name each variable under `env` as a reference, and set them where remit runs.",
    ),
}

_COMMANDS: Mapping[str, Explanation] = {
    "unpinned": Explanation(
        "A package is fetched without an exact version.",
        "Whoever publishes the package decides what starts tomorrow, with the same secrets.",
        "Pin it: name@1.2.3, name==1.2.3, a commit, or an image digest.",
    ),
    "command-line": Explanation(
        "The program of an entry is a whole command line in one text.",
        "No program is called so; a client that starts it splits the line, each in its own way.",
        "Read the words that came out; in mcp.yaml each is an entry of `command`.",
    ),
    "shell-wrapper": Explanation(
        "The command is a line for a shell.",
        "remit starts programs without one; profile files and quoting decide what a shell makes of the line.",
        "Write the program and its arguments as a list in `command`.",
    ),
    "machine-path": Explanation(
        "A path leads into one person's home folder.",
        "The server starts on that machine only, and mcp.yaml is shared.",
        "Use a path below the folder of mcp.yaml, or a variable.",
    ),
    "bridge-unwrapped": Explanation(
        "The command only passes messages on to a remote server, which was imported instead.",
        "remit speaks to remote servers itself; the bridge is one more program that nobody reviewed.",
        "Nothing; the command is kept as a comment, for servers that ask for a login in a browser.",
    ),
}

_POLICY: Mapping[str, Explanation] = {
    "approval-hint": Explanation(
        "The client calls these tools without asking.",
        "Whoever allowed that allowed it for one client on one machine; imported tools get the strictest policy.",
        "Loosen single tools in mcp.yaml once you have read what they do.",
    ),
    "approve-all": Explanation(
        "The client calls every tool of this server without asking.",
        "That includes tools that the server adds later; here each call waits for a person.",
        "Loosen single tools in mcp.yaml once you have read what they do.",
    ),
    "opened-to-all": Explanation(
        "The source opens the server to every caller.",
        "In remit only what an assistant selects reaches it.",
        "Select the tools under the assistants that need them.",
    ),
    "deny-without-allow": Explanation(
        "The source takes tools out and selects none.",
        "There it means all others; here nothing is selected until somebody writes it.",
        "Select what you want under `assistants`, with the exclusions as `exclude`.",
    ),
    "oauth-login": Explanation(
        "A person logs in to the server in a browser there (OAuth).",
        "mcp.yaml has no login: what remit does is done by a program, and the client of a person must not be used without that "
        "person.",
        "Ask for a client that may use client credentials and write `auth`, or put a token into a variable and a header.",
    ),
    "oauth-incomplete": Explanation(
        "The OAuth settings of the source do not come to an `auth` of mcp.yaml.",
        "Client credentials need a token endpoint with a literal host, a client id and a secret, and no second way beside them.",
        "Write `auth: {type: oauth_client_credentials, ...}` yourself (docs/configuration.md).",
    ),
    "not-carried-over": Explanation(
        "The source has a setting that mcp.yaml has no key for, or that remit decides itself.",
        "It was left out; what the client does because of it, remit does not.",
        "Look whether you need it; docs/import.md says what is taken from each client.",
    ),
}

IMPORT_CODES: Mapping[str, Explanation] = {**_FILES, **_NAMES, **_VALUES, **_SECRETS, **_COMMANDS, **_POLICY}
"""Every code that only a finding of `remit import` carries."""
