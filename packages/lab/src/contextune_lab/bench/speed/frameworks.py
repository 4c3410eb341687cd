"""Tool search against that of frameworks: the same catalogue, the same requests, one process.

The searches take turns, so that whatever else the machine does slows all of them. Each gets the text of the
request; in an agent, FastMCP and Pydantic AI get a query that a language model writes.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any, cast

import numpy as np

from contextune.datasets import bundled_personas
from contextune.errors import MissingExtraError
from contextune.tools import ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.types import Progress, Tool
from contextune_lab.bench.results_file import BenchTable, Cell, Row
from contextune_lab.public_data.toolset import read_toolset

OURS = "Contextune"
KINDS = ("short", "long")
COMMAND = "contextune bench frameworks --public FOLDER"
_K = 10
Search = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class FrameworkTimes:
    """Milliseconds for one search, medians over the requests of a kind."""

    framework: str
    kind: str
    elapsed: float
    processor: float
    """Time of all threads on processors; it does not depend on what else the machine does."""


def measure_frameworks(
    data: Path,
    *,
    requests: int = 60,
    tools: int | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> list[FrameworkTimes]:
    """Time searches in ToolBench's tools for short requests (personas') and long ones (ToolBench's).

    `data` is the folder that holds `toolbench`, `cache` a file for the vectors of its tools. `progress` first
    counts embedded tools, then requests.
    """
    toolset = read_toolset(data / "toolbench")
    catalogue = toolset.tools[:tools]
    with CatalogFile(cache) if cache else nullcontext() as vectors:
        retriever = ToolRetriever(catalogue, vector_cache=vectors, progress=progress)
    searches: dict[str, Search] = {
        OURS: partial(retriever.search, k=_K),
        "FastMCP": _fastmcp(catalogue),
        "Pydantic AI": _pydantic_ai(catalogue),
    }
    long = sorted({query.text for query in toolset.queries})
    Random(0).shuffle(long)  # noqa: S311
    short = list({query.text: None for persona in bundled_personas() for query in persona.queries})
    for search in searches.values():
        search("warm up")
    rows: list[FrameworkTimes] = []
    for done, (kind, texts) in enumerate(zip(KINDS, (short[:requests], long[:requests]), strict=True)):
        report = partial(_report, progress, done * requests, 2 * requests)
        times = _time(searches, texts, report)
        rows += [FrameworkTimes(name, kind, *medians) for name, medians in times.items()]
    return rows


def frameworks_table(rows: Sequence[FrameworkTimes]) -> BenchTable:
    """One row per framework; ratios are of processor time."""
    columns = [
        f"{kind} request: {what}" for kind in KINDS for what in ("median ms", "processor ms", "times ours")
    ]
    by_name = {(row.framework, row.kind): row for row in rows}
    table: list[Row] = []
    for name in dict.fromkeys(row.framework for row in rows):
        values = [
            value
            for kind in KINDS
            for value in (
                by_name[name, kind].elapsed,
                by_name[name, kind].processor,
                by_name[name, kind].processor / by_name[OURS, kind].processor,
            )
        ]
        table.append(Row(name, list(map(Cell, values)), emphasis=name == OURS))
    return BenchTable("frameworks", COMMAND, columns, table, 1)


def _time(
    searches: Mapping[str, Search], texts: Sequence[str], report: Callable[[int], None]
) -> dict[str, tuple[float, float]]:
    """Median milliseconds by name: elapsed, and of the processor."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in searches}
    for number, text in enumerate(texts, 1):
        for name, search in searches.items():
            elapsed, processor = perf_counter(), process_time()
            search(text)
            times[name].append((1000 * (perf_counter() - elapsed), 1000 * (process_time() - processor)))
        report(number)
    medians = {name: np.median(np.array(rows), axis=0).tolist() for name, rows in times.items()}
    return {name: (row[0], row[1]) for name, row in medians.items()}


def _report(progress: Progress | None, before: int, total: int, number: int) -> None:
    if progress:
        progress(before + number, total)


def _fastmcp(tools: Sequence[Tool]) -> Search:
    try:
        from fastmcp.server.transforms.search import BM25SearchTransform
        from fastmcp.tools import Tool as FastMcpTool
    except ModuleNotFoundError:
        raise MissingExtraError("the comparison with FastMCP", "fastmcp") from None
    transform: Any = BM25SearchTransform(max_results=_K)
    catalogue = [
        FastMcpTool(name=f"tool_{number}", description=_text(tool), parameters=dict(tool.parameters))
        for number, tool in enumerate(tools)
    ]
    loop = asyncio.new_event_loop()
    # what its tool search_tools calls
    return lambda text: loop.run_until_complete(transform._search(catalogue, text))


def _pydantic_ai(tools: Sequence[Tool]) -> Search:
    try:
        from pydantic_ai.tools import ToolDefinition
        from pydantic_ai.toolsets._tool_search import keywords_search_fn
    except ModuleNotFoundError:
        raise MissingExtraError("the comparison with Pydantic AI", "pydantic-ai") from None
    search: Any = cast("Any", keywords_search_fn)  # what its ToolSearch uses without a strategy
    catalogue = [
        ToolDefinition(
            name=f"tool_{number}", parameters_json_schema=dict(tool.parameters), description=_text(tool)
        )
        for number, tool in enumerate(tools)
    ]
    return lambda text: search(None, [text], catalogue)


def _text(tool: Tool) -> str:
    """Name and description: ids of the frameworks may have no blanks, which these names have."""
    return f"{tool.app} {tool.name}: {tool.description}"
