"""An event of another zone has the same time in the inspector and over MCP: that of the user's zone."""

import asyncio
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from mcp import Client

from contextune import Tuner
from contextune.embed import Embedder
from contextune.serve.http.inspector import inspect
from contextune.serve.mcp.lazy_tuner import LazyTuner
from contextune.serve.mcp.server import mcp_server
from contextune.store import SQLiteStore
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.types import Item, Request, User

NOW = datetime(2024, 5, 15, 9)


def test_event_is_shown_in_the_zone_of_the_user(store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("me", zone=ZoneInfo("America/Los_Angeles")))
    store.put_items("me", [Item.event(name="Glaze night", start="2024-05-16T14:00+01:00")])
    tools = ToolRetriever(bundled_toolbox(), word_embedder)
    tuner = Tuner(store, embedder=word_embedder, tools=tools)

    async def find_context() -> dict[str, Any]:
        async with Client(mcp_server("me", LazyTuner(lambda _: tuner))) as client:
            arguments = {"text": "Glaze night", "time": NOW.isoformat()}
            result = await client.call_tool("find_context", arguments)
            assert result.structured_content is not None
            return result.structured_content["items"][0]

    found = asyncio.run(find_context())
    assert found["time"] == "2024-05-16T06:00:00-07:00"
    assert "06:00" in found["text"]
    (hit,) = inspect(tuner, Request("Glaze night", "me", NOW), 1, 1, 10_000, tools.catalog.tool)["context"]
    assert hit["when"] == found["time"]
    assert hit["when_text"] == "Thu 16 May 06:00 PDT"
