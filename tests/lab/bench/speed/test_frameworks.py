"""Tool search beside that of FastMCP and Pydantic AI."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from contextune.types import Tool
from contextune_lab.bench.speed.frameworks import (
    OURS,
    FrameworkTimes,
    _fastmcp,  # pyright: ignore[reportPrivateUsage]
    _pydantic_ai,  # pyright: ignore[reportPrivateUsage]
    frameworks_table,
    measure_frameworks,
)

TOOLS = [
    Tool("get kiln", "Temperature of the kiln.", "studio", {"type": "object", "properties": {}}),
    Tool("book wheel", "Reserve a potter's wheel.", "studio"),
]


def test_the_searches_of_the_frameworks_find_the_tool() -> None:
    (found,) = cast("list[Any]", _fastmcp(TOOLS)("reserve wheel"))
    assert found.name == "tool_1"
    assert _pydantic_ai(TOOLS)("the temperature") == ["tool_0"]


def test_all_searches_are_timed_on_the_same_requests(tmp_path: Path) -> None:
    folder = tmp_path / "toolbench"
    folder.mkdir()
    rows = [{"id": tool.name, "name": tool.name, "description": tool.description} for tool in TOOLS]
    (folder / "tools.jsonl").write_text("\n".join(map(json.dumps, rows)))
    query = {"id": "q", "query": "How hot is the kiln?", "relevant": ["get kiln"], "split": "test"}
    (folder / "queries.jsonl").write_text(json.dumps(query))
    reports: list[tuple[int, int]] = []
    cache = tmp_path / "vectors.db"

    def report(done: int, total: int) -> None:
        reports.append((done, total))

    measured = measure_frameworks(tmp_path, requests=1, cache=cache, progress=report)
    names = (OURS, "FastMCP", "Pydantic AI")
    assert [(row.framework, row.kind) for row in measured] == [
        (name, kind) for kind in ("short", "long") for name in names
    ]
    assert all(row.elapsed > 0 for row in measured)
    assert reports[-1] == (2, 2)
    assert cache.exists()


def test_ratios_are_of_processor_time() -> None:
    rows = [
        FrameworkTimes(name, kind, elapsed, processor)
        for kind in ("short", "long")
        for name, elapsed, processor in ((OURS, 9.0, 5.0), ("FastMCP", 90.0, 60.0))
    ]
    table = frameworks_table(rows)
    values = dict(table.values())
    assert values["frameworks/FastMCP/short request: times ours"] == pytest.approx(12)
    assert values["frameworks/Contextune/long request: median ms"] == 9
