"""The leaves of a tool's parameters: every argument that takes one value or a list of values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from contextune.plan.schema import Parameter, parameter_of, tool_parameters
from contextune.types import Tool

MAX_LEAVES = 14
"""Arguments that are filled, required ones first: a tool with more is filled in part."""
_DEPTH = 3
EACH = "[]"
"""Stands in a path for every element of a list of objects."""


@dataclass(frozen=True)
class Leaf:
    """An argument, or a part of one: `path` leads to it through nested objects."""

    path: tuple[str, ...]
    parameter: Parameter
    """Of one value: for a list, of its elements."""
    required: bool
    is_list: bool = False

    @property
    def name(self) -> str:
        """The path as one name: `flight.number`."""
        return ".".join(self.path)

    @property
    def table(self) -> tuple[str, ...]:
        """The path of the list of objects that it is a column of; empty if it is of none."""
        return self.path[: self.path.index(EACH)] if EACH in self.path else ()


def tool_leaves(tool: Tool) -> tuple[Leaf, ...]:
    """The leaves of a tool's parameters, required ones first."""
    return _leaves(tool_parameters(tool))


@lru_cache(maxsize=4096)
def _leaves_of(parameters: tuple[Parameter, ...]) -> tuple[Leaf, ...]:
    leaves = [leaf for parameter in parameters for leaf in _expand((), parameter, parameter.required, 0)]
    leaves.sort(key=lambda leaf: not leaf.required)
    return tuple(leaves[:MAX_LEAVES])


def _leaves(parameters: tuple[Parameter, ...]) -> tuple[Leaf, ...]:
    try:
        return _leaves_of(parameters)
    except TypeError:  # a schema that cannot be hashed
        return _leaves_of.__wrapped__(parameters)


def _expand(path: tuple[str, ...], parameter: Parameter, required: bool, depth: int) -> Iterator[Leaf]:
    path = (*path, parameter.name)
    schema = parameter.schema
    if parameter.kind == "list":
        element = cast("object", schema.get("items"))
        if isinstance(element, Mapping):
            described = {"description": schema.get("description", ""), **cast("Mapping[str, Any]", element)}
            inner = parameter_of(parameter.name, described, required=required, root=parameter.root)
            if inner.kind not in ("list", "other"):
                yield Leaf(path, inner, required, is_list=True)
            elif EACH not in path:
                yield from _columns((*path, EACH), inner, required, depth)
        return
    properties = cast("object", schema.get("properties"))
    if isinstance(properties, Mapping) and depth < _DEPTH:
        needed = frozenset(cast("Sequence[str]", schema.get("required") or ()))
        for name, part in cast("Mapping[str, Any]", properties).items():
            if isinstance(part, Mapping):
                part = cast("Mapping[str, Any]", part)
                inner = parameter_of(name, part, required=name in needed, root=parameter.root)
                yield from _expand(path, inner, required and name in needed, depth + 1)
        return
    if parameter.kind != "other":
        yield Leaf(path, parameter, required)


def _columns(path: tuple[str, ...], row: Parameter, required: bool, depth: int) -> Iterator[Leaf]:
    """The properties of the objects of a list, each a list of its own; lists and objects in them are not."""
    for leaf in _expand(path[:-1], replace(row, name=EACH), required, depth + 1):
        if not leaf.is_list and len(leaf.path) == len(path) + 1:
            yield replace(leaf, is_list=True)


def nest(values: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """The arguments of a call from the values of its leaves; None stands for what a row does not have."""
    arguments: dict[str, Any] = {}
    for path, value in values.items():
        inner = arguments
        *outer, last = path[: path.index(EACH)] if EACH in path else path
        for name in outer:
            inner = inner.setdefault(name, {})
        if EACH not in path:
            inner[last] = value
            continue
        rows = inner.setdefault(last, [{} for _ in value])
        for row, part in zip(rows, value, strict=True):
            if part is not None:
                row[path[-1]] = part
    return arguments
