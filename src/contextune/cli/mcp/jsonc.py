"""Edit JSON with comments (JSONC) in place: everything but the edited member keeps its bytes.

Editors allow comments and trailing commas in their settings. Parsing and writing such a file would lose the
comments and the order, so members are replaced, inserted and removed in the text.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contextune.errors import InvalidDataError

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[^\s,:{}\[\]\"/]+")
_INDENT = "  "
_MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class _Value:
    """A value and where it is in the text."""

    start: int
    end: int
    data: Any
    members: "dict[str, _Member] | None" = None
    """Of an object."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object: its key and value, and the comma after it."""

    start: int
    value: _Value
    comma: int | None = field(default=None)
    """Position of the comma after it."""


def load_jsonc(text: str) -> Any:
    """The data of a text; an empty one is an empty object."""
    return _parse(text).data if text.strip("\ufeff \t\r\n") else {}


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the member at `path` set to `value`; objects on the way are created."""
    if not text.strip("\ufeff \t\r\n"):
        return _dump(_nest(path, value), "", "\n") + "\n"
    data, (parent, rest) = load_jsonc(text), _descend(text, path)
    members = _object_members(parent, path[: -len(rest)])
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _member_indent(text, parent, len(path) - len(rest))
    if not rest[1:] and rest[0] in members:
        old = members[rest[0]].value
        edited = text[: old.start] + _dump(value, indent, newline) + text[old.end :]
    else:
        entry = f"{json.dumps(rest[0], ensure_ascii=False)}: {_dump(_nest(rest[1:], value), indent, newline)}"
        edited = _insert(text, parent, entry, indent, newline)
    return _checked(edited, _with_member(data, path, value))


def remove_member(text: str, path: Sequence[str]) -> str:
    """The text without the member at `path`; an error if there is none."""
    data, (parent, rest) = load_jsonc(text), _descend(text, path)
    members = _object_members(parent, path[: -len(rest)])
    if len(rest) > 1 or rest[0] not in members:
        raise InvalidDataError(f"there is no {'.'.join(path)!r}")
    names = list(members)
    position = names.index(rest[0])
    member = members[rest[0]]
    end = member.value.end if member.comma is None else member.comma + 1
    start = len(text[: member.start].rstrip(" \t"))
    if text[:start].endswith("\n"):  # the entry has lines of its own
        start = len(text[: start - 1].rstrip("\r"))
    edited = text[:start] + text[end:]
    if member.comma is None and position:
        comma = members[names[position - 1]].comma
        if comma is not None:
            edited = edited[:comma] + edited[comma + 1 :]
    return _checked(edited, _without_member(data, path))


def _parse(text: str) -> _Value:
    start = _skip(text, len(text) - len(text.lstrip("\ufeff")))
    value = _parse_value(text, start, 0)
    if _skip(text, value.end) != len(text):
        raise _error(text, value.end, "more after the end")
    return value


def _parse_value(text: str, start: int, depth: int) -> _Value:
    if depth > _MAX_DEPTH:
        raise _error(text, start, "too many levels")
    opening = text[start : start + 1]
    if opening == "{":
        return _parse_object(text, start, depth)
    if opening == "[":
        return _parse_array(text, start, depth)
    found = _STRING.match(text, start) or _SCALAR.match(text, start)
    if found is None:
        raise _error(text, start, "a value is missing")
    try:
        return _Value(start, found.end(), json.loads(found.group()))
    except ValueError:
        raise _error(text, start, "not a value") from None


def _parse_object(text: str, start: int, depth: int) -> _Value:
    members: dict[str, _Member] = {}
    position = _skip(text, start + 1)
    while text[position : position + 1] != "}":
        key = _STRING.match(text, position)
        if key is None:
            raise _error(text, position, "a name in quotes is missing")
        colon = _skip(text, key.end())
        if text[colon : colon + 1] != ":":
            raise _error(text, colon, "a colon is missing")
        value = _parse_value(text, _skip(text, colon + 1), depth + 1)
        name: str = json.loads(key.group())
        if name in members:
            raise _error(text, position, f"{name!r} is there twice")
        position = _skip(text, value.end)
        has_comma = text[position : position + 1] == ","
        members[name] = _Member(key.start(), value, position if has_comma else None)
        if has_comma:
            position = _skip(text, position + 1)
        elif text[position : position + 1] != "}":
            raise _error(text, position, "a comma or } is missing")
    data = {name: member.value.data for name, member in members.items()}
    return _Value(start, position + 1, data, members)


def _parse_array(text: str, start: int, depth: int) -> _Value:
    data: list[Any] = []
    position = _skip(text, start + 1)
    while text[position : position + 1] != "]":
        value = _parse_value(text, position, depth + 1)
        data.append(value.data)
        position = _skip(text, value.end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif text[position : position + 1] != "]":
            raise _error(text, position, "a comma or ] is missing")
    return _Value(start, position + 1, data)


def _skip(text: str, position: int) -> int:
    """The position after blanks and comments."""
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _error(text: str, position: int, reason: str) -> InvalidDataError:
    line = text.count("\n", 0, position) + 1
    return InvalidDataError(f"line {line}: not valid JSON: {reason}")


def _descend(text: str, path: Sequence[str]) -> tuple[_Value, Sequence[str]]:
    """The innermost object on the path that exists, and the rest of the path."""
    value = _parse(text)
    for number, name in enumerate(path[:-1]):
        members = _object_members(value, path[:number])
        if name not in members:
            return value, path[number:]
        value = members[name].value
    return value, path[-1:]


def _object_members(value: _Value, path: Sequence[str]) -> dict[str, _Member]:
    if value.members is None:
        raise InvalidDataError(f"{'.'.join(path) or 'the file'} is not an object")
    return value.members


def _member_indent(text: str, parent: _Value, depth: int) -> str:
    """The indentation of the members of an object; that of `depth` levels if it has no lines of its own."""
    for member in (parent.members or {}).values():
        before = text[text.rfind("\n", 0, member.start) + 1 : member.start]
        if not before.strip():
            return before
    line = text[text.rfind("\n", 0, parent.start) + 1 : parent.start]
    margin = line[: len(line) - len(line.lstrip(" \t"))]
    return margin + ("\t" if margin.endswith("\t") else _INDENT) if margin else _INDENT * (depth + 1)


def _insert(text: str, parent: _Value, entry: str, indent: str, newline: str) -> str:
    """Insert an entry at the end of an object, after its last comment."""
    close = parent.end - 1
    end = len(text[:close].rstrip())
    closing = text[end:close]
    if "\n" not in closing:
        closing = newline + indent.removesuffix("\t" if indent.endswith("\t") else _INDENT)
    edited = text[:end] + newline + indent + entry + closing + text[close:]
    members = list((parent.members or {}).values())
    if members and members[-1].comma is None:
        position = members[-1].value.end
        edited = edited[:position] + "," + edited[position:]
    return edited


def _dump(value: Any, indent: str, newline: str) -> str:
    step = "\t" if indent.endswith("\t") else _INDENT
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", newline + indent)


def _nest(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _with_member(data: Any, path: Sequence[str], value: Any) -> Any:
    inner = _with_member(data.get(path[0], {}), path[1:], value) if path[1:] else value
    return {**data, path[0]: inner}


def _without_member(data: Any, path: Sequence[str]) -> Any:
    if path[1:]:
        return {**data, path[0]: _without_member(data[path[0]], path[1:])}
    return {name: value for name, value in data.items() if name != path[0]}


def _checked(text: str, expected: Any) -> str:
    """The text, after it was read again: an edit must change nothing else."""
    if load_jsonc(text) != expected:
        raise InvalidDataError("cannot be edited without changing more than the entry: edit it by hand")
    return text
