"""What `remit explain CODE` says about every finding in a configuration file."""

from collections.abc import Mapping

from remit.config.import_codes import IMPORT_CODES
from remit.config.lock_codes import LOCK_CODES
from remit.core.codes import Explanation

__all__ = ["CODES"]

_FILE: Mapping[str, Explanation] = {
    "config-missing": Explanation(
        "The configuration file does not exist.",
        "A missing file is never read as one that asks for nothing: that would plan to detach everything.",
        "Run remit in the folder of mcp.yaml, name the file with -f, or write a starter with `remit init`.",
    ),
    "config-unreadable": Explanation(
        "The configuration file exists and cannot be read.",
        "Permissions, a folder or a pipe in its place, or a failing disk; none of them says what you want.",
        "Check the path and its permissions; -f takes a regular file.",
    ),
    "config-too-large": Explanation(
        "The file is larger than 8 MiB, or has more than 500,000 keys and values.",
        "Parsing time and memory are bounded before a parser runs; 5,000 selections take about 1 MB.",
        "Split the workspace, or select with globs instead of long lists.",
    ),
    "config-encoding": Explanation(
        "The file is not plain UTF-8, or holds a character that YAML does not allow.",
        "Editors, reviewers and parsers would see different text; control characters and unusual line ends hide things.",
        "Save the file as UTF-8 and delete the character; inside double quotes an escape such as \\u2028 stays possible.",
    ),
    "empty-file": Explanation(
        "The file holds nothing but comments or white space.",
        "An emptied file is far more often an accident than a wish to detach every tool.",
        "Restore it; a file that really asks for nothing begins with `version: 1`.",
    ),
    "too-many-findings": Explanation(
        "There are more findings than are shown.",
        "The list is bounded so that a broken or hostile file cannot flood a log.",
        "Mend what is shown and validate again.",
    ),
}

_MOVES: Mapping[str, Explanation] = {
    "invalid-address": Explanation(
        "An entry of `moved` or `removed` holds a text that is no address.",
        "Passed over, it would leave what was meant to be detached and attached anew under another name.",
        "Write server.NAME, tool.SERVER/TOOL, assistant.NAME, assistant.NAME/ALIAS or workspace.NAME; `from` also takes the URL "
        "or the command that a server had.",
    ),
    "moved-kinds": Explanation(
        "An entry of `moved` leads from one kind of thing to another.",
        "What moves keeps its rows, and those of a server are not those of an assistant.",
        "Name a server, a tool of the same server, an assistant or a workspace on both sides.",
    ),
    "moved-server": Explanation(
        "An entry of `moved` leads from one server's tool to another server's.",
        "A moved tool keeps its id, its policy and its place among calls, which belong to the server that it is called on. Another "
        "server is reached under another policy and with other credentials, whatever its tool is called.",
        "Select it at the new server and drop it at the old one in one apply; an `aliases:` entry keeps its name.",
    ),
    "moved-undeclared": Explanation(
        "An entry of `moved` leads to something that the file does not declare.",
        "What was recorded would move to a name that is then taken back as not declared.",
        "Declare it under its new name, or correct `to`.",
    ),
    "moved-still-declared": Explanation(
        "An entry of `moved` leads away from something that the file still declares.",
        "One set of rows cannot be both.",
        "Delete the old declaration, or the entry.",
    ),
    "moved-chain": Explanation(
        "One entry of `moved` goes on where another one ends, or where it began.",
        "Which of them is done already would depend on what was applied where, and nobody sees that in the file.",
        "Say in one entry where it ends, or apply one move after the other.",
    ),
    "named-twice": Explanation(
        "Two entries of `moved` have the same side, or `removed` names one thing twice.",
        "Only one of two can hold.",
        "Delete one of the two places that the message names.",
    ),
    "removed-kind": Explanation(
        "An entry of `removed` names a workspace or an endpoint.",
        "It lifts the safeguards of single servers, tools, assistants and attachments only.",
        "Name those by their addresses.",
    ),
    "removed-still-declared": Explanation(
        "An entry of `removed` names something that the file still declares or selects.",
        "Nothing of it would be removed, and the entry would wait for a day when it does harm.",
        "Delete the declaration, or the entry.",
    ),
}

_COMPOSITION: Mapping[str, Explanation] = {
    "include-missing": Explanation(
        "An entry of `include` names a file that is not there.",
        "A lost file must never look like a wish to detach what it declared.",
        "Restore the file, or delete the entry; names with * ? [ may match nothing.",
    ),
    "include-unmatched": Explanation(
        "A glob of `include` matches no file.",
        "That is fine for a folder that is still empty, and a sign of an accident in one that was not. It is a warning only.",
        "Correct the glob, or write names that must be there without * ? [.",
    ),
    "include-outside": Explanation(
        "An included file, or an overlay, does not lie below the folder of the main file.",
        "What is reviewed with a folder is what is in it; a symbolic link or .. would bring in what nobody reviewed.",
        "Put the file below the folder of the main one, or name it on the command line with a second -f.",
    ),
    "key-in-two-files": Explanation(
        "Two files of one configuration give the same key.",
        "Which of two values holds would depend on the order of files. Lists of servers and assistants are joined; anything "
        "else stands in one file.",
        "Keep one of the two; what differs by environment goes into an overlay, envs/NAME.yaml.",
    ),
    "unknown-environment": Explanation(
        "--env names an environment that has no overlay.",
        "Without its overlay the files would be applied as if there were no difference. Exit code 64.",
        "Use one of the names that the message lists, or write envs/NAME.yaml beside the main file.",
    ),
    "overlay-entry": Explanation(
        "An overlay names an entry that the files do not have, or calls one new that they have.",
        "A misspelt name would add a server beside the one that was meant, which keeps its old endpoint.",
        "Correct the name, or say `$new: true` in an entry that only this environment has.",
    ),
    "overlay-directive": Explanation(
        "`$delete` or `$new` does not say anything that can be done.",
        "A deletion that deletes nothing is a misspelt name, and what should be gone would stay.",
        "`$delete: true` removes the entry it stands in, `$delete: [KEY, ...]` keys of the mapping it stands in; `$new: true` "
        "adds an entry.",
    ),
}

_YAML: Mapping[str, Explanation] = {
    "yaml-syntax": Explanation(
        "The text is not valid YAML.",
        "Nothing after this place can be understood, so the other checks wait until it is mended.",
        'Indent with spaces, close brackets and quotes, and put texts with ": ", " #", { or [ in quotes.',
    ),
    "yaml-too-deep": Explanation(
        "Collections are nested more than 64 levels deep.",
        "mcp.yaml needs eight; deep nesting is a way to exhaust whatever reads it.",
        "Look for a bracket that is never closed.",
    ),
    "yaml-anchor": Explanation(
        "The file uses an anchor (&name).",
        "Shared pieces change in several places at once, which a reviewer of a diff cannot see.",
        "Write the value out where it is used and delete the anchor.",
    ),
    "yaml-alias": Explanation(
        "The file uses an alias (*name).",
        "Aliases hide what an entry holds, and nested ones expand to gigabytes.",
        "Write the value out.",
    ),
    "yaml-tag": Explanation(
        "The file uses a tag (!name).",
        "Tags ask the parser to build something else than it shows.",
        "Delete the tag; quote the value if it must be text.",
    ),
    "yaml-merge-key": Explanation(
        "The file uses a merge key (<<).",
        "It could bring a looser policy into an entry that looks strict.",
        "Write the keys out.",
    ),
    "yaml-second-document": Explanation(
        "A second YAML document follows in the same file.",
        "Most tools read the first only; half a file must never be taken silently.",
        "Delete the line `---`, or move the second document to its own file.",
    ),
    "yaml-key": Explanation(
        "A key is a list or a mapping.",
        "It usually means that an unquoted { or [ was meant as text.",
        'Put the text in quotes, as in "{python}".',
    ),
    "duplicate-key": Explanation(
        "A mapping has the same key twice.",
        "Parsers keep the last one silently, so a loose value could override a strict one that a reviewer saw.",
        "Keep one of the two lines.",
    ),
}

_SHAPE: Mapping[str, Explanation] = {
    "unknown-key": Explanation(
        "The key does not exist at this place.",
        "A misspelt key would leave a default in force while its author believes otherwise.",
        "Use the suggested key; `remit schema` and editors with the JSON schema list the known ones.",
    ),
    "missing-key": Explanation(
        "A key that must be given is not.",
        "There is no safe default for it.",
        "Add the key; the hint says what it is for.",
    ),
    "wrong-type": Explanation(
        "The value is of another kind than the key takes.",
        'Values are never converted: "false" is a text, and `no` and `on` are texts in YAML 1.2.',
        "Write the kind that the message names: without quotes for numbers, true and false, in quotes for texts.",
    ),
    "wrong-value": Explanation(
        "The value is of the right kind and not an allowed one.",
        "An unknown surface or transport would have to fall back to something that nobody chose.",
        "Use one of the values in the hint.",
    ),
    "unsupported-version": Explanation(
        "The file is of a version that this remit does not read.",
        "A later version may mean other things by the same words.",
        "Use `version: 1`, or a remit that reads the later version.",
    ),
    "out-of-range": Explanation(
        "A number is outside of what its key allows: seconds above 0 and at most a day, days from 0 to 3650.",
        "Zero, negative and infinite deadlines would fail at once or hang for ever.",
        "Write a number in the range that the message names, in the unit of the key's name.",
    ),
    "too-long": Explanation(
        "A text is longer than its key allows.",
        "No name or value of a real server is; bounds keep plans and logs readable.",
        "Shorten it, or move the content to a file and reference it with ${file:PATH}.",
    ),
    "empty-list": Explanation(
        "A list that needs an entry has none.",
        "An empty `include` would select nothing, and an empty `command` starts nothing.",
        "Add an entry, or delete what the list belongs to.",
    ),
    "duplicate-item": Explanation(
        "A list holds the same entry twice.",
        "One of the two was probably meant to be another one.",
        "Delete or correct one.",
    ),
    "unsafe-character": Explanation(
        "A text holds a character that no reader sees: invisible, bidirectional, control.",
        "Two names that look the same must be the same, and a command must be what it looks like.",
        "Type the text anew instead of pasting it.",
    ),
    "invalid-name": Explanation(
        "A name is not of the form that its key takes.",
        "Names become parts of addresses, database rows and command lines.",
        "Use the characters that the message lists.",
    ),
}

_SERVERS: Mapping[str, Explanation] = {
    "invalid-namespace": Explanation(
        "The namespace is not of the form a, a_b, a1_b2 with at most 20 characters.",
        "It begins the model-facing names of all tools of the server, whose length providers limit to 64.",
        "Use lower-case letters and digits in words joined by single underscores.",
    ),
    "namespace-needed": Explanation(
        "The server's name cannot serve as its namespace, and none is given.",
        "A derived one would name tools in a way that nobody chose and that stays for good.",
        "Add the `namespace` that the hint suggests, or another.",
    ),
    "duplicate-name": Explanation(
        "Two servers, or two assistants, have one name.",
        "Addresses and selections go by name; case does not count, as nobody tells Ops from ops in a plan.",
        "Rename one of the two.",
    ),
    "duplicate-namespace": Explanation(
        "Two servers have one namespace.",
        "Their tools would get model-facing names that do not say which server they belong to.",
        "Give one of them another `namespace`.",
    ),
    "duplicate-endpoint": Explanation(
        "Two entries lead to the same server.",
        "Spellings of one URL are one endpoint; registered twice, its tools would have two identities.",
        "Delete one entry, or give one an `instance` if the two differ in credentials.",
    ),
    "same-machine": Explanation(
        "Two entries lead to one endpoint of this machine under two of its names (localhost, 127.0.0.1, ::1).",
        "They count as two servers, so every tool gets two identities and two aliases.",
        "Delete one entry, unless two registrations are what you want.",
    ),
    "transport-conflict": Explanation(
        "Keys of one server contradict each other.",
        "A server is a command or a URL; taking the half that fits would drop a header or a variable silently.",
        "Keep the keys of one kind: command, env, cwd, or url, headers, auth, tls.",
    ),
    "call-timeout-short": Explanation(
        "`call_timeout_seconds` is less than `timeout_seconds`.",
        "The first bounds a whole call, the second the silence within one, which could then never be reached.",
        "Give `call_timeout_seconds` at least the value of `timeout_seconds` (30 where it is left out), or lower that.",
    ),
    "invalid-command": Explanation(
        "The program of a command is empty, a whole command line, or holds a placeholder other than {python}.",
        "The program is started without a shell, exactly as written.",
        "Write the program's name or path, or {python} for the running interpreter.",
    ),
    "invalid-url": Explanation(
        "The URL cannot name an MCP endpoint.",
        "Only absolute http and https URLs without credentials can be reviewed and pinned.",
        "Write https://host/path; credentials go into `headers` or `auth`.",
    ),
    "invalid-reference": Explanation(
        "A dollar begins something that is no reference of remit's.",
        "Forms of other tools, such as $NAME or ${NAME}, would reach the server literally and end in a 401.",
        "Write ${env:NAME}, ${env:NAME:-default} or ${file:PATH}; $$ is a dollar.",
    ),
    "reference-not-allowed": Explanation(
        "A reference stands where values must be written out.",
        "Names, policies, the program, scheme, host and port are what a review approves, so they may not change with an "
        "environment.",
        "Write the value out; environments differ by their own files.",
    ),
    "inline-secret": Explanation(
        "Something that looks like a credential is written in the file.",
        "The file is committed, reviewed and logged; a secret in it must be taken for known to everybody.",
        "Revoke the credential if the file was shared, then write ${env:NAME} or ${file:PATH} instead.",
    ),
    "invalid-header": Explanation(
        "An HTTP header is malformed, set twice, or belongs to the HTTP client or the protocol.",
        "Line breaks smuggle headers, and a second value contradicts the first.",
        "Use token characters for names, one line of ASCII for values, each name once.",
    ),
    "invalid-env-name": Explanation(
        "A variable's name is malformed, or begins with REMIT_.",
        "REMIT_* variables configure remit itself and are kept from servers.",
        "Use letters, digits and underscores, no digit first.",
    ),
    "glob-in-policy": Explanation(
        "An entry under a server's `tools` is a glob.",
        "A policy for tools that do not exist yet would cover what nobody has seen.",
        "Name each tool, or set the server's `envelope`.",
    ),
    "open-default": Explanation(
        "`default_envelope` says surface open.",
        "It would open every tool that nobody looked at, those that servers add later included.",
        "Give `surface: open` to single servers or tools.",
    ),
    "loose-default": Explanation(
        "`default_envelope` is looser than the built-in default.",
        "It also covers tools that a server adds later.",
        "Leave the default and loosen single servers or tools; it is a warning only.",
    ),
    "no-servers": Explanation(
        "The file declares no server.",
        "That is fine for a start, and a sign of an accident in a file that had some.",
        "Add a server under `mcp.servers`.",
    ),
}

_ASSISTANTS: Mapping[str, Explanation] = {
    "unknown-server": Explanation(
        "An assistant selects tools of a server that is not declared.",
        "A selection of nothing would look like one that works.",
        "Correct the name, or declare the server under `mcp.servers`.",
    ),
    "duplicate-selection": Explanation(
        "An assistant selects from one server in two entries.",
        "Which exclusions hold for which inclusions could not be told.",
        "Put all its tools into one entry.",
    ),
    "alias-without-tool": Explanation(
        "An alias belongs to a tool that the same entry does not select, or to a glob.",
        "It would never come into force, while its author believes otherwise.",
        "Name the tool exactly and have `include` select it.",
    ),
    "invalid-alias": Explanation(
        "A model-facing name has characters or a length that providers refuse.",
        "One bad function name makes the whole request to the model fail.",
        "Use letters, digits, _ and -, a letter first, at most 64.",
    ),
    "reserved-alias": Explanation(
        "An alias is the name of a function of the platform or one under `reserved_names`.",
        "The model would call one and reach the other.",
        "Choose another alias.",
    ),
    "duplicate-alias": Explanation(
        "One assistant has the same alias twice.",
        "A model sees each function name once; case does not count.",
        "Choose another alias for one of the two tools.",
    ),
}

CODES: Mapping[str, Explanation] = {
    **_FILE,
    **_COMPOSITION,
    **_MOVES,
    **_YAML,
    **_SHAPE,
    **_SERVERS,
    **_ASSISTANTS,
    **LOCK_CODES,
    **IMPORT_CODES,
}
"""Every code that a `Diagnostic` of this package carries."""
