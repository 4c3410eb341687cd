"""Read a tool's parameters from its JSON Schema, and check plans against it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, cast

from contextune._internal.json_schema import CompiledSchema
from contextune.errors import InvalidDataError, PlanError
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Plan, Tool

Kind = Literal[
    "text", "free", "moment", "day", "duration", "list", "number", "integer", "boolean", "choice", "other"
]
"""The kind of a value: `text` is copied from the data, `free` is text the assistant composes."""
_QUESTIONS: Mapping[str, str] = {"moment": "When?", "day": "On which day?", "duration": "For how long?"}

_FREE = frozenset(
    [
        *("body", "message", "content", "text", "query", "question", "prompt"),
        *("comment", "summary", "description", "note", "q", "keywords"),
    ]
)
"""Names of free-text arguments, for catalogues that do not mark them with `x-free-text`."""
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
"""Depth up to which references are followed; a circular schema ends as `other`."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool, with what planners need to know of it."""

    name: str
    kind: Kind
    required: bool
    schema: Mapping[str, Any]
    words: tuple[str, ...]
    """The words of its name."""
    description_words: tuple[str, ...]
    choices: tuple[Any, ...] = ()
    default: Any = None
    validators: dict[str, CompiledSchema] = field(
        default_factory=dict[str, CompiledSchema], repr=False, compare=False
    )
    """Cache of its compiled schema: compiling costs more than a check."""

    @property
    def label(self) -> str:
        """Its name in words: "email subject"."""
        return " ".join(self.words) or self.name

    @property
    def description(self) -> str:
        """The description in its schema."""
        return str(self.schema.get("description") or "")

    @property
    def question(self) -> str:
        """The question to ask the user when it has no value."""
        return _QUESTIONS.get(self.kind, f"Which {self.label}?")


def tool_parameters(tool: Tool) -> tuple[Parameter, ...]:
    """The parameters of a tool, in the order of its schema."""
    return _parameters(_SchemaKey(tool))


class _SchemaKey:
    """A cache key by object identity, as schemas are not hashable."""

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
    resolved = {name: _resolve(schema, root) for name, schema in properties.items()}
    marked = any(schema.get("x-free-text") for schema in resolved.values())
    return tuple(
        _parameter(name, schema, name in required, marked=marked) for name, schema in resolved.items()
    )


def parameter_of(name: str, schema: Mapping[str, Any], *, required: bool) -> Parameter:
    """A parameter that is a part of another one: an element of a list, a property of an object."""
    return _parameter(name, _resolve(schema, schema), required, marked=bool(schema.get("x-free-text")))


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
    json_type = str(schema.get("type") or "string")
    if schema.get("x-free-text"):
        return "free"
    if json_type in _BY_TYPE:
        return _BY_TYPE[json_type]
    if json_type != "string" or schema.keys() & {"properties", "items"}:
        return "other"
    if (format_name := str(schema.get("format"))) in _BY_FORMAT:
        return _BY_FORMAT[format_name]
    full_name = "_".join(identifier_words(name))
    description = str(schema.get("description") or "")
    if _DAY.search(full_name) or (_DATED.search(description) and "hh" not in description.lower()):
        return "day"
    if _MOMENT.search(full_name):
        return "moment"
    return "free" if not marked and full_name.rsplit("_", 1)[-1] in _FREE else "text"


def _resolve(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """Resolve references, and drop the `null` alternative of optional values."""
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return {"type": "other"}
    merged = dict(cast("Mapping[str, Any]", schema))
    if isinstance(reference := merged.pop("$ref", None), str):
        target: Any = root
        for step in reference.removeprefix("#/").split("/"):
            target = cast("Mapping[str, Any]", target).get(step) if isinstance(target, Mapping) else None
        return {**_resolve(target, root, depth + 1), **merged}
    for keyword in ("anyOf", "oneOf", "allOf"):
        parts = [part for part in cast("list[Any]", merged.get(keyword) or ()) if part != {"type": "null"}]
        if parts:
            del merged[keyword]
            return {**_resolve(parts[0], root, depth + 1), **merged}
    if isinstance(merged.get("type"), list):
        merged["type"] = next((name for name in merged["type"] if name != "null"), "null")
    return merged


def plan_errors(plan: Plan, tool: Tool) -> list[str]:
    """All errors in a plan as a call of this tool; arguments still to be asked for are no error."""
    if plan.name != tool.name:
        return [f"the plan calls {plan.name!r}, but the tool is {tool.name!r}"]
    declared = cast("Mapping[str, Any]", tool.parameters.get("properties") or {})
    errors = [f"{tool.name} has no argument {name!r}" for name in plan.arguments if name not in declared]
    missing = {argument.argument for argument in plan.missing}
    errors += [f"{name!r} is both missing and given" for name in sorted(missing & plan.arguments.keys())]
    try:
        violations = _compiled_tool(_SchemaKey(tool)).violations(plan.args)
    except InvalidDataError as error:
        return [*errors, f"the parameter schema of {tool.name!r} is invalid: {error}"]
    for violation in violations:
        if violation.keyword == "additionalProperties":
            continue  # reported above, by name
        if violation.missing in missing and not violation.path:
            continue
        where = ".".join(map(str, violation.path))
        errors.append(f"{where}: {violation.message}" if where else violation.message)
    return errors


@lru_cache(maxsize=256)
def _compiled_tool(key: _SchemaKey) -> CompiledSchema:
    return CompiledSchema(key.tool.parameters, formats=_FORMATS)


def check_plan(plan: Plan, tool: Tool) -> Plan:
    """Return the plan if it fits the tool's schema, else raise `PlanError`."""
    if errors := plan_errors(plan, tool):
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise PlanError(f"the plan does not fit {tool.id!r}: {errors[0]}{more}")
    return plan


def is_valid(value: Any, parameter: Parameter) -> bool:
    """Whether the value fits the parameter's schema; False if the schema is invalid."""
    try:
        return _compiled(parameter).is_valid(value)
    except InvalidDataError:
        return False


def _compiled(parameter: Parameter) -> CompiledSchema:
    if parameter.name not in parameter.validators:
        schema = {name: part for name, part in parameter.schema.items() if name != "default"}
        parameter.validators[parameter.name] = CompiledSchema(schema, formats=_FORMATS)
    return parameter.validators[parameter.name]


def _is_moment(text: str) -> bool:
    """Local time without a UTC offset is accepted, unlike in RFC 3339."""
    return "T" in text and bool(datetime.fromisoformat(text))


def _is_day(text: str) -> bool:
    return bool(date.fromisoformat(text))


_FORMATS = {"date-time": _is_moment, "date": _is_day}
