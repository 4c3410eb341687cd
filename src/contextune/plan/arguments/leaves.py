"""The leaves of a tool's parameters: every argument that takes one value or a list of values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from contextune.plan.schema import Parameter, parameter_of, tool_parameters
from contextune.types import Tool

MAX_LEAVES = 14
"""Arguments that are filled, required ones first: a tool with more is filled in part."""
_DEPTH = 3


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
            inner = parameter_of(parameter.name, described, required=required)
            if inner.kind not in ("list", "other"):
                yield Leaf(path, inner, required, is_list=True)
        return
    properties = cast("object", schema.get("properties"))
    if isinstance(properties, Mapping) and depth < _DEPTH:
        needed = frozenset(cast("Sequence[str]", schema.get("required") or ()))
        for name, part in cast("Mapping[str, Any]", properties).items():
            if isinstance(part, Mapping):
                inner = parameter_of(name, cast("Mapping[str, Any]", part), required=name in needed)
                yield from _expand(path, inner, required and name in needed, depth + 1)
        return
    if parameter.kind != "other":
        yield Leaf(path, parameter, required)


def nest(values: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """The arguments of a call from the values of its leaves."""
    arguments: dict[str, Any] = {}
    for path, value in values.items():
        inner = arguments
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value
    return arguments
