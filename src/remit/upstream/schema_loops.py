"""How many subschemas of a JSON Schema apply to one and the same value: a bounded number, too many, or no end of them.

A `$ref` costs a few bytes, so 40 definitions that each apply the next one twice make a validator look 2^40 times, and two
that apply each other send it around for ever; jsonschema-rs accepts every value then (measured with 0.60). Decides only
what follows from the references; depth and size of the document are capped in remit.upstream.schema_check before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from remit.core.canonical import Json, JsonObject
from remit.core.schema_refs import follow, schemas_in

__all__ = ["MAX_APPLIED", "REFERENCES", "applied_at_once"]

MAX_APPLIED = 5_000
"""Subschemas that may apply to one value. As many as a document may hold; of 1,511 tools of 69 public servers none comes to more than 21."""

REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_IN_PLACE = frozenset({"allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"})
_ANCHORS = ("$anchor", "$dynamicAnchor")


@dataclass(slots=True)
class _Graph:
    """Schemas by identity, each with those that it applies to the same value."""

    applies: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    anchors: dict[str, list[JsonObject]] = field(default_factory=dict[str, list[JsonObject]])


def applied_at_once(root: JsonObject) -> int | None:
    """The most subschemas that apply to one value, at most `MAX_APPLIED` + 1; None where a reference comes back to itself."""
    graph = _Graph()
    _collect_anchors(root, graph)
    _connect(root, graph)
    return _heaviest(graph)


def _collect_anchors(root: JsonObject, graph: _Graph) -> None:
    waiting: list[Json] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            document = cast("JsonObject", node)
            for name in _anchors_of(document):
                graph.anchors.setdefault(name, []).append(document)
            waiting.extend(document.values())
        elif isinstance(node, Sequence) and not isinstance(node, str):
            waiting.extend(cast("Sequence[Json]", node))


def _anchors_of(document: JsonObject) -> Iterator[str]:
    """Names that a reference can use; up to draft-07 they stand under `$id` with a `#`."""
    for keyword in _ANCHORS:
        if isinstance(name := document.get(keyword), str):
            yield f"#{name}"
    if isinstance(identity := document.get("$id"), str) and identity.startswith("#"):
        yield identity


def _connect(root: JsonObject, graph: _Graph) -> None:
    # With each schema goes the nearest one around it that has an $id: pointers start there.
    waiting: list[tuple[JsonObject, JsonObject]] = [(root, root)]
    while waiting:
        schema, base = waiting.pop()
        if id(schema) in graph.applies:
            continue
        base = schema if isinstance(schema.get("$id"), str) else base
        applied = graph.applies[id(schema)] = list[int]()
        for keyword, entry in _below(schema, root, base, graph):
            waiting.append((entry, base))
            if keyword in _IN_PLACE or keyword in REFERENCES:
                applied.append(id(entry))


def _below(schema: JsonObject, root: JsonObject, base: JsonObject, graph: _Graph) -> Iterator[tuple[str, JsonObject]]:
    for keyword, value in schema.items():
        if keyword in REFERENCES and isinstance(value, str):
            yield from ((keyword, target) for target in _targets(value, root, base, graph))
            continue
        for _, entry in schemas_in(keyword, value):
            if isinstance(entry, Mapping):
                yield keyword, cast("JsonObject", entry)


def _targets(reference: str, root: JsonObject, base: JsonObject, graph: _Graph) -> Iterator[JsonObject]:
    """What a reference may mean. Where that depends on the reader's dialect, everything: one meaning that loops is enough."""
    yield from graph.anchors.get(reference, ())
    for start in (root,) if base is root else (root, base):
        found = follow(start, reference)
        if found is not None and isinstance(found[1], Mapping):
            yield cast("JsonObject", found[1])


def _heaviest(graph: _Graph) -> int | None:
    """The largest weight, a schema's weight being one and those of what it applies. Iterative: chains may be 5,000 long."""
    weights: dict[int, int] = {}
    path: set[int] = set()
    for start in graph.applies:
        waiting = [start]
        while waiting:
            node = waiting[-1]
            if node in weights:
                waiting.pop()
                continue
            pending = [each for each in graph.applies[node] if each not in weights]
            if any(each in path for each in pending) or node in pending:
                return None
            if pending:
                path.add(node)
                waiting.extend(pending)
                continue
            path.discard(node)
            weights[node] = min(1 + sum(weights[each] for each in graph.applies[node]), MAX_APPLIED + 1)
            waiting.pop()
    return max(weights.values(), default=0)
