"""The FastMCP search transform through FastMCP's client."""

import asyncio
from typing import Any, cast

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

from contextune.embed import Embedder
from contextune.integrations.fastmcp import ContextuneSearchTransform, as_tool
from contextune.tools import ToolRetriever
from contextune.types import Annotations, Tool


@pytest.fixture
def server() -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("office")

    @server.tool
    def send_email(to: str) -> str:
        """Send an email to somebody."""
        return f"sent to {to}"

    @server.tool(annotations={"readOnlyHint": True})
    def free_rooms() -> list[str]:
        """List meeting rooms that are free."""
        return ["blue"]

    @server.tool
    def order_lunch() -> str:
        """Order lunch for the office."""
        return "soup"

    return server


async def search(client: Client[Any], query: str) -> list[dict[str, Any]]:
    found = await client.call_tool("search_tools", {"query": query})
    return cast("dict[str, Any]", found.structured_content)["result"]


def test_clients_search_and_call(server: FastMCP[Any], word_embedder: Embedder) -> None:
    server.add_transform(ContextuneSearchTransform(max_results=1, embedder=word_embedder))

    async def session() -> None:
        async with Client(server) as client:
            assert [tool.name for tool in await client.list_tools()] == ["search_tools", "call_tool"]
            (tool,) = await search(client, "an email to somebody")
            assert tool["name"] == "send_email"
            assert tool["inputSchema"]["required"] == ["to"]
            done = await client.call_tool("call_tool", {"name": "send_email", "arguments": {"to": "Ana"}})
            assert done.data == "sent to Ana"
            assert await search(client, " ") == []

    asyncio.run(session())


def test_added_tools_are_found(server: FastMCP[Any], word_embedder: Embedder) -> None:
    server.add_transform(ContextuneSearchTransform(max_results=1, embedder=word_embedder))

    async def session() -> None:
        async with Client(server) as client:
            assert [tool["name"] for tool in await search(client, "water the plants")] != ["water_plants"]

            @server.tool
            def water_plants() -> str:
                """Water the plants of the office."""
                return "watered"

            assert [tool["name"] for tool in await search(client, "water the plants")] == ["water_plants"]

    asyncio.run(session())


def test_visible_and_disabled_tools_are_not_found(server: FastMCP[Any], word_embedder: Embedder) -> None:
    server.add_transform(ContextuneSearchTransform(always_visible=["order_lunch"], embedder=word_embedder))
    server.disable(names={"free_rooms"})

    async def session() -> None:
        async with Client(server) as client:
            shown = [tool.name for tool in await client.list_tools()]
            assert shown == ["order_lunch", "search_tools", "call_tool"]
            assert [tool["name"] for tool in await search(client, "lunch in a free room")] == ["send_email"]
            with pytest.raises(ToolError):
                await client.call_tool("call_tool", {"name": "free_rooms"})

    asyncio.run(session())


def test_custom_retriever(server: FastMCP[Any], word_embedder: Embedder) -> None:
    known = Tool("order_lunch", "Order lunch.", "office", examples=("I am hungry",))
    retriever = ToolRetriever([known, Tool("eat", "I am hungry", "home")], word_embedder)
    server.add_transform(ContextuneSearchTransform(retriever))

    async def session() -> None:
        async with Client(server) as client:
            assert [tool["name"] for tool in await search(client, "I am hungry")] == ["order_lunch"]

    asyncio.run(session())


def test_as_tool(server: FastMCP[Any]) -> None:
    tools = {tool.name: as_tool(tool) for tool in asyncio.run(server.list_tools())}
    assert tools["free_rooms"].annotations == Annotations(read_only=True)
    assert tools["send_email"].parameters["required"] == ["to"]
    assert tools["send_email"].description == "Send an email to somebody."
