"""What a tool takes, read from its JSON Schema, and whether a plan keeps to it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache, lru_cache
from typing import Any, Literal, cast

from contextune._internal.json_schema import checker
from contextune.errors import PlanError
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Plan, Tool

Kind = Literal[
    "text", "free", "moment", "day", "duration", "list", "number", "integer", "boolean", "choice", "other"
]
"""What a value has to be: `text` is copied from somewhere, `free` is worded by the assistant."""

_FREE = frozenset(
    [
        *("body", "message", "content", "text", "query", "question", "prompt"),
        *("comment", "summary", "description", "note", "q", "keywords"),
    ]
)
"""Arguments so called are worded by the assistant, in catalogues that do not mark which are."""
_DAY = re.compile(r"(^|_)(date|day)$")
_MOMENT = re.compile(r"(^|_)(datetime|timestamp|time|when|at)$")
_DATED = re.compile(r"yyyy-mm-dd|iso.?8601", re.IGNORECASE)
_BY_TYPE: Mapping[str, Kind] = {
    "array": "list",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
_BY_FORMAT: Mapping[str, Kind] = {"date-time": "moment", "date": "day", "duration": "duration"}
_DEPTH = 8
"""How far references are followed; a schema that goes in circles ends as `other`."""


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool, as a planner reads it."""

    name: str
    kind: Kind
    required: bool
    schema: Mapping[str, Any]
    words: tuple[str, ...]
    """Of its name."""
    about: tuple[str, ...]
    """Of its description."""
    choices: tuple[Any, ...] = ()
    default: Any = None
    checkers: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    """What checks its values, once that was needed: making it costs more than a check."""

    @property
    def said(self) -> str:
        """Its name as a person would say it."""
        return " ".join(self.words) or self.name

    @property
    def description(self) -> str:
        """What its schema says of it."""
        return str(self.schema.get("description") or "")


def parameters(tool: Tool) -> tuple[Parameter, ...]:
    """What the tool takes, in the order of its schema."""
    return _parameters(_SchemaKey(tool))


class _SchemaKey:
    """A tool by identity of the object: its schema cannot be hashed, and reading it again costs."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def __hash__(self) -> int:
        return id(self.tool)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SchemaKey) and other.tool is self.tool


@lru_cache(maxsize=4096)
def _parameters(key: _SchemaKey) -> tuple[Parameter, ...]:
    root = key.tool.parameters
    properties = cast("Mapping[str, Any]", root.get("properties") or {})
    required = frozenset(cast("list[str]", root.get("required") or ()))
    plain = {name: _plain(schema, root) for name, schema in properties.items()}
    marked = any(schema.get("x-free-text") for schema in plain.values())
    return tuple(_parameter(name, schema, name in required, marked=marked) for name, schema in plain.items())


def _parameter(name: str, schema: Mapping[str, Any], required: bool, *, marked: bool) -> Parameter:
    choices = tuple(schema["enum"]) if isinstance(schema.get("enum"), list) else ()
    if "const" in schema:
        choices = (schema["const"],)
    return Parameter(
        name,
        "choice" if choices else _kind(name, schema, marked=marked),
        required,
        schema,
        tuple(identifier_words(name)),
        tuple(tokenize(str(schema.get("description") or ""))),
        choices,
        schema.get("default"),
    )


def _kind(name: str, schema: Mapping[str, Any], *, marked: bool) -> Kind:
    typed = str(schema.get("type") or "string")
    if schema.get("x-free-text"):
        return "free"
    if typed in _BY_TYPE:
        return _BY_TYPE[typed]
    if typed != "string" or schema.keys() & {"properties", "items"}:
        return "other"
    if (form := str(schema.get("format"))) in _BY_FORMAT:
        return _BY_FORMAT[form]
    spelled = "_".join(identifier_words(name))
    about = str(schema.get("description") or "")
    if _DAY.search(spelled) or (_DATED.search(about) and "hh" not in about.lower()):
        return "day"
    if _MOMENT.search(spelled):
        return "moment"
    return "free" if not marked and spelled.rsplit("_", 1)[-1] in _FREE else "text"


def _plain(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """A schema without references and without the null that only says it may be left out."""
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return {"type": "other"}
    found = dict(cast("Mapping[str, Any]", schema))
    if isinstance(reference := found.pop("$ref", None), str):
        target: Any = root
        for step in reference.removeprefix("#/").split("/"):
            target = cast("Mapping[str, Any]", target).get(step) if isinstance(target, Mapping) else None
        return {**_plain(target, root, depth + 1), **found}
    for several in ("anyOf", "oneOf", "allOf"):
        parts = [part for part in cast("list[Any]", found.get(several) or ()) if part != {"type": "null"}]
        if parts:
            del found[several]
            return {**_plain(parts[0], root, depth + 1), **found}
    if isinstance(found.get("type"), list):
        found["type"] = next((one for one in found["type"] if one != "null"), "null")
    return found


def faults(plan: Plan, tool: Tool) -> list[str]:
    """What is wrong with a plan as a call of this tool; what is still to be asked for is not wrong."""
    if plan.name != tool.name:
        return [f"the plan calls {plan.name!r}, the tool is {tool.name!r}"]
    known = cast("Mapping[str, Any]", tool.parameters.get("properties") or {})
    found = [f"{name!r} is no argument of {tool.name}" for name in plan.arguments if name not in known]
    open_names = {one.argument for one in plan.missing}
    found += [f"asks for {name!r}, which is given" for name in sorted(open_names & plan.arguments.keys())]
    try:
        errors = list(checker(tool.parameters, formats=_formats()).iter_errors(plan.args))
    except Exception as error:  # whatever a library makes of a schema that is none
        return [*found, f"the schema of {tool.name!r} cannot be read: {error}; mend it"]
    for error in errors:
        if error.validator == "additionalProperties":
            continue  # told above, by name
        if error.validator == "required" and not error.absolute_path and _named(error.message) in open_names:
            continue
        where = ".".join(map(str, error.absolute_path))
        found.append(f"{where}: {error.message}" if where else error.message)
    return found


def check(plan: Plan, tool: Tool) -> Plan:
    """The plan itself, once it is known to fit the tool."""
    if found := faults(plan, tool):
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise PlanError(f"the plan does not fit {tool.id!r}: {found[0]}{more}")
    return plan


def fits(value: Any, parameter: Parameter) -> bool:
    """Whether the value may stand for the argument; nothing may where its schema cannot be read."""
    try:
        return bool(_checker(parameter).is_valid(value))
    except Exception:  # whatever a library makes of a schema that is none
        return False


def _checker(parameter: Parameter) -> Any:
    if parameter.name not in parameter.checkers:
        schema = {name: part for name, part in parameter.schema.items() if name != "default"}
        parameter.checkers[parameter.name] = checker(schema, formats=_formats())
    return parameter.checkers[parameter.name]


def _named(message: str) -> str:
    """The argument in "'title' is a required property"."""
    return message.removesuffix(" is a required property").strip("'\"")


@cache
def _formats() -> Any:
    from jsonschema import FormatChecker

    found = FormatChecker(formats=())
    found.checks("date-time", raises=ValueError)(_is_moment)
    found.checks("date", raises=ValueError)(_is_day)
    return found


def _is_moment(value: object) -> bool:
    """A wall clock has no zone, so none is asked for, unlike by RFC 3339."""
    return not isinstance(value, str) or ("T" in value and bool(datetime.fromisoformat(value)))


def _is_day(value: object) -> bool:
    return not isinstance(value, str) or bool(date.fromisoformat(value))
