"""Upper bound of the work a JSON Schema makes, computed before it is run.

A schema of a few hundred bytes can take hours to run: in a chain of 40 definitions that each refer twice to
the next, the last one is visited 2^40 times. `SchemaGraph.cost` counts those visits without making them.
Data in a schema counts as well: each member of an `enum` is compared with the value.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from contextune._internal.phrases import phrases
from contextune.errors import InvalidDataError

MAX_DEPTH = 64
"""Levels of lists and objects in a schema or a value."""
_MAX_SUBSCHEMAS = 10_000
_MAX_COST = 20_000
_MAX_STEPS = 200_000
"""Subschemas that are looked at, for all depths of values, to compute the cost."""
_PATTERN_COST = 400
_SCALARS_PER_STEP = 16
"""Scalars are compared so much faster than a subschema is visited."""

SCHEMA_MAPS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords whose value maps names to schemas."""
DATA_KEYWORDS = frozenset({"enum", "const", "default", "examples", "example"})
"""Keywords whose value is data: what looks like a schema in there is none."""
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
"""Keywords whose subschemas apply to the same value."""
_INTO_PARTS = phrases("""
    properties, patternProperties, additionalProperties, propertyNames, unevaluatedProperties, items
    prefixItems, additionalItems, contains, unevaluatedItems
""")
"""Keywords whose subschemas apply to the properties or items of the value."""
_ONE_OF_MANY = ("properties", "prefixItems", "additionalProperties", "additionalItems")
"""Of these, one subschema at most applies to a part: the costliest counts."""
_COMPARED = ("enum", "const", "required", "dependentRequired")
"""Keywords whose data is compared with the value, or reported as missing from it."""
_UNSUPPORTED = ("$dynamicRef", "$recursiveRef")

Pointer = tuple[str, ...]


class InvalidSchemaError(InvalidDataError):
    """A JSON Schema that is invalid, refers outside of itself, or would take too long to run."""

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class SchemaBudgetError(InvalidSchemaError):
    """A JSON Schema that is too large, or would take too long to run."""


class SchemaGraph:
    """The subschemas of a schema and the references between them."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._nodes: dict[Pointer, Any] = {}
        self._anchors: dict[str, Pointer] = {}
        self._id = str(schema.get("$id") or schema.get("id") or "").rstrip("#")
        self._costs: dict[tuple[Pointer, int], int] = {}
        self._data_costs: dict[tuple[Pointer, str], int] = {}
        self._steps = 0
        self._collect(schema, (), 0)

    def check(self) -> None:
        """Raise `SchemaBudgetError` if the schema alone, whatever the value, is over budget."""
        self.check_value(0)

    def check_references(self) -> None:
        """Raise `InvalidSchemaError` if a reference leads to anything but a subschema of this schema."""
        for node in self._nodes.values():
            if isinstance(node, Mapping):
                for keyword in _UNSUPPORTED:
                    if keyword in node:
                        raise InvalidSchemaError(f"the keyword {keyword} is not supported: use $ref")
                reference = cast("Mapping[str, Any]", node).get("$ref")
                if isinstance(reference, str) and self._resolve(reference) not in self._nodes:
                    raise InvalidSchemaError(
                        f"unresolvable reference {reference!r}: only subschemas of the same document can be "
                        "referred to, and nothing is fetched"
                    )

    def check_value(self, depth: int) -> None:
        """Raise `SchemaBudgetError` if a value of `depth` levels would meet too many subschemas."""
        try:
            cost = self.cost(depth)
        except RecursionError:
            raise SchemaBudgetError("the schema has too long a chain of references") from None
        if cost > _MAX_COST:
            raise SchemaBudgetError(
                f"the schema takes too long to check: with its references expanded, one value meets {cost:,} "
                f"subschemas (at most {_MAX_COST:,}; a pattern counts as {_PATTERN_COST})"
            )

    def cost(self, depth: int) -> int:
        """How many subschemas are visited, at most, along one path of `depth` levels into a value."""
        return self._cost((), depth, set())

    def local_reference(self, reference: str) -> str:
        """The reference relative to the document, if it names the document by its `$id`."""
        return (reference.removeprefix(self._id) if self._id else reference) or "#"

    def _collect(self, node: Any, pointer: Pointer, depth: int) -> None:
        if not isinstance(node, Mapping | bool):
            return
        if depth > MAX_DEPTH:
            raise SchemaBudgetError(f"the schema is nested more than {MAX_DEPTH} levels deep")
        if len(self._nodes) >= _MAX_SUBSCHEMAS:
            raise SchemaBudgetError(f"the schema has more than {_MAX_SUBSCHEMAS:,} subschemas")
        self._nodes[pointer] = node
        if isinstance(node, bool):
            return
        keywords = cast("Mapping[str, Any]", node)
        if isinstance(anchor := keywords.get("$anchor"), str):
            self._anchors[anchor] = pointer
        for keyword, value in keywords.items():
            for names, part in _parts(keyword, value):
                self._collect(part, (*pointer, keyword, *names), depth + 1)

    def _resolve(self, reference: str) -> Pointer | None:
        local = self.local_reference(reference)
        if not local.startswith("#"):
            return None
        fragment = unquote(local[1:])
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(fragment)
        return tuple(name.replace("~1", "/").replace("~0", "~") for name in fragment.split("/")[1:])

    def _cost(self, pointer: Pointer | None, depth: int, stack: set[tuple[Pointer, int]]) -> int:
        """The cost of a subschema: of those for the same value, plus of those for its parts.

        One function without comprehensions, as each level of a schema takes a frame of Python's stack.
        """
        node = self._nodes.get(pointer) if pointer is not None else None
        if pointer is None or not isinstance(node, Mapping):
            return 1
        key = pointer, depth
        if key in self._costs:
            return self._costs[key]
        if key in stack:
            raise InvalidSchemaError(f"the subschema {'/'.join(('#', *pointer))!r} refers to itself")
        stack.add(key)
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise SchemaBudgetError(
                f"the schema takes too long to check: it has more than {_MAX_STEPS:,} steps"
            )
        cost, same, one_part = 1, 0, 0
        for keyword, value in cast("Mapping[str, Any]", node).items():
            if keyword == "$ref" and isinstance(value, str):
                same += self._cost(self._resolve(value), depth, stack)
            elif keyword == "pattern":
                cost += _PATTERN_COST
            elif keyword in _COMPARED:
                if (pointer, keyword) not in self._data_costs:
                    self._data_costs[pointer, keyword] = _data_cost(keyword, value)
                cost += self._data_costs[pointer, keyword]
            elif keyword in _IN_PLACE or (keyword in _INTO_PARTS and depth):
                below = depth - (keyword in _INTO_PARTS)
                for names, part in _parts(keyword, value):
                    if not isinstance(part, Mapping | bool):
                        continue
                    part_cost = self._cost((*pointer, keyword, *names), below, stack)
                    if keyword in _IN_PLACE:
                        same += part_cost
                    elif keyword in _ONE_OF_MANY:
                        one_part = max(one_part, part_cost)
                    else:
                        cost += part_cost + (_PATTERN_COST if keyword == "patternProperties" else 0)
        stack.discard(key)
        if node.keys() & {"unevaluatedProperties", "unevaluatedItems"}:
            same *= 2  # these evaluate the other keywords again
        self._costs[key] = cost + same + one_part
        return self._costs[key]


def _data_cost(keyword: str, value: Any) -> int:
    """Steps to compare the data of a keyword with a value."""
    scalars = structured = 0
    pending: list[Any] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            structured += 1
            pending += cast("Mapping[str, Any]", part).values()
        elif isinstance(part, list):
            structured += 1
            pending += cast("list[Any]", part)
        else:
            scalars += 1
    # each missing name is an error of its own; objects and lists are compared member by member
    if keyword not in ("enum", "const") or structured > 1:
        return structured + scalars
    return scalars // _SCALARS_PER_STEP


def _parts(keyword: str, value: Any) -> Iterator[tuple[Pointer, Any]]:
    """The subschemas of a keyword's value, each with its place in that value."""
    if keyword in DATA_KEYWORDS:
        return
    if isinstance(value, list):
        for place, part in enumerate(cast("list[Any]", value)):
            yield (str(place),), part
    elif keyword in SCHEMA_MAPS and isinstance(value, Mapping):
        for name, part in cast("Mapping[str, Any]", value).items():
            yield (name,), part
    else:
        yield (), value
