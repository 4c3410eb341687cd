"""Python functions → tools: schema from the signature, description from the docstring."""

import functools
import inspect
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, cast

from contextune.errors import InvalidDataError, MissingExtraError
from contextune.tools.catalog import LoadedTools
from contextune.tools.definitions.validation import ToolCollector, validate_parameters
from contextune.types import Tool

_RECEIVERS = ("self", "cls")


def load_functions(*functions: Callable[..., object], app: str = "") -> LoadedTools:
    """Load functions, async functions and methods; those that cannot be a tool are in `refused`."""
    _require_libraries()
    collector = ToolCollector()
    for number, function in enumerate(functions, 1):
        name = _name(function)
        label = name or f"#{number}"
        with collector.attempt(f"{app}/{label}" if app else label):
            if not name:
                raise InvalidDataError(f"{function!r} is not a named function: define it with def")
            collector.add(_tool(name, function, app))
    return collector.result()


def _require_libraries() -> None:
    if any(find_spec(name) is None for name in ("docstring_parser", "pydantic")):
        raise MissingExtraError("loading Python functions as tools", "functions")


def _name(function: Callable[..., object]) -> str:
    wrapped = _unwrap_partial(function)
    if not inspect.isroutine(wrapped):
        return ""
    name = str(wrapped.__name__)
    return name if name.isidentifier() else ""  # "<lambda>" is not


def _unwrap_partial(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    return function


def _tool(name: str, function: Callable[..., object], app: str) -> Tool:
    description, parameter_docs = _parse_docstring(function)
    schema = _schema(function)
    properties = cast("dict[str, dict[str, Any]]", schema.setdefault("properties", {}))
    for parameter, about in parameter_docs.items():
        if parameter in properties:
            properties[parameter].setdefault("description", about)
    return Tool(name, description, app=app, parameters=validate_parameters(schema))


def _schema(function: Callable[..., object]) -> dict[str, Any]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InvalidDataError("has no readable signature: wrap it in a function that has one") from None
    for parameter in parameters:
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind)
        if stars:
            raise InvalidDataError(f"takes {stars}{parameter.name}, which has no schema: list the parameters")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidDataError(f"takes {parameter.name!r} by position only: tools take named arguments")
    schema = _from_pydantic(function)
    if parameters and parameters[0].name in _RECEIVERS:
        receiver = parameters[0].name
        schema["properties"].pop(receiver, None)
        schema["required"] = [other for other in schema.get("required", ()) if other != receiver]
    return schema


def _from_pydantic(function: Callable[..., object]) -> dict[str, Any]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
    from pydantic.json_schema import GenerateJsonSchema, PydanticJsonSchemaWarning

    class WithoutTitles(GenerateJsonSchema):
        """Leaves out titles, which only repeat the names."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            """No."""
            del schema
            return False

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PydanticJsonSchemaWarning)  # a default that is not JSON
            adapter = TypeAdapter[object](cast("Any", function))
            return adapter.json_schema(schema_generator=WithoutTitles)
    except (PydanticUserError, PydanticUndefinedAnnotation, NameError, TypeError, ValueError) as error:
        reason = str(error).split("\n", 1)[0].split(". Set `", 1)[0]
        raise InvalidDataError(f"its parameter types cannot be expressed as JSON Schema: {reason}") from None


def _parse_docstring(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """Descriptions of the function and of each parameter, from a Google, NumPy or Sphinx docstring."""
    import docstring_parser

    text = inspect.getdoc(_unwrap_partial(function)) or ""
    try:
        docs = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text, {}
    description = "\n\n".join(filter(None, (docs.short_description, docs.long_description)))
    parameters = {
        param.arg_name.lstrip("*"): " ".join(param.description.split())
        for param in docs.params
        if param.description
    }
    return description, parameters
