"""Tool schemas of OpenAI, Anthropic and MCP; invalid ones are refused, the rest are loaded."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from contextune.errors import InvalidDataError
from contextune.tools.definitions.validation import escape_invisible
from contextune.tools.loaders import load_schemas, load_tools, tool_to_json
from contextune.types import Annotations

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where."}},
    "required": ["city"],
}
CHAT = {"type": "function", "function": {"name": "weather", "description": "Forecast.", "parameters": SCHEMA}}
RESPONSES = {
    "type": "function",
    "name": "weather",
    "description": "Forecast.",
    "parameters": SCHEMA,
    "strict": True,
}
ANTHROPIC = {"name": "weather", "description": "Forecast.", "input_schema": SCHEMA}
MCP = {"name": "weather", "description": "Forecast.", "inputSchema": SCHEMA}


@pytest.mark.parametrize(
    "schema", [CHAT, RESPONSES, ANTHROPIC, MCP], ids=["chat", "responses", "anthropic", "mcp"]
)
def test_every_format_gives_the_same_tool(schema: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    for wrapped in (
        [schema],
        {"tools": [schema]},
        schema,
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [schema]}},
    ):
        file.write_text(json.dumps(wrapped))
        loaded = load_tools(file, app="sky")
        assert loaded == load_schemas([schema], "sky") == load_tools(wrapped, app="sky")
        (tool,) = loaded.tools
        assert (tool.id, tool.description, tool.parameters) == ("sky/weather", "Forecast.", SCHEMA)


def test_mcp_titles_and_annotations() -> None:
    hints = {
        "title": "from the hints",
        "readOnlyHint": True,
        "destructiveHint": False,
        "openWorldHint": "yes",
    }
    first, second = load_schemas(
        [{**MCP, "title": "Weather", "annotations": hints}, {**MCP, "name": "b", "annotations": hints}]
    ).tools
    assert first.title == "Weather"
    assert second.title == "from the hints"
    assert first.annotations == Annotations(read_only=True, destructive=False)


def test_openai_namespace_is_an_app() -> None:
    group = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [RESPONSES]}
    (tool,) = load_schemas([group], "other").tools
    assert (tool.id, tool.about) == ("crm/weather", "Customers.")


def test_tool_without_parameters() -> None:
    tools = load_schemas(
        [
            {"type": "function", "name": "a"},
            {"type": "function", "name": "b", "parameters": None},
            {"name": "c", "input_schema": {}},
        ]
    ).tools
    assert [(tool.parameters["type"], tool.description) for tool in tools] == [("object", "")] * 3


def with_parameters(schema: Any) -> dict[str, Any]:
    return {"name": "x", "inputSchema": schema}


INVALID: dict[str, tuple[Any, str]] = {
    "schema is a list": (with_parameters([]), "must be a JSON Schema object, not a list"),
    "schema is null": (with_parameters(None), "must be a JSON Schema object, not null"),
    "not an object": (with_parameters({"type": "string"}), "must be 'object', not 'string'"),
    "type is a list": (with_parameters({"type": ["object"]}), "must be 'object'"),
    "properties": (with_parameters({"type": "object", "properties": []}), "must be an object, not a list"),
    "a property": (with_parameters({"properties": {"a": "text"}}), "not a valid JSON Schema: properties.a"),
    "a type": (with_parameters({"properties": {"a": {"type": "txt"}}}), 'properties.a.type: "txt"'),
    "required": (with_parameters({"required": "a"}), "not a valid JSON Schema: required"),
    "required twice": (with_parameters({"required": ["a", "a"]}), "non-unique"),
    "a bound": (with_parameters({"properties": {"a": {"minLength": -1}}}), "minLength"),
    "an odd dialect": (with_parameters({"$schema": 3, "enum": 4}), "JSON Schema"),
    "no schema": ({"name": "x"}, "has no schema"),
    "not JSON": (with_parameters({"default": {1, 2}}), "cannot be written as JSON"),
    "not a number": (with_parameters({"default": float("nan")}), "cannot be written as JSON"),
    "no name": ({"input_schema": SCHEMA}, "has no name"),
    "empty name": ({"name": " ", "input_schema": SCHEMA}, "has no name"),
    "name is a number": ({"name": 7, "input_schema": SCHEMA}, "has no name"),
    "half a character": ({"name": "a\ud800", "input_schema": SCHEMA}, "control character"),
    "reversed text": ({"name": "a\u202eb", "input_schema": SCHEMA}, r"'a\u202eb' contains an invisible"),
    "a space of no width": ({"name": "a\u200b", "input_schema": SCHEMA}, r"'a\u200b' contains an invisible"),
    "a command to the terminal": ({"name": "a\x1b[2J", "input_schema": SCHEMA}, "control character"),
    "description": (
        {"name": "x", "description": ["a"], "input_schema": SCHEMA},
        "must be a string, not a list",
    ),
    "of the provider": (
        {"type": "web_search_20250305", "name": "x"},
        "tool of the model provider, which has no schema",
    ),
    "no mapping": ("x", "is a string, not a tool schema"),
}


@pytest.mark.parametrize(("invalid", "reason"), INVALID.values(), ids=INVALID.keys())
def test_invalid_schema_is_refused_and_the_rest_are_loaded(invalid: Any, reason: str) -> None:
    loaded = load_schemas([{**MCP, "name": "before"}, invalid, {**MCP, "name": "after"}], "sky")
    assert [tool.name for tool in loaded.tools] == ["before", "after"]
    (refused,) = loaded.refused
    assert reason in refused.reason
    name = "" if isinstance(invalid, str) else invalid.get("name")
    assert refused.name == (
        f"sky/{escape_invisible(name)}" if isinstance(name, str) and name.strip() else "sky/#2"
    )


@settings(max_examples=50)
@given(
    strategies.recursive(
        strategies.none()
        | strategies.booleans()
        | strategies.floats()
        | strategies.text()
        | strategies.sampled_from(["object", "function", "namespace", "string", "#/properties/a"]),
        lambda inner: (
            strategies.lists(inner)
            | strategies.dictionaries(
                strategies.text()
                | strategies.sampled_from(
                    [
                        "name",
                        "type",
                        "function",
                        "parameters",
                        "inputSchema",
                        "properties",
                        "required",
                        "tools",
                        "$ref",
                        "$schema",
                        "$id",
                        "items",
                        "enum",
                        "annotations",
                        "description",
                        "app",
                    ]
                ),
                inner,
            )
        ),
    )
)
def test_any_value_is_loaded_or_refused(value: Any) -> None:
    loaded = load_schemas([value, MCP, value])
    assert "weather" in [tool.name for tool in loaded.tools]
    for tool in loaded.tools:
        assert json.loads(json.dumps(tool_to_json(tool)))["name"] == tool.name


def test_deeply_nested_schema_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"properties": {"a": deep}}
    circle: dict[str, Any] = {"type": "object"}
    circle["properties"] = {"a": circle}
    for schema in (deep, circle):
        (refused,) = load_schemas([{"name": "x", "parameters": schema}]).refused
        assert "levels deep" in refused.reason


def test_duplicate_name_is_refused() -> None:
    loaded = load_schemas([MCP, {**MCP, "description": "Another."}])
    assert [tool.description for tool in loaded.tools] == ["Forecast."]
    assert loaded.refused[0].name == "weather"
    assert "more than once" in loaded.refused[0].reason


def test_schema_is_validated_in_its_own_dialect() -> None:
    older = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "minimum": 1,
        "exclusiveMinimum": True,
    }
    assert len(load_schemas([{"name": "x", "parameters": older}]).tools) == 1
    del older["$schema"]
    assert len(load_schemas([{"name": "x", "parameters": older}]).refused) == 1


def test_schema_is_kept_unchanged() -> None:
    schema = {
        **SCHEMA,
        "$defs": {"a": {"type": "integer"}},
        "x-free-text": True,
        "additionalProperties": False,
    }
    schema["properties"] = {
        "b": {"$ref": "#/$defs/a"},
        "c": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }
    (tool,) = load_schemas([{"name": "x", "parameters": schema}]).tools
    assert tool.parameters == schema


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not valid JSON"),
        ('{"a": NaN}', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("a: [", "not valid YAML: line"),
        ("a: &a [*a]", "alias to itself"),
        ("words", "contains a string"),
        ("", "contains null"),
        ('{"swagger": "2.0"}', "convert it to OpenAPI 3"),
        ('{"tools": {"a": 1}}', "must be a list of tools"),
        ('{"else": 1}', "not a toolbox, mcp.json"),
    ],
)
def test_unknown_file_is_an_error(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content)
    with pytest.raises(InvalidDataError, match=r"odd\.json") as refused:
        load_tools(file)
    assert reason in str(refused.value)


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="No such file"):
        load_tools(tmp_path / "none.json")
    with pytest.raises(InvalidDataError, match="is a folder"):
        load_tools(tmp_path)
    (tmp_path / "image.json").write_bytes(b"\x89PNG\xff")
    with pytest.raises(InvalidDataError, match="not UTF-8 text"):
        load_tools(tmp_path / "image.json")


@pytest.mark.parametrize(
    "text", ["[" * 9_999, "a: " + "{b: " * 9_999, "- " * 9_999, "a:\n" + " " * 9_999 + "b: 1"]
)
def test_deeply_nested_file_is_an_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "deep.yaml"
    file.write_text(text)
    with pytest.raises(InvalidDataError, match="nested more than"):
        load_tools(file)


def test_yaml_alias_bomb_is_an_error(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    file = tmp_path / "bomb.yaml"
    file.write_text("\n".join(lines))
    with pytest.raises(InvalidDataError, match="aliases"):
        load_tools(file)


def test_toolbox_file(tmp_path: Path) -> None:
    file = tmp_path / "box.yaml"
    api = "{api: send, description: Sends., arguments: {to: {required: true}}}"
    file.write_text(f"- app: Mail\n  apis: [{api}, {api}]")
    loaded = load_tools(file)
    assert [tool.id for tool in loaded.tools] == ["Mail/send"]
    assert [refused.name for refused in loaded.refused] == ["Mail/send"]
