"""RapidAPI endpoints as described in ToolBench and datasets built on it."""

import json
import re
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.types import Tool
from contextune_lab.public_data.files import (
    Entry,
    get_text,
    require_list,
    require_object,
    require_text,
)
from contextune_lab.public_data.toolset import tool_from_row

_KINDS = {
    name: kind
    for kind, names in {
        "number": ("number", "float"),
        "boolean": ("boolean",),
        "array": ("array", "list"),
        "object": ("object", "json", "map"),
    }.items()
    for name in names
}
"""RapidAPI types to JSON Schema types; all others become strings."""
_LABELLED = re.compile(
    r"\s*category_name:(?P<category>.*?), tool_name:(?P<server>.*?), api_name:(?P<name>.*?), "
    r"api_description:(?P<description>.*?), required_params: ",
    re.DOTALL,
)
_OPTIONAL = re.compile(r",\s*optional_params: ")


@dataclass(frozen=True, slots=True)
class ApiName:
    """Identity of an API: labels give server and API, ToolBench lists also the category."""

    category: str
    server: str
    name: str


def api_name(entry: Entry, where: str) -> ApiName:
    """The name of an entry of ToolBench's `api_list`."""
    return ApiName(
        get_text(entry, "category_name", where),
        get_text(entry, "tool_name", where),
        get_text(entry, "api_name", where),
    )


def listed_api(entry: Entry, about: str, where: str) -> Tool:
    """The tool of an entry of ToolBench's `api_list`; `about` is the description of its server."""
    return api_tool(api_name(entry, where), entry, "api_description", about, where)


def api_tool(name: ApiName, entry: Entry, description: str, about: str, where: str) -> Tool:
    """The tool of an API; `description` names the field with its description."""
    if not (name.name.strip() or name.server.strip()):
        raise InvalidDataError(f"{where}: API and server without a name")
    value = entry.get(description)
    parameters = [
        *_parameters(entry, "required_parameters", where, required=True),
        *_parameters(entry, "optional_parameters", where, required=False),
    ]
    return tool_from_row(
        {
            "name": name.name,
            "tool": name.server,
            "description": require_text(value, f"{where}: {description!r}").strip()
            if value is not None
            else "",
            "parameters": parameters,
            "tool_description": about.strip(),
        }
    )


def document_api(text: str, where: str) -> Tool:
    """The tool of a corpus document: JSON in ToolBench, labelled text in COLT."""
    if text.lstrip().startswith("{"):
        try:
            return listed_api(require_object(json.loads(text), where), "", where)
        except json.JSONDecodeError as error:
            raise InvalidDataError(f"{where}: the document is not valid JSON: {error}") from None
    match = _LABELLED.match(text)
    if not match:
        raise InvalidDataError(f"{where}: the document lacks category_name, tool_name or api_name")
    required, end = _decode_list(text, match.end(), where)
    optional_match = _OPTIONAL.match(text, end)
    optional: object = _decode_list(text, optional_match.end(), where)[0] if optional_match else None
    parts = match.groupdict()
    entry: Entry = {
        "description": parts["description"],
        "required_parameters": required,
        "optional_parameters": optional,
    }
    name = ApiName(parts["category"], parts["server"], parts["name"])
    return api_tool(name, entry, "description", "", where)


def _decode_list(text: str, start: int, where: str) -> tuple[object, int]:
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise InvalidDataError(f"{where}: the parameters are not valid JSON: {error}") from None


def _parameters(entry: Entry, field: str, where: str, *, required: bool) -> list[dict[str, object]]:
    if field not in entry:
        return []
    parameters: list[dict[str, object]] = []
    for value in require_list(entry, field, where):
        parameter = require_object(value, f"{where}: one of {field!r}")
        kind, description = parameter.get("type"), parameter.get("description")
        parameters.append(
            {
                "name": get_text(parameter, "name", f"{where}: one of {field!r}"),
                "type": _KINDS.get(str(kind).casefold(), "string"),
                "description": description if isinstance(description, str) else "",
                "required": required,
            }
        )
    return parameters
