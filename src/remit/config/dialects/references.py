"""References in the words of other tools, turned into those of mcp.yaml (`${env:NAME}`, DESIGN.md section 2).

Decides what a text of a client configuration refers to. All spellings are understood in all dialects, because people copy
entries from one client's file into another's; only a bare `$NAME` is one client's alone. Resolves nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from remit.config.credentials import credential_in_env, credential_in_text, is_secret_name, is_showable
from remit.config.dialects.model import Report
from remit.config.dialects.placeholders import is_placeholder
from remit.config.nodes import MapNode, Node
from remit.core.diagnostics import Severity

__all__ = ["Translation", "is_misplaced", "reference_to", "variable_name"]

_TOKEN = re.compile(
    r"\$\{\{\s*(?:secrets|inputs)\.(?P<workflow>[A-Za-z_]\w*)\s*\}\}"
    r"|\$\{env:(?P<env>[^{}$:]+)(?::-(?P<default>[^{}]*))?\}"
    r"|\$\{input:(?P<input>[^{}$]+)\}"
    r"|\$\{(?P<shell>[A-Za-z_]\w*)(?::-(?P<otherwise>[^{}]*))?\}"
    r"|\$\{(?P<client>[^{}$]*)\}"
    r"|\{env:(?P<braced>[A-Za-z_]\w*)\}"
    r"|\{file:(?P<path>[^{}]+)\}"
    r"|\{\{\s*(?P<store>[a-z][\w-]*):(?P<entry>[^{}]+)\}\}"
    r"|\{\{\s*(?P<user>[A-Z_][A-Z0-9_]*)\s*\}\}"
    r"|\$(?P<bare>[A-Za-z_]\w*)"
    r"|\$"
)
_WHOLE = re.compile(
    r"(?P<before>(?:[A-Za-z]+ )?)(?:os\.environ/(?P<environ>[A-Za-z_]\w*)|\$(?P<bare>[A-Z_][A-Z0-9_]*))\Z"
)
_STORE = re.compile(
    r"(?P<before>(?:[A-Za-z]+ )?)(?P<scheme>op|vault|keychain|keyring|pass|bws|doppler|infisical|awssm|aws-sm|gcpsm|azurekv"
    r"|k8s|sops|bitwarden)://",
)
_CLIENT = frozenset(
    {
        "workspaceFolder", "workspaceRoot", "workspaceFolderBasename", "file", "fileDirname", "fileBasename", "cwd",
        "selectedText", "execPath", "extensionPath", "workspace_dir", "root_dir",
    }
)  # fmt: skip
"""Names that look like variables of the environment and belong to an editor."""

_KNOWN_HERE: Mapping[str, str] = {"userHome": "${env:HOME}", "/": "/", "pathSeparator": "/"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PASTED = re.compile(r"(?=[a-z0-9]*[0-9])(?=[a-z0-9]*[a-z])[a-z0-9]{10,}\Z")
_MISPLACED = "\0"
"""What stands before a value that its source has where the name of a variable belongs."""


def variable_name(text: str) -> str:
    """A variable name made from any text: itself where it is one, else upper case with `_` for what no name can have."""
    if _NAME.match(text):
        return f"IMPORTED_{text}" if text.startswith("REMIT_") else text
    words = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
    return words if _NAME.match(words) and not words.startswith("REMIT_") else f"IMPORTED_{words}".rstrip("_")


def is_misplaced(name: str) -> bool:
    """Whether a text where the name of a variable belongs is a secret: it has the looks of one, or of no name that anybody gives."""
    return bool(credential_in_text(name)) or bool(_PASTED.match(name) and not is_secret_name(name))


def reference_to(name: str) -> str:
    """A variable that a source names without the signs of a reference, as a text for `Translation.text`."""
    return f"${{env:{name}}}" if _NAME.match(name) and not is_misplaced(name) else f"{_MISPLACED}{name}"


@dataclass(slots=True, kw_only=True)
class Translation:
    """Translates the values of one server. `inputs` are those that the file declares, None where it cannot declare any.

    `literal` gives a reference for a value and a word for its name, `noted` takes a value that was found beside a variable.
    `plain` collects the variables that are known to hold no secret; any other may.
    """

    report: Report
    literal: Callable[[str, str], str]
    noted: Callable[[str, str], None]
    inputs: Mapping[str, MapNode] | None
    bare_variables: bool
    plain: set[str] = field(default_factory=set[str])

    def text(self, text: str, place: Node, label: str, *, suggested: str) -> str:
        """The text in the words of mcp.yaml. `label` says which value it is; `suggested` names a secret of another store."""
        before, misplaced, value = text.partition(_MISPLACED)
        if misplaced:
            return before + self._misplaced(value, place, label, suggested=suggested)
        if store := _STORE.match(text):
            return store["before"] + self._stored(store["scheme"], suggested, place, label)
        whole = _WHOLE.match(text)
        if whole and whole["environ"]:
            return whole["before"] + self._variable(whole["environ"], place, label)
        if whole and not self.bare_variables:
            hint = f"write $${whole['bare']} if the text is meant as it stands"
            self.report("bare-variable", place, f"{label}: `$NAME` was taken for a reference", hint=hint)
        bare = self.bare_variables or bool(whole)
        return _TOKEN.sub(lambda token: self._token(token, place, label, bare=bare), text)

    def _token(self, token: re.Match[str], place: Node, label: str, *, bare: bool) -> str:
        for kind, translate in _KINDS.items():
            if (found := token[kind]) is not None:
                return translate(self, found, token, place, label)
        if bare and (name := token["bare"]):
            return self._variable(name, place, label)
        return "$" + token.group()

    def _variable(self, name: str, place: Node, label: str, default: str | None = None) -> str:
        if is_misplaced(name):
            return self._misplaced(name, place, label, suggested=label.rpartition(".")[2])
        known = variable_name(name)
        return f"${{env:{known}}}" if default is None else f"${{env:{known}:-{default}}}"

    def _misplaced(self, value: str, place: Node, label: str, *, suggested: str) -> str:
        reference = self.literal(value, suggested)
        message = f"{label}: a value stands where the name of a variable belongs; {reference} stands in its place"
        hint = "set it outside of every file, and change it: it was written down"
        self.report("inline-secret", place, message, hint=hint)
        return reference

    def named(self, name: str, default: str | None, place: Node, label: str) -> str:
        """A variable, with its default where that is no credential, by its looks or by the variable's name."""
        if default is None or is_misplaced(name):
            return self._variable(name, place, label)
        known = variable_name(name)
        if credential_in_env(name, default):
            self.noted(default, known)
            self.plain.discard(known)
            code = "placeholder-secret" if is_placeholder(default) else "inline-secret"
            hint = f"set {known}, and change what stands there: it was written down"
            self.report(
                code, place, f"{label}: the default of {known} looks like a credential; it was left out", hint=hint
            )
            default = None
        elif "$" in default:
            # A default is literal in mcp.yaml; what is behind the dollar may be another reference, or a password.
            self.report("not-carried-over", place, f"{label}: the default of {known} was left out")
            default = None
        return self._variable(name, place, label, default)

    def shell(self, name: str, default: str | None, place: Node, label: str) -> str:
        """`${NAME}`: a variable, or one that only an editor knows."""
        known = _KNOWN_HERE.get(name)
        if known is not None:
            return known
        return self.client(name, place, label) if name in _CLIENT else self.named(name, default, place, label)

    def client(self, name: str, place: Node, label: str) -> str:
        """`${workspaceFolder}` and whatever else means something inside a client only: a variable that a person has to set."""
        if name in _KNOWN_HERE:
            return _KNOWN_HERE[name]
        if is_misplaced(name):
            return self._variable(name, place, label)
        spelled = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
        known = variable_name(spelled.upper())
        shown = f"`${{{name}}}`" if len(name) <= 40 and is_showable(name) else "a variable of the client"
        self.report(
            "unresolvable-variable",
            place,
            f"{label}: {shown} means something to the client only",
            hint=f"write the path instead of ${{env:{known}}}, which stands in its place, or set that variable",
            severity=Severity.ERROR,
        )
        self.plain.add(known)
        return f"${{env:{known}}}"

    def asked(self, identifier: str, place: Node, label: str) -> str:
        """`${input:ID}`: a variable; a secret unless the file declares that the answer is none."""
        if credential_in_text(identifier):
            return self._misplaced(identifier, place, label, suggested="INPUT")
        declared = (self.inputs or {}).get(identifier)
        if declared is None:
            known = variable_name(identifier)
            hint = f"set {known}, which stands in its place"
            self.report("undeclared-input", place, f"{label}: the file declares no such input", hint=hint)
            return f"${{env:{known}}}"
        if declared.flag("password"):
            return f"${{env:{variable_name(identifier)}}}"
        self.plain.add(variable_name(identifier))
        default = declared.text("default")
        usable = default is not None and not set(default) & set("{}$")
        return self.named(variable_name(identifier), default if usable else None, place, label)

    def _stored(self, scheme: str, suggested: str, place: Node, label: str) -> str:
        if credential_in_text(suggested):
            return self._misplaced(suggested, place, label, suggested="STORED")
        known = variable_name(suggested)
        self.report(
            "unsupported-secret-scheme",
            place,
            f"{label}: it refers to a secret store ({scheme}) that remit does not read",
            hint=f"put the value into {known}, or into a file that ${{file:PATH}} names",
            severity=Severity.ERROR,
        )
        return f"${{env:{known}}}"

    def stored(self, scheme: str, entry: str, place: Node, label: str) -> str:
        """`{{vault:NAME}}`."""
        return self._stored(scheme, entry.strip(), place, label)

    def file(self, path: str, place: Node, label: str) -> str:
        """`{file:PATH}`."""
        if credential_in_text(path):
            return self._misplaced(path, place, label, suggested="FILE")
        return f"${{file:{path}}}"

    def personal(self, name: str, place: Node, label: str) -> str:
        """`{{NAME}}`: a value that differs by the user of a chat; a server of mcp.yaml has one."""
        if is_misplaced(name):
            return self._variable(name, place, label)
        hint = f"set {variable_name(name)} to the value of the account that remit connects with"
        self.report("per-user-variable", place, f"{label}: the value differs by user there", hint=hint)
        return self._variable(name, place, label)


_Kind = Callable[[Translation, str, re.Match[str], Node, str], str]

_KINDS: Mapping[str, _Kind] = {
    "workflow": lambda to, name, _, place, label: to.named(name, None, place, label),
    "env": lambda to, name, token, place, label: to.named(name, token["default"], place, label),
    "input": lambda to, name, _, place, label: to.asked(name, place, label),
    "shell": lambda to, name, token, place, label: to.shell(name, token["otherwise"], place, label),
    "client": lambda to, name, _, place, label: to.client(name, place, label),
    "braced": lambda to, name, _, place, label: to.named(name, None, place, label),
    "path": lambda to, path, _, place, label: to.file(path, place, label),
    "entry": lambda to, entry, token, place, label: to.stored(token["store"], entry, place, label),
    "user": lambda to, name, _, place, label: to.personal(name, place, label),
}
"""What each group of a token becomes."""
