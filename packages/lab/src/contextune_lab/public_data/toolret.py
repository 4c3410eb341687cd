"""ToolRet: 7,600 requests of 35 tasks over 43,000 tools of three categories, with its protocol.

The files are the rows of the datasets `ToolRet-Queries` and `ToolRet-Tools` as JSON Lines: a file for each
task, `queries/apigen.jsonl` and so on (`id`, `query`, `instruction`, `labels` as JSON text), and a file for
each category of tools, `tools/web.jsonl` and so on (`id`, `documentation` as JSON text). As in the protocol,
a request is searched among the tools of all categories: some tasks need tools of several.
"""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from contextune.errors import InvalidDataError
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.tools import ToolRetriever
from contextune.tools.index import VectorCache
from contextune.types import Tool
from contextune_lab.public_data.files import Entry, get_id, get_text, read_jsonl, require_object
from contextune_lab.public_data.toolset import distinct_names

TASKS: Mapping[str, Sequence[str]] = {
    "code": (
        *("craft-math-algebra", "craft-tabmwp", "craft-vqa", "gorilla-huggingface", "gorilla-pytorch"),
        *("gorilla-tensor", "toolink"),
    ),
    "customized": (
        *("appbench", "gpt4tools", "gta", "metatool", "taskbench-huggingface", "taskbench-multimedia"),
        *("tool-be-honest", "toolalpaca", "toolbench-sam"),
    ),
    "web": (
        *("apibank", "apigen", "autotools-food", "autotools-music", "autotools-weather", "mnms"),
        *("restgpt-spotify", "restgpt-tmdb", "reversechain", "rotbench", "t-eval-dialog", "t-eval-step"),
        *("taskbench-daily", "toolace", "toolbench", "toolemu", "tooleyes", "toollens", "ultratool"),
    ),
}
"""The tasks of each category."""
METRICS = ("ndcg@10", "recall@10", "comp@10")
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "BM25": {"micro": 29.0},
    "StackOne 109M": {"category": 54.4},
    "toolrank 8B": {"micro": 59.0, "category": 54.5},
}
"""NDCG@10 of others in percent: over all requests (micro), and the mean of the categories."""
_NAMES = ("name", "api_name", "functionality", "domain")
"""Keys of a tool's name, in documentation of different tasks."""
_DESCRIPTIONS = ("description", "api_description", "functionality")
_PARAMETERS = ("parameter", "argument", "inputs")
"""Parts of the keys under which parameters stand."""


@dataclass(frozen=True, slots=True)
class ToolRetQuery:
    """A request with the grades of the tools that serve it."""

    id: str
    text: str
    instruction: str
    relevant: Mapping[str, int]
    category: str


@dataclass(frozen=True, slots=True)
class ToolRet:
    """The tools by their ids, and the requests."""

    tools: Mapping[str, Tool]
    queries: tuple[ToolRetQuery, ...]


def read_toolret(folder: Path) -> ToolRet:
    """Read all tools, and the requests of the tasks that a folder has."""
    documents = {
        get_id(row, "id", where): _value(row, "documentation", where)
        for category in TASKS
        for where, row in read_jsonl(folder / "tools" / f"{category}.jsonl")
    }
    tools = distinct_names(_tool(number, document) for number, document in documents.items())
    queries = [
        _query(row, category, task, where)
        for category, tasks in TASKS.items()
        for task in tasks
        if (folder / "queries" / f"{task}.jsonl").exists()
        for where, row in read_jsonl(folder / "queries" / f"{task}.jsonl")
    ]
    if not queries:
        raise InvalidDataError(
            f"{folder}: no file of a task, such as queries/apigen.jsonl: export the dataset ToolRet-Queries "
            "with to_json"
        )
    served = tuple(query for query in queries if query.relevant)
    return ToolRet(dict(zip(documents, tools, strict=True)), served)


def evaluate_toolret(
    data: ToolRet,
    *,
    method: str = "learned",
    instructed: bool = False,
    vector_cache: VectorCache | None = None,
) -> ResultTable:
    """NDCG@10, recall@10 and completeness@10, over all requests and by category.

    With `instructed`, the instruction of a request is part of it.
    """
    numbers = dict(zip((tool.id for tool in data.tools.values()), data.tools, strict=True))
    retriever = ToolRetriever(data.tools.values(), method=method, vector_cache=vector_cache)
    run: dict[str, list[str]] = {}
    for query in data.queries:
        text = f"{query.instruction}\n{query.text}" if instructed else query.text
        run[query.id] = [numbers[hit.tool.id] for hit in retriever.search(text, 10)]
    qrels = {query.id: dict(query.relevant) for query in data.queries}
    kinds = {query.id: query.category for query in data.queries}
    return evaluate_runs({method: run}, qrels, METRICS, kinds=kinds)


def category_mean(table: ResultTable, method: str, metric: str) -> float:
    """The mean of a metric over the categories, each of which counts the same."""
    values = [table.cell(method, metric, kind).interval.mean for kind in table.kinds]
    return sum(values) / len(values)


def _query(row: Entry, category: str, task: str, where: str) -> ToolRetQuery:
    labels = _value(row, "labels", where)
    if not isinstance(labels, list):
        raise InvalidDataError(f"{where}: labels must be a list of tools")
    entries = [require_object(label, f"{where}: a label") for label in cast("list[object]", labels)]
    grades = {get_id(label, "id", where): int(str(label.get("relevance", 1))) for label in entries}
    return ToolRetQuery(
        f"{task}/{get_id(row, 'id', where)}",  # ids are unique in a task
        get_text(row, "query", where),
        str(row.get("instruction") or ""),
        {number: grade for number, grade in grades.items() if grade > 0},
        category,
    )


def _tool(number: str, document: object) -> Tool:
    """A tool; the rest of its documentation, beside name, description and parameters, is its `about`."""
    if not isinstance(document, dict):
        return Tool(number, str(document))
    fields = cast("dict[str, Any]", document)
    name, name_key = _first_text(fields, _NAMES)
    description, key = _first_text(fields, _DESCRIPTIONS)
    properties: dict[str, Any] = {}
    others: list[str] = []
    for field, value in fields.items():
        if any(part in field.casefold() for part in _PARAMETERS):
            properties |= dict(_properties(value))
        elif field not in (name_key, key) and value:
            others.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return Tool(
        name or number,
        description,
        parameters={"type": "object", "properties": properties},
        about=" ".join(others),
    )


def _first_text(fields: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, str]:
    """The first text under one of the keys, and its key."""
    return next(((text, key) for key in keys if isinstance(text := fields.get(key), str) and text), ("", ""))


def _properties(value: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Parameters by name: from a JSON schema, an object by name, a list of objects, or a list of names."""
    if isinstance(value, list):
        for entry in cast("list[Any]", value):
            if isinstance(entry, dict) and "name" in entry:
                fields = cast("dict[str, Any]", entry)
                yield str(fields["name"]), fields
            elif isinstance(entry, str):
                yield entry, {}
    elif isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        schema = fields.get("properties")
        for name, entry in (cast("dict[str, Any]", schema) if isinstance(schema, dict) else fields).items():
            yield name, cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"description": entry}


def _value(row: Entry, name: str, where: str) -> object:
    """A field that is JSON text, or text as Python prints an object, or the value itself."""
    value = row.get(name)
    if value is None:
        raise InvalidDataError(f"{where}: has no {name}")
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
