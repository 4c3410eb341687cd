"""Python functions as tools: the signature gives the schema, the docstring the words."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, PydanticJsonSchemaWarning

from contextune.errors import InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.validation import ToolCollector, checked_parameters
from contextune.types import Tool

_RECEIVERS = ("self", "cls")


def load_functions(*functions: Callable[..., object], app: str = "") -> LoadedTools:
    """Functions, async functions and methods as tools; each is refused by name where it cannot be one."""
    taking = ToolCollector()
    for number, function in enumerate(functions, 1):
        name = _name(function)
        shown = name or f"#{number}"
        with taking.each(f"{app}/{shown}" if app else shown):
            if not name:
                raise InvalidDataError(f"{function!r} is no function with a name: pass one made with def")
            taking.add(_tool(name, function, app))
    return taking.loaded()


def _name(function: Callable[..., object]) -> str:
    inner = _inner(function)
    if not inspect.isroutine(inner):
        return ""
    name = str(inner.__name__)
    return name if name.isidentifier() else ""  # "<lambda>" is none


def _inner(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    return function


def _tool(name: str, function: Callable[..., object], app: str) -> Tool:
    words, described = _docs(function)
    schema = _schema(function)
    properties = cast("dict[str, dict[str, Any]]", schema.setdefault("properties", {}))
    for parameter, about in described.items():
        if parameter in properties:
            properties[parameter].setdefault("description", about)
    return Tool(name, words, app=app, parameters=checked_parameters(schema))


def _schema(function: Callable[..., object]) -> dict[str, Any]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InvalidDataError("has no signature that can be read: wrap it in a function with one") from None
    for parameter in parameters:
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind)
        if stars:
            raise InvalidDataError(f"takes {stars}{parameter.name}, which no schema can name: list them")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidDataError(f"takes {parameter.name!r} by place only: a tool is called by names")
    schema = _from_pydantic(function)
    if parameters and parameters[0].name in _RECEIVERS:
        receiver = parameters[0].name
        schema["properties"].pop(receiver, None)
        schema["required"] = [other for other in schema.get("required", ()) if other != receiver]
    return schema


class _WithoutTitles(GenerateJsonSchema):
    """Titles made from names say nothing that the names do not."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        del schema
        return False


def _from_pydantic(function: Callable[..., object]) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PydanticJsonSchemaWarning)  # a default that JSON cannot hold
            adapter = TypeAdapter[object](cast("Any", function))
            return adapter.json_schema(schema_generator=_WithoutTitles)
    except (PydanticUserError, PydanticUndefinedAnnotation, NameError, TypeError, ValueError) as error:
        reason = str(error).split("\n", 1)[0].split(". Set `", 1)[0]
        raise InvalidDataError(f"the types of its parameters have no JSON Schema: {reason}") from None


def _docs(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """What the docstring says of the function, and of each parameter: Google, NumPy or Sphinx style."""
    import docstring_parser

    text = inspect.getdoc(_inner(function)) or ""
    try:
        docs = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text, {}
    words = "\n\n".join(filter(None, (docs.short_description, docs.long_description)))
    described = {
        param.arg_name.lstrip("*"): " ".join(param.description.split())
        for param in docs.params
        if param.description
    }
    return words, described
