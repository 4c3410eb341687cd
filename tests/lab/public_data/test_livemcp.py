"""LiveMCPBench: its published files, and tools that are counted by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from contextune.errors import InvalidDataError
from contextune_lab.public_data.livemcp import evaluate_livemcp, read_livemcp


def server(name: str, **tools: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {"q": {}}}
    listed = [{"name": name, "description": text, "inputSchema": schema} for name, text in tools.items()]
    return {
        "name": f"{name} MCP Server",
        "description": f"About {name}.",
        "tools": {name: {"server_name": name, "version": "0.1.0", "tools": listed}},
    }


def task(number: str, question: str, tools: str) -> dict[str, Any]:
    return {
        "task_id": number,
        "Question": question,
        "category": "Office",
        "Annotator Metadata": {"Steps": "1. Do it.", "Tools": tools, "Number of tools": "2"},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    servers = [
        server("word", create_document="Create a Word document.", add_table="Add a table to a document."),
        server("slides", add_table="Add a table to a slide.", save="Save the slides."),
    ]
    tasks = [
        task("t1", "Create a Word document with a table", "1. create_document\n2. add_table\n3. add_table"),
        task("t2", "Play a song", "1. play"),
        task("t3", "Think about it", ""),
    ]
    for name, content in (
        ("tools/LiveMCPTool/tools.json", servers),
        ("annotated_data/all_annotations.json", tasks),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def test_tools_and_tasks_are_read_as_published(folder: Path) -> None:
    data = read_livemcp(folder)
    assert [tool.id for tool in data.tools] == [
        *("word/create_document", "word/add_table", "slides/add_table", "slides/save")
    ]
    assert (data.tools[2].about, data.tools[2].description) == ("About slides.", "Add a table to a slide.")
    assert data.tools[0].parameters["properties"] == {"q": {}}
    (only,) = data.tasks
    assert (only.id, only.tools, only.category) == ("t1", ("create_document", "add_table"), "Office")


def test_tasks_with_unknown_tools_are_skipped_and_named(folder: Path) -> None:
    skipped = [(each.id, each.reason, each.detail) for each in read_livemcp(folder).skipped]
    assert skipped == [("t2", "unknown tool", "play"), ("t3", "no tool", "")]


def test_a_tool_of_any_server_counts_under_its_name(folder: Path) -> None:
    table = evaluate_livemcp(read_livemcp(folder), ["bm25"])
    # two tools named add_table take one place
    assert table.cell("bm25", "recall@5", "all").interval.mean == 1
    assert table.cell("bm25", "recall@1", "Office").interval.mean == 0.5


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"tools\.json: cannot be read"):
        read_livemcp(tmp_path)
