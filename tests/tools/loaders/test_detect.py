"""load_tools with Python values: functions, documents and servers; files are tested with their format."""

from typing import Any

import pytest

from contextune.errors import InvalidDataError
from contextune.tools import load_tools
from contextune.tools.loaders import McpServer, load_functions, load_mcp, load_openapi, load_schemas

SCHEMA = {"name": "weather", "description": "Forecast.", "input_schema": {"type": "object"}}
OPENAPI: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "shop"}, "paths": {"/orders": {"get": {}}}}


def book(evening: str) -> None:
    """Book an evening."""


def cancel(evening: str) -> None:
    """Cancel an evening."""


def test_functions_are_loaded() -> None:
    assert load_tools([book, cancel], app="studio") == load_functions(book, cancel, app="studio")
    assert load_tools(book) == load_functions(book)
    assert [tool.id for tool in load_tools((book, cancel), app="studio").tools] == [
        "studio/book",
        "studio/cancel",
    ]


def test_documents_are_loaded() -> None:
    assert load_tools(OPENAPI) == load_openapi(OPENAPI)
    assert load_tools([SCHEMA], app="sky") == load_schemas([SCHEMA], "sky")
    assert load_tools({"tools": [SCHEMA]}) == load_tools(SCHEMA) == load_schemas([SCHEMA])
    assert load_tools([]).tools == ()


def test_servers_are_loaded() -> None:
    server = McpServer("gone", command="no-such-command")
    assert load_tools(server) == load_mcp(server)
    config = {"mcpServers": {"gone": {"command": "no-such-command"}}}
    assert load_tools(config) == load_mcp(config) == load_mcp(server)


def test_functions_mixed_with_schemas_are_refused() -> None:
    loaded = load_tools([SCHEMA, book])  # pyright: ignore[reportArgumentType]  # what a caller may get wrong
    assert [tool.name for tool in loaded.tools] == ["weather"]
    assert loaded.refused[0].reason == "is a function, not a tool schema"


def test_unknown_document_is_an_error() -> None:
    with pytest.raises(InvalidDataError, match="contains an object, not a toolbox"):
        load_tools({"else": 1})
