"""Tool search of FastMCP and langgraph-bigtool on requests of worlds: python compare_tool_search.py FOLDER.

Both get the request as the query; in an agent, a language model would write one. bigtool searches by meaning,
here with Contextune's embedder. Prints the share of requests, in percent, whose right tool is first and among
the first five: means over worlds with the bundled tools, and over worlds with their own.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool as FastMcpTool
from langgraph.store.memory import InMemoryStore
from langgraph_bigtool.tools import get_default_retrieval_tool

from contextune import Tool, bundled_toolbox
from contextune.embed import default_embedder

Search = Callable[[str], Sequence[str]]
_FIRST = 5


def main(folder: Path) -> None:
    """Search for the tools of all requests of all worlds in the folder."""
    for kind, has_own in (("bundled tools", False), ("own tools", True)):
        worlds = [path for path in sorted(folder.glob("w*/")) if (path / "tools.json").exists() == has_own]
        for name, build in (("FastMCP BM25", _fastmcp), ("bigtool, by meaning", _bigtool)):
            rates = [_rates(world, build(_tools(world))) for world in worlds]
            first, five = (mean(100 * rate[n] for rate in rates) for n in (0, 1))
            sys.stdout.write(f"{kind}, {len(worlds)} worlds, {name}: {first:.1f} first, {five:.1f} of five\n")


def _tools(world: Path) -> list[Tool]:
    file = world / "tools.json"
    if not file.exists():
        return list(bundled_toolbox())
    servers = json.loads(file.read_text(encoding="utf-8"))["servers"]
    return [
        Tool(
            entry["name"], entry.get("description", ""), app=server, parameters=entry.get("inputSchema") or {}
        )
        for server, content in servers.items()
        for entry in content["tools"]
    ]


def _rates(world: Path, search: Search) -> tuple[float, float]:
    """Of the requests that one call serves, the shares whose right tool is first and among the first five."""
    found = [(search(text), right) for text, right in _requests(world)]
    return (
        mean(bool(ids) and ids[0] in right for ids, right in found),
        mean(not right.isdisjoint(ids[:_FIRST]) for ids, right in found),
    )


def _requests(world: Path) -> Iterator[tuple[str, frozenset[str]]]:
    for line in (world / "requests.jsonl").read_text(encoding="utf-8").splitlines():
        request = json.loads(line)
        expected = request["expected"]
        calls = [expected] if expected.get("tool") else []
        calls += [call.get("steps", [call])[0] for call in request["also_right"]]
        if calls and "steps" not in expected:
            yield request["text"], frozenset(call["tool"] for call in calls)


def _fastmcp(tools: Sequence[Tool]) -> Search:
    transform: Any = BM25SearchTransform(max_results=_FIRST)
    search = transform._search  # what its tool search_tools calls
    # under their ids, which name the server, too: names alone are not unique, and may have no "/"
    catalog = [
        FastMcpTool(
            name=tool.id.replace("/", "."), description=tool.description, parameters=dict(tool.parameters)
        )
        for tool in tools
    ]
    return lambda text: [tool.name.replace(".", "/", 1) for tool in asyncio.run(search(catalog, text))]


def _bigtool(tools: Sequence[Tool]) -> Search:
    embedder = default_embedder()

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return embedder.embed(list(texts)).tolist()

    index: Any = {"embed": embed, "dims": embedder.embed(["x"]).shape[1], "fields": ["description"]}
    store = InMemoryStore(index=index)
    for tool in tools:
        store.put(("tools",), tool.id, {"description": f"{tool.name}: {tool.description}"})
    retrieve, _ = get_default_retrieval_tool(("tools",), limit=_FIRST)
    return lambda text: list(retrieve(text, store=store))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
