"""ToolRet: rows as the datasets have them, and the protocol."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextune.errors import InvalidDataError
from contextune_lab.public_data.toolret import category_mean, evaluate_toolret, read_toolret

GROWTH = {
    "name": "bacterial_growth",
    "description": "Calculates the bacterial population after a given time.",
    "parameters": {"time": {"description": "The time elapsed.", "type": "float"}},
}
RATES = {"name": "rates", "description": "Exchange rates of currencies.", "parameters": {}}  # pyright: ignore[reportUnknownVariableType]
TOOLS = (
    {"id": "apigen_tool_272", "documentation": json.dumps(GROWTH)},
    {"id": "apigen_tool_3", "documentation": json.dumps(RATES)},
    {"id": "apigen_tool_4", "documentation": json.dumps(RATES | {"description": "Room rates of hotels."})},
)
LABEL = {"id": "apigen_tool_272", "doc": GROWTH, "relevance": 1}
QUERY = {
    "id": "apigen_query_5",
    "query": "what will the bacterial population be after 45 minutes of time",
    "instruction": "Given a biology task, retrieve tools that calculate it.",
    "labels": json.dumps([LABEL]),
    "category": "code",
}


def write(file: Path, *rows: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "tools/code.jsonl", *TOOLS)
    write(tmp_path / "queries/code.jsonl", QUERY)
    web = {"id": "web_1", "documentation": RATES}  # pyright: ignore[reportUnknownVariableType]
    write(tmp_path / "tools/web.jsonl", web, {"id": "web_2", "documentation": "Weather of a city."})  # pyright: ignore[reportUnknownArgumentType]
    labels = [{"id": "web_1", "relevance": 1}, {"id": "web_2", "relevance": 1}]
    write(tmp_path / "queries/web.jsonl", {"id": "q", "query": "currencies", "labels": labels})
    return tmp_path


def test_rows_are_read_as_published(folder: Path) -> None:
    web, code = read_toolret(folder)
    assert (web.name, code.name) == ("web", "code")
    tool = code.tools["apigen_tool_272"]
    assert (tool.name, tool.description) == ("bacterial_growth", GROWTH["description"])
    assert tool.parameters["properties"] == GROWTH["parameters"]
    assert len({each.id for each in code.tools.values()}) == 3  # two have one name
    assert web.tools["web_2"].description == "Weather of a city."
    assert code.queries[0].relevant == ("apigen_tool_272",)
    assert web.queries[0].relevant == ("web_1", "web_2")


def test_figures_over_requests_and_categories(folder: Path) -> None:
    table = evaluate_toolret(read_toolret(folder), method="bm25")
    assert table.cell("bm25", "ndcg@10", "code").interval.mean == 1
    gain = 1 / (1 + 0.6309297535714575)  # one of two tools, at the first place
    assert table.cell("bm25", "ndcg@10", "web").interval.mean == pytest.approx(gain)
    assert table.cell("bm25", "recall@10", "web").interval.mean == 0.5
    assert table.cell("bm25", "comp@10", "web").interval.mean == 0
    assert category_mean(table, "bm25", "ndcg@10") == pytest.approx((1 + gain) / 2)


def test_the_instruction_is_part_of_the_request(folder: Path) -> None:
    write(
        folder / "queries/code.jsonl", QUERY | {"query": "rates", "instruction": "bacterial population time"}
    )
    plain, instructed = (
        evaluate_toolret(read_toolret(folder), method="bm25", instructed=flag) for flag in (False, True)
    )
    assert plain.cell("bm25", "recall@10", "code").interval.mean == 0
    assert instructed.cell("bm25", "recall@10", "code").interval.mean == 1


def test_invalid_folders_and_rows_are_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InvalidDataError, match="ToolRet-Queries"):
        read_toolret(tmp_path / "nothing")
    write(folder / "queries/code.jsonl", QUERY | {"labels": [{"id": "gone"}]})
    with pytest.raises(InvalidDataError, match=r"code.jsonl: line 1: the tool 'gone' is not among"):
        read_toolret(folder)
    write(folder / "queries/code.jsonl", {"query": "a"})
    with pytest.raises(InvalidDataError, match="line 1: is no row with an id"):
        read_toolret(folder)
