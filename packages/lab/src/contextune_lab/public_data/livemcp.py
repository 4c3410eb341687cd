"""LiveMCPBench in its published format: 95 tasks over the 527 tools of 70 MCP servers.

The folder is its repository: `annotated_data/all_annotations.json` has the tasks with the names of the tools
that people used for them, `tools/LiveMCPTool/tools.json` what the servers list. Annotations do not name
servers, and some servers have tools of the same name, so a tool of any server counts under its name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from contextune.embed import CachedEmbedder, default_embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.tools import ToolRetriever
from contextune.tools.index import MemoryVectorCache, VectorCache
from contextune.types import Tool
from contextune_lab.public_data.collect import NO_TOOL, UNKNOWN_TOOL, SkippedRequest
from contextune_lab.public_data.files import (
    Entry,
    get_id,
    get_text,
    read_json_array,
    require_list,
    require_object,
)
from contextune_lab.public_data.toolset import distinct_names

METRICS = ("recall@1", "recall@5", "recall@10", "ndcg@10", "hit@1", "hit@5")
_ANNOTATIONS = Path("annotated_data", "all_annotations.json")
_TOOLS = Path("tools", "LiveMCPTool", "tools.json")
_NUMBERED = re.compile(r"\s*\d+\.\s*(\S+)")
_DEPTH = 30
"""Tools that are looked at for ten different names."""


@dataclass(frozen=True, slots=True)
class LiveMcpTask:
    """A task with the names of the tools that serve it."""

    id: str
    text: str
    tools: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class LiveMcpBench:
    """The tools with their names, the tasks, and those skipped as they need an unknown tool."""

    tools: tuple[Tool, ...]
    names: Mapping[str, str]
    """By the ids of the tools, which are unique."""
    tasks: tuple[LiveMcpTask, ...]
    skipped: tuple[SkippedRequest, ...]


def read_livemcp(folder: Path) -> LiveMcpBench:
    """Read tools and tasks from the repository."""
    listed = list(_tools(folder / _TOOLS))
    tools = tuple(distinct_names(listed))
    names = {tool.id: own.name for tool, own in zip(tools, listed, strict=True)}
    known = frozenset(names.values())
    tasks: list[LiveMcpTask] = []
    skipped: list[SkippedRequest] = []
    for where, entry in read_json_array(folder / _ANNOTATIONS):
        task = _task(entry, where)
        unknown = next((name for name in task.tools if name not in known), None)
        if unknown or not task.tools:
            skipped.append(SkippedRequest(task.id, UNKNOWN_TOOL if unknown else NO_TOOL, unknown or ""))
        else:
            tasks.append(task)
    if not tasks:
        raise InvalidDataError(f"{folder}: no task has known tools")
    return LiveMcpBench(tools, names, tuple(tasks), tuple(skipped))


def evaluate_livemcp(
    data: LiveMcpBench, methods: Sequence[str], vector_cache: VectorCache | None = None
) -> ResultTable:
    """Rank the tools for the text of every task; the others are tested against the last method."""
    runs: dict[str, dict[str, list[str]]] = {}
    embedder, vectors = CachedEmbedder(default_embedder()), vector_cache or MemoryVectorCache()
    for method in methods:
        retriever = ToolRetriever(data.tools, embedder, method=method, vector_cache=vectors)
        runs[method] = {
            task.id: list(
                dict.fromkeys(data.names[hit.tool.id] for hit in retriever.search(task.text, _DEPTH))
            )
            for task in data.tasks
        }
    qrels = {task.id: dict.fromkeys(task.tools, 1) for task in data.tasks}
    kinds = {task.id: task.category for task in data.tasks}
    return evaluate_runs(runs, qrels, METRICS, kinds=kinds, baseline=methods[-1])


def _task(entry: Entry, where: str) -> LiveMcpTask:
    notes = require_object(entry.get("Annotator Metadata"), f"{where}: 'Annotator Metadata'")
    lines = get_text(notes, "Tools", where).splitlines()
    names = dict.fromkeys(match[1] for line in lines if (match := _NUMBERED.match(line)))
    return LiveMcpTask(
        get_id(entry, "task_id", where),
        get_text(entry, "Question", where),
        tuple(names),
        get_text(entry, "category", where),
    )


def _tools(file: Path) -> Iterator[Tool]:
    for where, entry in read_json_array(file):
        about = str(entry.get("description") or "")
        for server, listing in require_object(entry.get("tools"), f"{where}: 'tools'").items():
            for number, value in enumerate(require_list(cast("Entry", listing), "tools", where), 1):
                tool = require_object(value, f"{where}: tool {number} of {server}")
                schema = require_object(tool.get("inputSchema") or {}, f"{where}: a schema")
                description = str(tool.get("description") or "")
                yield Tool(get_text(tool, "name", where), description, server, schema, about=about)
