"""APIs of RapidAPI as ToolBench and those who built on it describe them."""

import json
import re
from dataclasses import dataclass

from contextune.errors import InvalidDataError
from contextune.lab.public_data.files import (
    Entry,
    a_text,
    checked_entry,
    checked_list,
    checked_text,
)
from contextune.lab.public_data.toolset import uniform_tool
from contextune.types import Tool

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
"""What JSON Schema calls RapidAPI's types; all others travel as texts."""
_LABELLED = re.compile(
    r"\s*category_name:(?P<category>.*?), tool_name:(?P<server>.*?), api_name:(?P<name>.*?), "
    r"api_description:(?P<description>.*?), required_params: ",
    re.DOTALL,
)
_OPTIONAL = re.compile(r",\s*optional_params: ")


@dataclass(frozen=True, slots=True)
class ApiName:
    """What tells an API from others: labels name server and API, ToolBench's lists the category besides."""

    category: str
    server: str
    name: str


def api_name(entry: Entry, where: str) -> ApiName:
    """The name of an API in one of ToolBench's lists."""
    return ApiName(
        checked_text(entry, "category_name", where),
        checked_text(entry, "tool_name", where),
        checked_text(entry, "api_name", where),
    )


def described_api(entry: Entry, about: str, where: str) -> Tool:
    """The tool that an API in one of ToolBench's lists is; `about` is what its server says of itself."""
    return api_tool(api_name(entry, where), entry, "api_description", about, where)


def api_tool(name: ApiName, entry: Entry, description: str, about: str, where: str) -> Tool:
    """The tool that an API is, with its description under this field."""
    if not (name.name.strip() or name.server.strip()):
        raise InvalidDataError(f"{where}: neither the API nor its server has a name")
    given = entry.get(description)
    parameters = [
        *_parameters(entry, "required_parameters", where, required=True),
        *_parameters(entry, "optional_parameters", where, required=False),
    ]
    return uniform_tool(
        {
            "name": name.name,
            "tool": name.server,
            "description": a_text(given, f"{where}: {description!r}").strip() if given is not None else "",
            "parameters": parameters,
            "tool_description": about.strip(),
        }
    )


def document_api(text: str, where: str) -> Tool:
    """The tool that a document of a corpus is: ToolBench's are JSON, COLT's a text of labelled parts."""
    if text.lstrip().startswith("{"):
        try:
            return described_api(checked_entry(json.loads(text), where), "", where)
        except json.JSONDecodeError as error:
            raise InvalidDataError(f"{where}: the document is no JSON: {error}") from None
    found = _LABELLED.match(text)
    if not found:
        raise InvalidDataError(f"{where}: the document has no category_name, tool_name, api_name and so on")
    required, end = _listed(text, found.end(), where)
    after = _OPTIONAL.match(text, end)
    optional: object = _listed(text, after.end(), where)[0] if after else None
    parts = found.groupdict()
    entry: Entry = {
        "description": parts["description"],
        "required_parameters": required,
        "optional_parameters": optional,
    }
    name = ApiName(parts["category"], parts["server"], parts["name"])
    return api_tool(name, entry, "description", "", where)


def _listed(text: str, start: int, where: str) -> tuple[object, int]:
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise InvalidDataError(f"{where}: the parameters are no JSON: {error}") from None


def _parameters(entry: Entry, field: str, where: str, *, required: bool) -> list[dict[str, object]]:
    if field not in entry:
        return []
    found: list[dict[str, object]] = []
    for given in checked_list(entry, field, where):
        one = checked_entry(given, f"{where}: one of {field!r}")
        kind, said = one.get("type"), one.get("description")
        found.append(
            {
                "name": checked_text(one, "name", f"{where}: one of {field!r}"),
                "type": _KINDS.get(str(kind).casefold(), "string"),
                "description": said if isinstance(said, str) else "",
                "required": required,
            }
        )
    return found
