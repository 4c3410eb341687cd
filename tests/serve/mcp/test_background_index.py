"""The index of the servers' tools is built in the background, and no search waits for a large server."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from tests.serve.waiting import PATIENCE

from contextune.errors import ContextuneError
from contextune.serve.mcp.background_index import BackgroundIndex, ChangePace, choose_tools
from contextune.tools import Catalog, ToolRetriever
from contextune.tools.retriever import FEW_TOOLS
from contextune.types import Tool


def tools(server: str, count: int, version: int = 0) -> tuple[Tool, ...]:
    return tuple(Tool(f"t{version}_{number}", "Does it.", server) for number in range(count))


class Servers:
    """Tools by server, and an index over them whose builds can be held up."""

    def __init__(self, *, step: int = 10) -> None:
        self.tools: dict[str, Sequence[Tool]] = {}
        self.builds: list[int] = []
        self.may_build = threading.Event()
        self.may_build.set()
        self.failure: Exception | None = None
        self.index = BackgroundIndex(lambda: self.tools, self.build, step=step)

    def build(self, catalog: Catalog) -> ToolRetriever:
        assert self.may_build.wait(PATIENCE)
        if self.failure:
            raise self.failure
        self.builds.append(len(catalog))
        return ToolRetriever(catalog, method="bm25")

    def set(self, server: str, listed: Sequence[Tool]) -> None:
        self.tools[server] = listed
        self.index.change(server)


async def count(servers: Servers, patience: float = 0.0) -> int:
    return len((await servers.index.get(patience)).catalog)


async def wait_until_current(servers: Servers) -> None:
    async with asyncio.timeout(PATIENCE):
        while not servers.index.is_current:
            await asyncio.sleep(0.01)


def test_search_takes_the_earlier_index_while_the_next_is_built() -> None:
    async def talk() -> None:
        servers = Servers()
        servers.set("a", tools("a", 3))
        assert await count(servers, PATIENCE) == 3
        servers.may_build.clear()
        servers.set("b", tools("b", 4))
        for _ in range(3):
            assert await asyncio.wait_for(count(servers), 5) == 3
            await asyncio.sleep(0)
        assert not servers.index.is_current
        servers.may_build.set()
        assert await count(servers, PATIENCE) == 7
        await servers.index.stop()

    asyncio.run(talk())


def test_first_search_over_many_tools_does_not_wait_for_vectors() -> None:
    async def talk() -> None:
        servers = Servers(step=1000)
        quick: list[int] = []

        def build(catalog: Catalog) -> ToolRetriever:
            quick.append(len(catalog))
            return ToolRetriever(catalog, method="bm25")

        servers.index = BackgroundIndex(lambda: servers.tools, servers.build, quick=build)
        servers.may_build.clear()
        servers.set("large", tools("large", FEW_TOOLS + 1))
        assert await asyncio.wait_for(count(servers), PATIENCE) == FEW_TOOLS + 1
        assert not servers.index.is_current
        servers.may_build.set()
        await wait_until_current(servers)
        servers.set("small", tools("small", 3))
        assert await count(servers, PATIENCE) == FEW_TOOLS + 4
        assert (quick, servers.builds) == ([FEW_TOOLS + 1], [FEW_TOOLS + 1, FEW_TOOLS + 4])
        await servers.index.stop()

    asyncio.run(talk())


def test_servers_with_few_tools_are_indexed_first() -> None:
    async def talk() -> None:
        servers = Servers(step=10)
        servers.set("large", tools("large", 35))
        servers.set("small", tools("small", 4))
        servers.index.start()
        assert await count(servers) == 10  # 4 of small, 6 of large
        first = await servers.index.get()
        assert sum(tool.app == "small" for tool in first.catalog) <= 4
        await wait_until_current(servers)
        assert len((await servers.index.get()).catalog) == 39
        await servers.index.stop()

    asyncio.run(talk())


def test_one_step_takes_a_limited_number_of_new_tools() -> None:
    current = {"large": tools("large", 35), "small": tools("small", 4)}
    chosen, unfinished = choose_tools({}, current, ["large", "small"], 10)
    assert [len(chosen[name]) for name in ("large", "small")] == [6, 4]
    assert unfinished == {"large"}
    chosen, unfinished = choose_tools(chosen, current, ["large"], 100)
    assert (chosen, unfinished) == (current, set())


def test_changed_and_missing_tools_leave_the_index_at_once() -> None:
    indexed = {"a": tools("a", 5)}
    renamed = {"a": (*tools("a", 2), *tools("a", 20, version=1))}
    chosen, unfinished = choose_tools(indexed, renamed, ["a"], 3)
    assert chosen == {"a": (*tools("a", 2), *tools("a", 3, version=1))}
    assert unfinished == {"a"}
    assert choose_tools(indexed, {}, ["a"], 3)[0].get("a", ()) == ()


def test_restless_server_is_indexed_ever_more_rarely_and_others_are_not() -> None:
    pace, now, accepted = ChangePace(), 0.0, 0
    while now < 3600:
        if now >= pace.due:
            pace.accept(now)
            accepted += 1
        now += 1.0
    assert 60 <= accepted < 75

    async def talk() -> None:
        servers = Servers()
        servers.set("a", tools("a", 2))
        await count(servers, PATIENCE)
        for version in range(1, 30):
            servers.set("a", tools("a", 2, version))
            await asyncio.sleep(0.01)
        assert len(servers.builds) == 1  # the next one is not due yet
        servers.set("b", tools("b", 2))
        assert await count(servers, PATIENCE) == 4
        assert len(servers.builds) == 2
        servers.index.change("a", at_once=True)
        await count(servers, PATIENCE)
        assert servers.index.is_current
        await servers.index.stop()

    asyncio.run(talk())


def test_failed_build_raises_without_an_index_and_keeps_an_earlier_one() -> None:
    async def talk() -> None:
        servers = Servers()
        servers.failure = ContextuneError("no embedder")
        servers.set("a", tools("a", 2))
        for _ in range(2):
            with pytest.raises(ContextuneError, match="no embedder"):
                await count(servers)
        servers.failure = None
        assert await count(servers) == 2  # the next search tries again
        servers.failure = ContextuneError("no embedder")
        servers.set("b", tools("b", 2))
        assert await count(servers, 0.2) == 2
        servers.failure = None
        servers.index.change("b", at_once=True)
        assert await count(servers, PATIENCE) == 4
        await servers.index.stop()

    asyncio.run(talk())


def test_without_any_tool_there_is_an_empty_index() -> None:
    async def talk() -> None:
        servers = Servers()
        assert await count(servers) == 0
        servers.set("a", tools("a", 2))
        assert await count(servers, PATIENCE) == 2
        await servers.index.stop()

    asyncio.run(talk())
