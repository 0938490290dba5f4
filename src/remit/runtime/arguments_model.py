"""Whether a tool takes these arguments: a compiled verdict and a pydantic model, made from the inputSchema on first use.

Decides step 4 of a governed call (DESIGN.md section 10) after the design of reference/schemas.md section 4: the validator
gives the verdict, the model typed access, and the arguments that were checked are what is sent. The model therefore coerces
nothing, fills nothing and repeats no bound of the schema; its fields are called f0 to fn with the wire names as aliases, so
that no property (`self`, `__class__`, `model_config`, the empty one) means anything to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, ValidationError, create_model, model_validator

from remit.core.argument_names import ArgumentNames
from remit.core.canonical import Json, JsonObject
from remit.core.definition import Definition
from remit.core.schema_work import weight_of
from remit.runtime.schema_problems import (
    MAX_LINES,
    CompiledSchema,
    SchemaCompiler,
    Wording,
    bounded_lines,
    problem_lines,
    unknown_line,
)

__all__ = ["MAX_FIELDS", "MAX_TOOLS", "ArgumentChecks"]

MAX_TOOLS = 512
"""Tools whose checks are kept; some 40 KB each."""

MAX_FIELDS = 500
"""Properties that get a field; further ones are kept as extra ones, as making fields for thousands takes a second."""

_FIELD_TYPES: Mapping[str, Any] = {
    "string": StrictStr,
    "boolean": StrictBool,
    "object": dict[str, Any],
    "array": list[Any],
}
"""Types that JSON Schema and Python agree on. Numbers are absent: 5.0 is an integer there."""


class _Refused(ValueError):
    def __init__(self, lines: list[str]) -> None:
        super().__init__("the schema refuses them")
        self.lines = lines


@dataclass(frozen=True, slots=True)
class _Checks:
    model: type[BaseModel]
    names: ArgumentNames


class ArgumentChecks:
    """The checks of the tools that are called, the last MAX_TOOLS of them. Safe to share between threads."""

    def __init__(self, compile_schema: SchemaCompiler) -> None:
        def made(definition: Definition) -> _Checks:
            schema = definition.content().input_schema
            names = ArgumentNames(schema)
            return _Checks(_model_of(definition, schema, compile_schema(schema), names), names)

        # Equal definitions are equal texts with equal digests, so that a digest that was tampered with shares nothing.
        self._checks_of = lru_cache(maxsize=MAX_TOOLS)(made)

    def objection(self, definition: Definition, arguments: JsonObject, *, allow_unknown: bool) -> str | None:
        """What is wrong with arguments, in at most 5 lines and 600 characters for a model; None: they may be sent.

        `allow_unknown`: the tool's policy passes arguments that its schema does not name. Raises ValueError where the schema
        itself cannot be compiled, which discovery refuses.
        """
        checks = self._checks_of(definition)
        lines: dict[str, None] = {}
        if not allow_unknown:
            found = islice(checks.names.unknown(arguments), MAX_LINES + 1)
            lines.update(dict.fromkeys(unknown_line(each.path, each.name, each.known) for each in found))
        try:
            checks.model.model_validate(arguments)
        except ValidationError as error:
            lines.update(dict.fromkeys(_lines_in(error)))
        return bounded_lines(list(lines)) if lines else None

    def model(self, definition: Definition) -> type[BaseModel]:
        """The pydantic model of a tool's arguments; `model_fields` has the wire names as aliases."""
        return self._checks_of(definition).model


def _model_of(
    definition: Definition, schema: JsonObject, compiled: CompiledSchema, names: ArgumentNames
) -> type[BaseModel]:
    weight, wording = weight_of(schema), Wording("arguments", names)

    def judge(arguments: JsonObject) -> JsonObject:
        if not compiled.is_valid(arguments):
            raise _Refused(problem_lines(compiled, arguments, weight=weight, wording=wording))
        return arguments

    properties = schema.get("properties")
    entries: JsonObject = cast("JsonObject", properties) if isinstance(properties, Mapping) else {}
    fields: dict[str, Any] = {
        f"f{number}": (_field_type(entry), Field(default=None, alias=name))
        for number, (name, entry) in enumerate(islice(entries.items(), MAX_FIELDS))
    }
    config = ConfigDict(extra="allow", strict=True, hide_input_in_errors=True, protected_namespaces=())
    return create_model(
        f"Arguments_{definition.definition_digest[3:11]}",
        __config__=config,
        __validators__={"judge": cast("Any", model_validator(mode="before")(judge))},
        **fields,
    )


def _field_type(schema: Json) -> Any:
    kind = cast("JsonObject", schema).get("type") if isinstance(schema, Mapping) else None
    return _FIELD_TYPES.get(kind, Any) if isinstance(kind, str) else Any


def _lines_in(error: ValidationError) -> list[str]:
    """The lines of the validator's verdict; the model has none of its own that the validator does not have first."""
    for found in error.errors(include_input=False, include_url=False):
        refused = found.get("ctx", {}).get("error")
        if isinstance(refused, _Refused):
            return refused.lines
    return ["arguments: do not fit the model of the tool's schema"]
