"""Requests to public catalogues that a model may learn from, and who is left out of which fold.

ToolBench's are kept apart by server, as a user's own catalogue is one that no model has seen;
ToolLens's and MetaTool's by request, as their tests ask for tools that were seen in training.
A request to several servers is left out of the fold of each, and kept by one of these folds: of its
other servers, that fold may have seen other requests.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any

from contextune.lab.public_data.toolset import LabelledRequest, Toolset, distinct, read_toolset
from contextune.tools.tool_text import tool_text
from contextune.types import Tool

WEIGHTS = {"toolbench": 0.25, "toollens": 0.5, "metatool": 0.25}
"""How often each is drawn from."""
KEPT = 400
"""Of each catalogue and fold, how many requests the ranker of tools may learn from."""


def training_catalogs(folder: Path, folds: int) -> list[dict[str, Any]]:
    """The catalogues in texts, their training requests with the folds that must not see them."""
    return [_catalog(toolset, folds) for toolset in training_toolsets(folder)]


def training_toolsets(folder: Path) -> list[Toolset]:
    """Each catalogue with no requests but those made for training."""
    bench = read_toolset(folder / "toolbench" / "filter", "toolbench")
    found = [bench_training(folder, bench)]
    for name in ("toollens", "metatool"):
        toolset = read_toolset(folder / name)
        found.append(Toolset(name, toolset.tools, tuple(toolset.split("train"))))
    return found


def bench_training(folder: Path, kept: Toolset) -> Toolset:
    """ToolBench's training requests: the filter's, and those of the whole that touch nothing tested.

    The catalogue is the filter's and the tools those requests need besides.
    """
    whole = read_toolset(folder / "toolbench")
    tested = [query for query in kept.queries if query.split != "train"]
    servers = {
        server
        for query in tested
        if query.split == "ood"
        for place in query.relevant
        for server in _servers(kept.tools[place])
    }
    said = {query.text for query in kept.queries}
    tools, ids = list(kept.tools), list(kept.ids)
    place = {key: number for number, key in enumerate(ids)}
    queries = kept.split("train")
    for query in whole.queries:
        if query.split == "test" or query.text in said:
            continue
        if any(_servers(whole.tools[number]) & servers for number in query.relevant):
            continue
        for number in query.relevant:
            if whole.ids[number] not in place:
                place[whole.ids[number]] = len(tools)
                tools.append(whole.tools[number])
                ids.append(whole.ids[number])
        relevant = frozenset(place[whole.ids[number]] for number in query.relevant)
        queries.append(LabelledRequest(query.id, query.text, relevant, "train"))
    return Toolset("toolbench", tuple(distinct(tools)), tuple(queries), tuple(ids))


def _servers(tool: Tool) -> set[str]:
    """What its server may go by: one with a tool of its own name is known by that name too."""
    return {tool.app, tool.app or tool.name}


def folded(toolset: Toolset, folds: int) -> list[dict[str, Any]]:
    """The requests in a mixed order, with the folds that must not see them, and the one that keeps them."""
    by_server = toolset.name == "toolbench"
    counts = [0] * folds
    queries: list[dict[str, Any]] = []
    for query in sorted(toolset.queries, key=lambda query: _number(query.text, 1 << 30)):
        keys = sorted({toolset.tools[place].app for place in query.relevant}) if by_server else [query.text]
        hidden = sorted({_number(key, folds) for key in keys})
        kept = hidden[0] if counts[hidden[0]] < KEPT else -1
        counts[hidden[0]] += kept >= 0
        queries.append(
            {"text": query.text, "relevant": sorted(query.relevant), "folds": hidden, "kept": kept}
        )
    return queries


def _catalog(toolset: Toolset, folds: int) -> dict[str, Any]:
    return {
        "name": toolset.name,
        "weight": WEIGHTS[toolset.name],
        "tools": [tool_text(tool) for tool in toolset.tools],
        "queries": folded(toolset, folds),
    }


def _number(text: str, below: int) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:6]) % below
