"""ToolRet: 7,600 requests over 43,000 tools of three categories, with its protocol.

The files are the rows of the datasets `ToolRet-Queries` and `ToolRet-Tools` as JSON Lines, one file for each
category: `queries/web.jsonl` and `tools/web.jsonl`, and so on. A request is searched among the tools of its
category.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from contextune.errors import InvalidDataError
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.tools import ToolRetriever
from contextune.types import Tool
from contextune_lab.public_data.toolset import distinct_names

CATEGORIES = ("web", "code", "customized")
METRICS = ("ndcg@10", "recall@10", "comp@10")
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "BM25": {"micro": 29.0},
    "StackOne 109M": {"category": 54.4},
    "toolrank 8B": {"micro": 59.0, "category": 54.5},
}
"""NDCG@10 of others in percent: over all requests (micro), and the mean of the categories."""


@dataclass(frozen=True, slots=True)
class ToolRetQuery:
    """A request with the tools that serve it."""

    id: str
    text: str
    instruction: str
    relevant: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolRetCategory:
    """The tools of a category, by id, and its requests."""

    name: str
    tools: Mapping[str, Tool]
    queries: tuple[ToolRetQuery, ...]


def read_toolret(folder: Path) -> list[ToolRetCategory]:
    """Read the categories that a folder has."""
    names = [name for name in CATEGORIES if (folder / "queries" / f"{name}.jsonl").exists()]
    if not names:
        raise InvalidDataError(
            f"{folder}: no queries/web.jsonl, queries/code.jsonl or queries/customized.jsonl: export the "
            "datasets ToolRet-Queries and ToolRet-Tools with to_json"
        )
    return [_read_category(folder, name) for name in names]


def evaluate_toolret(
    categories: Sequence[ToolRetCategory], *, method: str = "learned", instructed: bool = False
) -> ResultTable:
    """NDCG@10, recall@10 and completeness@10, over all requests and by category.

    With `instructed`, the instruction of a request is part of it.
    """
    run: dict[str, list[str]] = {}
    qrels: dict[str, dict[str, int]] = {}
    kinds: dict[str, str] = {}
    for category in categories:
        numbers = dict(zip((tool.id for tool in category.tools.values()), category.tools, strict=True))
        retriever = ToolRetriever(category.tools.values(), method=method)
        for query in category.queries:
            text = f"{query.instruction}\n{query.text}" if instructed else query.text
            run[query.id] = [numbers[hit.tool.id] for hit in retriever.search(text, 10)]
            qrels[query.id] = dict.fromkeys(query.relevant, 1)
            kinds[query.id] = category.name
    return evaluate_runs({method: run}, qrels, METRICS, kinds=kinds)


def category_mean(table: ResultTable, method: str, metric: str) -> float:
    """The mean of a metric over the categories, each of which counts the same."""
    values = [table.cell(method, metric, kind).interval.mean for kind in table.kinds]
    return sum(values) / len(values)


def _read_category(folder: Path, name: str) -> ToolRetCategory:
    read = dict(_tools(folder / "tools" / f"{name}.jsonl"))
    tools = dict(zip(read, distinct_names(read.values()), strict=True))
    file = folder / "queries" / f"{name}.jsonl"
    queries: list[ToolRetQuery] = []
    for where, row in _rows(file):
        labels = _value(row.get("labels"), where, "labels")
        if not isinstance(labels, list):
            raise InvalidDataError(f"{where}: labels must be a list of tools")
        relevant = tuple(
            str(label["id"]) for label in cast("list[dict[str, Any]]", labels) if label.get("relevance", 1)
        )
        if unknown := [number for number in relevant if number not in tools]:
            raise InvalidDataError(f"{where}: the tool {unknown[0]!r} is not among those of {name}")
        queries.append(
            ToolRetQuery(str(row["id"]), str(row["query"]), str(row.get("instruction") or ""), relevant)
        )
    return ToolRetCategory(name, tools, tuple(queries))


def _tools(file: Path) -> Iterator[tuple[str, Tool]]:
    for where, row in _rows(file):
        number = str(row["id"])
        document = _value(row.get("documentation", row.get("doc")), where, "documentation")
        fields: dict[str, Any] = document if isinstance(document, dict) else {"description": str(document)}  # pyright: ignore[reportUnknownVariableType]
        parameters = fields.get("parameters")
        properties: dict[str, Any] = (
            {name: value if isinstance(value, dict) else {} for name, value in parameters.items()}  # pyright: ignore[reportUnknownVariableType]
            if isinstance(parameters, dict)
            else {}
        )
        yield (
            number,
            Tool(
                str(fields.get("name") or number),
                str(fields.get("description") or ""),
                parameters={"type": "object", "properties": properties},
            ),
        )


def _value(value: object, where: str, name: str) -> object:
    """A field that the datasets have as JSON text or as a value."""
    if value is None:
        raise InvalidDataError(f"{where}: has no {name}")
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not file.exists():
        raise InvalidDataError(f"{file}: there is no such file")
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{file}: line {number}"
            try:
                row: object = json.loads(line)
            except ValueError as error:
                raise InvalidDataError(f"{where}: is not JSON: {error}") from None
            if not isinstance(row, dict) or "id" not in row:
                raise InvalidDataError(f"{where}: is no row with an id")
            yield where, cast("dict[str, Any]", row)
