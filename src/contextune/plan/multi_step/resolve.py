"""Resolve pointers: find the value a pointer refers to in the result of a step.

The shape of a result is unknown beforehand, so a pointer uses the name that the later tool has for the value,
and is matched leniently: `email_subject` finds `subject`, `issue_id` finds `id`. A resolved value is data,
never an instruction.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, cast

from contextune.errors import PlanError
from contextune.plan.multi_step.steps import Pointer, pointers
from contextune.plan.schema import Parameter, tool_parameters
from contextune.search.tokenize import identifier_words
from contextune.types import Plan, Tool

_SYNONYMS = (
    frozenset(["title", "name", "subject", "label"]),
    frozenset(["destination", "location", "address", "place", "venue", "near", "where"]),
    frozenset(["number", "phone", "telephone", "tel", "mobile"]),
    frozenset(["recipient", "email", "address", "mail", "contact", "to"]),
    frozenset(["start", "time", "date", "when", "begin", "slot", "due"]),
    frozenset(["id", "key", "uid", "identifier"]),
    frozenset(["url", "uri", "link", "href"]),
    frozenset(["text", "body", "content", "message", "summary"]),
)
"""Synonyms in field names: a result may name a thing differently from the next tool."""
_WRAPPED = frozenset(["result", "results", "data", "items", "value", "output", "structuredcontent"])
_MAX_NAMES = 8
_MAX_VALUE = 300
"""A longer text is not a name, number or address, and cannot fill such an argument."""


def resolve_pointers(plan: Plan, tool: Tool, values: Sequence[Any]) -> Plan:
    """Replace the pointers of a plan by values; `values` are the results of the earlier steps, in order."""
    arguments = dict(plan.arguments)
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    for name, pointer in pointers(plan).items():
        if pointer.step >= len(values):
            raise PlanError(f"{name!r} points at step {pointer.step + 1}, which has not been run")
        if name not in declared:
            raise PlanError(f"{tool.name} has no argument {name!r}")
        value = resolve_pointer(values[pointer.step], pointer, declared[name])
        arguments[name] = replace(arguments[name], value=value)
    return replace(plan, arguments=arguments)


def resolve_pointer(value: Any, pointer: Pointer, parameter: Parameter) -> Any:
    """Extract the value for an argument from the result of a step, else raise `PlanError`."""
    value = _unwrap(value)
    for part in pointer.path:
        value = _index(value, part, pointer) if isinstance(part, int) else _field(value, part, pointer)
    return _convert(value, pointer, parameter)


def _unwrap(value: Any) -> Any:
    """Parse JSON text, and remove wrappers such as `{"result": …}`, which MCP puts around lists."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    while isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        only = next(iter(fields)) if len(fields) == 1 else None
        if not isinstance(only, str) or only.casefold().replace("_", "") not in _WRAPPED:
            break
        value = fields[only]
    return cast("Any", value)


def _index(value: Any, index: int, pointer: Pointer) -> Any:
    value = _unwrap(value)
    if isinstance(value, Mapping):  # a page of results: a list beside a count
        fields = cast("Mapping[str, Any]", value)
        lists = [name for name, field in fields.items() if isinstance(field, list)]
        value = fields[lists[0]] if len(lists) == 1 else fields
    if not isinstance(value, list | tuple):
        if index == 0 and value is not None:
            return value  # a single result counts as a list of one
        raise PlanError(f"{pointer!r} needs a list, but step {pointer.step + 1} did not return one")
    elements = cast("Sequence[Any]", value)
    if index >= len(elements):
        raise PlanError(f"{pointer!r} does not exist: step {pointer.step + 1} returned {len(elements)}")
    return elements[index]


def _field(value: Any, name: str, pointer: Pointer) -> Any:
    value = _unwrap(value)
    if isinstance(value, list | tuple):
        elements = cast("Sequence[Any]", value)
        if len(elements) != 1:
            raise PlanError(f"{pointer!r} is ambiguous: step {pointer.step + 1} returned {len(elements)}")
        value = _unwrap(elements[0])
    if not isinstance(value, Mapping):
        return value  # a tool that creates something often returns only its id
    fields = cast("Mapping[str, Any]", value)
    if name in fields:
        return fields[name]
    wanted = identifier_words(name)
    for matches in (_equal, _ends_alike, _synonymous):
        keys = [key for key in fields if matches(identifier_words(str(key)), wanted)]
        if len(keys) == 1 or (keys and matches is _synonymous):
            return fields[keys[0]]
    names = ", ".join(repr(str(key)) for key in list(fields)[:_MAX_NAMES]) or "nothing"
    raise PlanError(f"{pointer!r} does not exist: step {pointer.step + 1} returned {names}")


def _equal(key: Sequence[str], wanted: Sequence[str]) -> bool:
    return list(key) == list(wanted)


def _ends_alike(key: Sequence[str], wanted: Sequence[str]) -> bool:
    """`subject` for `email_subject`, `event_id` for `id`."""
    short, long = sorted((list(key), list(wanted)), key=len)
    return bool(short) and long[-len(short) :] == short


def _synonymous(key: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(key and wanted and key[-1] in group and wanted[-1] in group for group in _SYNONYMS)


def _convert(value: Any, pointer: Pointer, parameter: Parameter) -> Any:
    """Convert to the type of the argument; its schema is checked by the caller."""
    if value is None or value == "":
        raise PlanError(f"{pointer!r} is empty: step {pointer.step + 1} returned no value")
    if parameter.kind == "free":
        return _to_text(value)
    if parameter.kind == "list":
        return list(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else [value]
    if isinstance(value, str) and parameter.kind not in ("other", "choice") and _is_long(value):
        raise PlanError(
            f"{pointer!r} is a long text, but {parameter.name!r} takes one value: say which part is meant"
        )
    if parameter.kind in ("integer", "number") and isinstance(value, str):
        return _number(value)
    if parameter.kind == "text" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def _is_long(text: str) -> bool:
    return len(text) > _MAX_VALUE or "\n" in text.strip()


def _number(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text  # the schema check reports it
    if not isfinite(value):
        return text
    return int(value) if value.is_integer() else value


def _to_text(value: Any) -> str:
    """Format for people: lists line by line, objects as "name: value"."""
    match value:
        case str():
            return value
        case list() | tuple():
            return "\n".join(map(_to_text, cast("Sequence[Any]", value)))
        case Mapping():
            fields = cast("Mapping[str, Any]", value)
            return ", ".join(
                f"{name}: {_to_text(field)}" for name, field in fields.items() if field not in (None, "")
            )
        case _:
            return str(value)
