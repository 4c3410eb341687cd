"""Training requests of public catalogues, and their folds.

ToolBench is split by server, since a user's own catalogue is one that no model has seen; ToolLens and
MetaTool by request, since their tests use tools seen in training. A request to several servers is excluded
from the fold of each, and kept for the ranker of the first.

The servers of ToolBench's out-of-domain test set are held out of every training source: ToolLens draws its
tools from the same servers, so its requests are filtered by server and by API too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from contextune.tools.tool_text import tool_text
from contextune.types import Tool
from contextune_lab.public_data.toolset import LabelledRequest, Toolset, distinct_names, read_toolset

WEIGHTS = {"toolbench": 0.25, "toollens": 0.5, "metatool": 0.25}
"""Sampling weights."""
MAX_KEPT = 400
"""Maximum number of requests per catalogue and fold for the tool ranker."""


def training_catalogs(folder: Path, folds: int) -> list[dict[str, Any]]:
    """The catalogues as texts, their training requests with the folds that must not see them."""
    return [_catalog(toolset, folds) for toolset in training_toolsets(folder)]


@dataclass(frozen=True)
class HeldOutTools:
    """Servers and APIs that no training request may use, compared without case and punctuation."""

    tools: tuple[Tool, ...]

    @classmethod
    def from_toolbench(cls, filtered: Toolset) -> "HeldOutTools":
        """The tools of the filter's out-of-domain test requests."""
        places = {place for query in filtered.split("ood") for place in query.relevant}
        return cls(tuple(filtered.tools[place] for place in sorted(places)))

    @cached_property
    def servers(self) -> frozenset[str]:
        """The servers' names, reduced to letters and digits."""
        return frozenset(_server_key(tool) for tool in self.tools)

    @cached_property
    def apis(self) -> frozenset[str]:
        """Name and description of each API: another catalogue may file it under another server."""
        return frozenset(_api_key(tool) for tool in self.tools)

    def contains(self, tool: Tool) -> bool:
        """Whether the tool is one of them, or belongs to one of their servers."""
        return _server_key(tool) in self.servers or _api_key(tool) in self.apis

    def allows(self, tools: Iterable[Tool]) -> bool:
        """Whether a request that needs these tools may be trained on."""
        return not any(self.contains(tool) for tool in tools)


def training_toolsets(folder: Path) -> list[Toolset]:
    """Each catalogue with its training requests only, none of which uses a held-out server or API."""
    toolbench = read_toolset(folder / "toolbench" / "filter", "toolbench")
    held_out = HeldOutTools.from_toolbench(toolbench)
    toolsets = [toolbench_training(folder, toolbench)]
    for name in ("toollens", "metatool"):
        toolset = read_toolset(folder / name)
        toolsets.append(Toolset(name, toolset.tools, tuple(toolset.split("train")), toolset.ids))
    return [_without(toolset, held_out) for toolset in toolsets]


def _without(toolset: Toolset, held_out: HeldOutTools) -> Toolset:
    """Drop held-out tools, which must not even be negatives, and the requests that need them."""
    kept = [place for place, tool in enumerate(toolset.tools) if not held_out.contains(tool)]
    new_place = {place: number for number, place in enumerate(kept)}
    queries = tuple(
        LabelledRequest(
            query.id, query.text, frozenset(new_place[place] for place in query.relevant), "train"
        )
        for query in toolset.queries
        if query.relevant <= new_place.keys()
    )
    ids = tuple(toolset.ids[place] for place in kept) if toolset.ids else ()
    return Toolset(toolset.name, tuple(toolset.tools[place] for place in kept), queries, ids)


def toolbench_training(folder: Path, filtered: Toolset) -> Toolset:
    """ToolBench's training requests: the filter's, and others that use no held-out server.

    The catalogue has the filter's tools and those that the other requests need.
    """
    all_toolbench = read_toolset(folder / "toolbench")
    held_out = HeldOutTools.from_toolbench(filtered)
    texts = {query.text for query in filtered.queries}
    tools, ids = list(filtered.tools), list(filtered.ids)
    place = {key: number for number, key in enumerate(ids)}
    queries = filtered.split("train")
    for query in all_toolbench.queries:
        if query.split == "test" or query.text in texts:
            continue
        if not held_out.allows(all_toolbench.tools[number] for number in query.relevant):
            continue
        for number in query.relevant:
            if all_toolbench.ids[number] not in place:
                place[all_toolbench.ids[number]] = len(tools)
                tools.append(all_toolbench.tools[number])
                ids.append(all_toolbench.ids[number])
        relevant = frozenset(place[all_toolbench.ids[number]] for number in query.relevant)
        queries.append(LabelledRequest(query.id, query.text, relevant, "train"))
    return Toolset("toolbench", tuple(distinct_names(tools)), tuple(queries), tuple(ids))


def _server_key(tool: Tool) -> str:
    """The server's name reduced to letters and digits; a server with one tool may share its name."""
    return _letters(tool.app or tool.name)


def _api_key(tool: Tool) -> str:
    return f"{_letters(tool.name)} {_letters(tool.description)}"


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


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
