"""ToolRet: rows as the datasets have them, and the protocol."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextune.errors import InvalidDataError
from contextune_lab.public_data.toolret import TASKS, category_mean, evaluate_toolret, read_toolret

GROWTH = {
    "name": "bacterial_growth",
    "description": "Calculates the bacterial population after a given time.",
    "parameters": {"time": {"description": "The time elapsed.", "type": "float"}},
}
RATES = {"name": "rates", "description": "Exchange rates of currencies.", "parameters": {}}  # pyright: ignore[reportUnknownVariableType]
TOOLS: Mapping[str, Any] = {
    "apigen_tool_272": GROWTH,
    "apigen_tool_3": RATES,
    "apigen_tool_4": RATES | {"description": "Room rates of hotels."},
}
LABEL = {"id": "apigen_tool_272", "doc": GROWTH, "relevance": 1}
QUERY = {
    "id": "apigen_query_5",
    "query": "what will the bacterial population be after 45 minutes of time",
    "instruction": "Given a biology task, retrieve tools that calculate it.",
    "labels": json.dumps([LABEL]),
    "category": "apigen_query",
}


def write(file: Path, *rows: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_tools(folder: Path, category: str, tools: Mapping[str, Any]) -> None:
    rows = [{"id": number, "documentation": json.dumps(document)} for number, document in tools.items()]
    write(folder / f"tools/{category}.jsonl", *rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tools(tmp_path, "web", TOOLS)
    write_tools(tmp_path, "code", {"code_1": RATES, "code_2": "Weather of a city."})
    write_tools(tmp_path, "customized", {})
    write(tmp_path / "queries/apigen.jsonl", QUERY)
    # a request of one category may need tools of another, and a label without a grade counts
    labels = [{"id": "code_1"}, {"id": "code_2", "relevance": 1}, {"id": "code_9", "relevance": 0}]
    write(tmp_path / "queries/gta.jsonl", {"id": "q", "query": "weather city", "labels": labels})
    return tmp_path


def test_rows_are_read_as_published(folder: Path) -> None:
    data = read_toolret(folder)
    tool = data.tools["apigen_tool_272"]
    assert (tool.name, tool.description) == ("bacterial_growth", GROWTH["description"])
    assert tool.parameters["properties"] == GROWTH["parameters"]
    assert len({each.id for each in data.tools.values()}) == 5  # three have one name
    assert data.tools["code_2"].description == "Weather of a city."
    labelled = {query.id: (query.category, dict(query.relevant)) for query in data.queries}
    assert labelled == {
        "gta/q": ("customized", {"code_1": 1, "code_2": 1}),
        "apigen/apigen_query_5": ("web", {"apigen_tool_272": 1}),
    }


@pytest.mark.parametrize(
    ("documentation", "name", "parameters"),
    [
        (  # ToolBench
            {"api_name": "get", "required_parameters": [{"name": "q"}], "optional_parameters": []},
            "get",
            {"q"},
        ),
        ({"name": "write", "doc_arguments": {"properties": {"path": {}}}}, "write", {"path"}),  # UltraTool
        ({"api_name": "load", "api_arguments": ["model"], "domain": "Audio"}, "load", {"model"}),  # Gorilla
        ({"name": "sum", "inputs": [{"name": "expression", "description": None}]}, "sum", {"expression"}),
        ({"name": "book", "optional_arguments": {"stars (float)": "rating"}}, "book", {"stars (float)"}),
        ("{'name': 'as Python prints it', 'parameters': {'q': 'text'}}", "as Python prints it", {"q"}),
    ],
)
def test_documentation_of_all_tasks_is_read(
    tmp_path: Path, documentation: object, name: str, parameters: set[str]
) -> None:
    for category in TASKS:
        write(tmp_path / f"tools/{category}.jsonl")
    write(tmp_path / "tools/web.jsonl", {"id": "apigen_tool_272", "documentation": documentation})
    write(tmp_path / "queries/apigen.jsonl", QUERY)
    tool = read_toolret(tmp_path).tools["apigen_tool_272"]
    assert tool.name == name
    assert tool.parameters["properties"].keys() == parameters


def test_other_fields_are_searched_too(folder: Path) -> None:
    document = {"name": "x", "description": "Does it.", "domain": "Audio", "api_call": "hub.load('bird')"}
    write_tools(folder, "customized", {"x": document})
    assert read_toolret(folder).tools["x"].about == "Audio hub.load('bird')"


def test_figures_over_requests_and_categories(folder: Path) -> None:
    table = evaluate_toolret(read_toolret(folder), method="bm25")
    assert table.cell("bm25", "ndcg@10", "web").interval.mean == 1
    gain = 1 / (1 + 0.6309297535714575)  # one of two tools, at the first place
    assert table.cell("bm25", "ndcg@10", "customized").interval.mean == pytest.approx(gain)
    assert table.cell("bm25", "recall@10", "customized").interval.mean == 0.5
    assert table.cell("bm25", "comp@10", "customized").interval.mean == 0
    assert category_mean(table, "bm25", "ndcg@10") == pytest.approx((1 + gain) / 2)


def test_the_instruction_is_part_of_the_request(folder: Path) -> None:
    write(folder / "queries/apigen.jsonl", QUERY | {"query": "zzz", "instruction": "bacterial population"})
    plain, instructed = (
        evaluate_toolret(read_toolret(folder), method="bm25", instructed=flag) for flag in (False, True)
    )
    assert plain.cell("bm25", "recall@10", "web").interval.mean == 0
    assert instructed.cell("bm25", "recall@10", "web").interval.mean == 1


def test_a_tool_that_is_not_there_is_a_miss(folder: Path) -> None:
    write(folder / "queries/apigen.jsonl", QUERY | {"labels": [{"id": "gone"}]})
    table = evaluate_toolret(read_toolret(folder), method="bm25")
    assert table.cell("bm25", "recall@10", "web").interval.mean == 0


def test_invalid_folders_and_rows_are_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"code\.jsonl: cannot be read"):
        read_toolret(tmp_path / "nothing")
    write(folder / "queries/apigen.jsonl", {"query": "a", "labels": [LABEL]})
    with pytest.raises(InvalidDataError, match="line 1 has no 'id'"):
        read_toolret(folder)
    write(folder / "queries/apigen.jsonl", QUERY | {"labels": "none"})
    with pytest.raises(InvalidDataError, match="labels must be a list"):
        read_toolret(folder)
    for name in ("apigen", "gta"):
        (folder / f"queries/{name}.jsonl").unlink()
    with pytest.raises(InvalidDataError, match="ToolRet-Queries"):
        read_toolret(folder)
