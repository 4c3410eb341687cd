"""JSON Lines: our own format, and the uniform format of public datasets."""

import gzip
import json
from pathlib import Path
from typing import Any

from contextune.tools import bundled_toolbox
from contextune.tools.loaders import load_jsonl, load_tools, tool_to_json
from contextune.types import Annotations, Tool

UNIFORM: dict[str, Any] = {
    "id": "rapid_1",
    "category": "Food",
    "tool": "Worldwide Recipes",
    "name": "Suggestions",
    "description": "Get suggestions",
    "tool_description": "Recipes from everywhere.",
    "parameters": [
        {"name": "q", "type": "STRING", "description": "What to cook.", "required": True},
        {"name": "day", "type": "date (yyyy-mm-dd)", "description": "", "required": False},
        {"name": "n", "type": "", "description": "How many.", "required": True},
        {"name": "q", "type": "number", "description": "Again.", "required": True},
    ],
}


def write(file: Path, *rows: Any) -> Path:
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    return file


def test_own_format_round_trip(tmp_path: Path) -> None:
    rich = Tool(
        "send",
        "Sends.",
        app="Mail",
        parameters={"type": "object", "properties": {}},
        title="Send mail",
        about="A mail program.",
        annotations=Annotations(read_only=False, open_world=True),
        examples=("Write to Ana",),
    )
    tools = (*bundled_toolbox(), rich)
    file = write(tmp_path / "tools.jsonl", *map(tool_to_json, tools))
    assert load_jsonl(file).tools == tools
    assert load_tools(file) == load_jsonl(file)
    whole = tmp_path / "tools.json"
    whole.write_text(json.dumps([tool_to_json(tool) for tool in tools]))
    assert load_tools(whole).tools == tools


def test_uniform_format(tmp_path: Path) -> None:
    (tool,) = load_tools(write(tmp_path / "tools.jsonl", UNIFORM)).tools
    assert (tool.id, tool.about) == ("Worldwide Recipes/Suggestions", "Recipes from everywhere.")
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": "What to cook."},
            "day": {"type": "string", "format": "date"},
            "n": {"description": "How many."},
        },
        "required": ["q", "n"],
    }


def test_compressed_file_and_other_suffix(tmp_path: Path) -> None:
    plain = write(tmp_path / "tools.jsonl", UNIFORM, {**UNIFORM, "name": "Other"})
    packed = tmp_path / "tools.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert load_tools(packed) == load_tools(plain)
    assert load_tools(write(tmp_path / "tools.json", *plain.read_text().splitlines())) == load_tools(plain)


def test_invalid_lines_are_refused(tmp_path: Path) -> None:
    rows = [
        UNIFORM,
        "",
        "{",
        "[]",
        '{"name": ""}',
        {**UNIFORM, "name": "p", "parameters": ["q"]},
        {**UNIFORM, "name": "r", "parameters": [{"type": "string"}]},
        UNIFORM,
        {"name": "bare", "description": "b"},
    ]
    loaded = load_jsonl(write(tmp_path / "tools.jsonl", *rows), app="x")
    assert [tool.id for tool in loaded.tools] == ["Worldwide Recipes/Suggestions", "x/bare"]
    reasons = {refused.name: refused.reason for refused in loaded.refused}
    assert list(reasons) == [
        "line 3", "x/line 4", "x/line 5", "Worldwide Recipes/p", "Worldwide Recipes/r",
        "Worldwide Recipes/Suggestions",
    ]  # fmt: skip
    assert "is not valid JSON" in reasons["line 3"]
    assert "has no name" in reasons["Worldwide Recipes/r"]
    assert "more than once" in reasons["Worldwide Recipes/Suggestions"]
