"""Training requests of public catalogues, and their folds.

ToolBench is split by server, since a user's own catalogue is one that no model has seen; ToolLens and
MetaTool by request, since their tests use tools seen in training. A request to several servers is excluded
from the fold of each, and kept for the ranker of the first.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any

from contextune.lab.public_data.toolset import LabelledRequest, Toolset, distinct_names, read_toolset
from contextune.tools.tool_text import tool_text
from contextune.types import Tool

WEIGHTS = {"toolbench": 0.25, "toollens": 0.5, "metatool": 0.25}
"""Sampling weights."""
MAX_KEPT = 400
"""Maximum number of requests per catalogue and fold for the tool ranker."""


def training_catalogs(folder: Path, folds: int) -> list[dict[str, Any]]:
    """The catalogues as texts, their training requests with the folds that must not see them."""
    return [_catalog(toolset, folds) for toolset in training_toolsets(folder)]


def training_toolsets(folder: Path) -> list[Toolset]:
    """Each catalogue with its training requests only."""
    toolbench = read_toolset(folder / "toolbench" / "filter", "toolbench")
    toolsets = [toolbench_training(folder, toolbench)]
    for name in ("toollens", "metatool"):
        toolset = read_toolset(folder / name)
        toolsets.append(Toolset(name, toolset.tools, tuple(toolset.split("train"))))
    return toolsets


def toolbench_training(folder: Path, filtered: Toolset) -> Toolset:
    """ToolBench's training requests: the filter's, and others that use no tested server.

    The catalogue has the filter's tools and those that the other requests need.
    """
    all_toolbench = read_toolset(folder / "toolbench")
    test_queries = [query for query in filtered.queries if query.split != "train"]
    servers = {
        server
        for query in test_queries
        if query.split == "ood"
        for place in query.relevant
        for server in _servers(filtered.tools[place])
    }
    texts = {query.text for query in filtered.queries}
    tools, ids = list(filtered.tools), list(filtered.ids)
    place = {key: number for number, key in enumerate(ids)}
    queries = filtered.split("train")
    for query in all_toolbench.queries:
        if query.split == "test" or query.text in texts:
            continue
        if any(_servers(all_toolbench.tools[number]) & servers for number in query.relevant):
            continue
        for number in query.relevant:
            if all_toolbench.ids[number] not in place:
                place[all_toolbench.ids[number]] = len(tools)
                tools.append(all_toolbench.tools[number])
                ids.append(all_toolbench.ids[number])
        relevant = frozenset(place[all_toolbench.ids[number]] for number in query.relevant)
        queries.append(LabelledRequest(query.id, query.text, relevant, "train"))
    return Toolset("toolbench", tuple(distinct_names(tools)), tuple(queries), tuple(ids))


def _servers(tool: Tool) -> set[str]:
    """Names of its server; a server whose tool has its own name is known by that name too."""
    return {tool.app, tool.app or tool.name}


def assign_folds(toolset: Toolset, folds: int) -> list[dict[str, Any]]:
    """The requests in hash order, with the folds that must not see them and the fold that keeps them."""
    by_server = toolset.name == "toolbench"
    counts = [0] * folds
    queries: list[dict[str, Any]] = []
    for query in sorted(toolset.queries, key=lambda query: _hash_below(query.text, 1 << 30)):
        keys = sorted({toolset.tools[place].app for place in query.relevant}) if by_server else [query.text]
        excluded = sorted({_hash_below(key, folds) for key in keys})
        kept = excluded[0] if counts[excluded[0]] < MAX_KEPT else -1
        counts[excluded[0]] += kept >= 0
        queries.append(
            {"text": query.text, "relevant": sorted(query.relevant), "folds": excluded, "kept": kept}
        )
    return queries


def _catalog(toolset: Toolset, folds: int) -> dict[str, Any]:
    return {
        "name": toolset.name,
        "weight": WEIGHTS[toolset.name],
        "tools": [tool_text(tool) for tool in toolset.tools],
        "queries": assign_folds(toolset, folds),
    }


def _hash_below(text: str, below: int) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:6]) % below
