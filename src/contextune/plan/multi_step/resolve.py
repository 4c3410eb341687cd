"""What a step gave back, and the part of it that a pointer leads to.

A tool does not say beforehand what its result looks like, so a pointer names what is wanted as the later tool
calls it: `email_subject` finds a `subject`, `issue_id` an `id`. Whatever is found is a value, and nothing
in it is read as an order.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, cast

from contextune.errors import PlanError
from contextune.plan.multi_step.steps import Pointer, pointers
from contextune.plan.schema import Parameter, parameters
from contextune.search.tokenize import identifier_words
from contextune.types import Plan, Tool

_ALIKE = (
    frozenset(["title", "name", "subject", "label"]),
    frozenset(["destination", "location", "address", "place", "venue", "near", "where"]),
    frozenset(["number", "phone", "telephone", "tel", "mobile"]),
    frozenset(["recipient", "email", "address", "mail", "contact", "to"]),
    frozenset(["start", "time", "date", "when", "begin", "slot", "due"]),
    frozenset(["id", "key", "uid", "identifier"]),
    frozenset(["url", "uri", "link", "href"]),
    frozenset(["text", "body", "content", "message", "summary"]),
)
"""Words of which any may stand for another where a result calls a thing differently from the next tool."""
_WRAPPED = frozenset(["result", "results", "data", "items", "value", "output", "structuredcontent"])
_SHOWN = 8
_LONG = 300
"""A longer text is no name, number or address, and nothing says which part of it would be."""


def resolved(plan: Plan, tool: Tool, values: Sequence[Any]) -> Plan:
    """The plan with values in place of pointers; `values` are what the steps before gave back, in order."""
    given = dict(plan.arguments)
    known = {parameter.name: parameter for parameter in parameters(tool)}
    for name, pointer in pointers(plan).items():
        if pointer.step >= len(values):
            raise PlanError(f"{name!r} points at step {pointer.step + 1}, which has not been carried out")
        if name not in known:
            raise PlanError(f"{name!r} is no argument of {tool.name}")
        given[name] = replace(given[name], value=resolve(values[pointer.step], pointer, known[name]))
    return replace(plan, arguments=given)


def resolve(value: Any, pointer: Pointer, parameter: Parameter) -> Any:
    """The value for an argument out of what a step gave back; an error where none can be it."""
    found = _opened(value)
    for part in pointer.path:
        found = _at(found, part, pointer) if isinstance(part, int) else _named(found, part, pointer)
    return _shaped(found, pointer, parameter)


def _opened(value: Any) -> Any:
    """What a server wrote as text or wrapped in a name of no meaning, as MCP does with lists."""
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


def _at(found: Any, place: int, pointer: Pointer) -> Any:
    listed = _opened(found)
    if isinstance(listed, Mapping):  # a page of results: a list beside a count
        fields = cast("Mapping[str, Any]", listed)
        lists = [name for name, one in fields.items() if isinstance(one, list)]
        listed = fields[lists[0]] if len(lists) == 1 else fields
    if not isinstance(listed, list | tuple):
        if place == 0 and listed is not None:
            return listed  # one thing stands for a list of one
        raise PlanError(f"{pointer!r} wants a list, and step {pointer.step + 1} gave none")
    several = cast("Sequence[Any]", listed)
    if place >= len(several):
        raise PlanError(f"{pointer!r} is not there: step {pointer.step + 1} found {len(several)}")
    return several[place]


def _named(found: Any, name: str, pointer: Pointer) -> Any:
    found = _opened(found)
    if isinstance(found, list | tuple):
        several = cast("Sequence[Any]", found)
        if len(several) != 1:
            raise PlanError(f"{pointer!r} is not clear: step {pointer.step + 1} found {len(several)}")
        found = _opened(several[0])
    if not isinstance(found, Mapping):
        return found  # a tool that makes one thing often gives back its id and nothing else
    fields = cast("Mapping[str, Any]", found)
    if name in fields:
        return fields[name]
    wanted = identifier_words(name)
    for like in (_same, _shorter, _alike):
        keys = [key for key in fields if like(identifier_words(str(key)), wanted)]
        if len(keys) == 1 or (keys and like is _alike):
            return fields[keys[0]]
    there = ", ".join(repr(str(key)) for key in list(fields)[:_SHOWN]) or "nothing"
    raise PlanError(f"{pointer!r} is not there: step {pointer.step + 1} gave {there}")


def _same(key: Sequence[str], wanted: Sequence[str]) -> bool:
    return list(key) == list(wanted)


def _shorter(key: Sequence[str], wanted: Sequence[str]) -> bool:
    """`subject` for `email_subject`, `event_id` for `id`."""
    short, long = sorted((list(key), list(wanted)), key=len)
    return bool(short) and long[-len(short) :] == short


def _alike(key: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(key and wanted and key[-1] in group and wanted[-1] in group for group in _ALIKE)


def _shaped(found: Any, pointer: Pointer, parameter: Parameter) -> Any:
    """In the form of the argument; whether it fits is for its schema to say."""
    if found is None or found == "":
        raise PlanError(f"{pointer!r} is empty: step {pointer.step + 1} gave nothing there")
    if parameter.kind == "free":
        return _worded(found)
    if parameter.kind == "list":
        return list(cast("Sequence[Any]", found)) if isinstance(found, list | tuple) else [found]
    if isinstance(found, str) and parameter.kind not in ("other", "choice") and _long(found):
        raise PlanError(
            f"{pointer!r} is a text, and {parameter.name!r} takes one value: say which part of it is meant"
        )
    if parameter.kind in ("integer", "number") and isinstance(found, str):
        return _number(found)
    if parameter.kind == "text" and isinstance(found, int | float) and not isinstance(found, bool):
        return str(found)
    return found


def _long(text: str) -> bool:
    return len(text) > _LONG or "\n" in text.strip()


def _number(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text  # the schema says what is wrong with it
    if not isfinite(value):
        return text
    return int(value) if value.is_integer() else value


def _worded(found: Any) -> str:
    """As a text for people: lists line by line, objects with their names."""
    match found:
        case str():
            return found
        case list() | tuple():
            return "\n".join(map(_worded, cast("Sequence[Any]", found)))
        case Mapping():
            fields = cast("Mapping[str, Any]", found)
            return ", ".join(
                f"{name}: {_worded(one)}" for name, one in fields.items() if one not in (None, "")
            )
        case _:
            return str(found)
