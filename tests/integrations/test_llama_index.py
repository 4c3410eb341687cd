"""LlamaIndex retrievers over tools and context, and an agent with a scripted model."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import BaseTool, FunctionTool

from contextune import Item, SQLiteStore, Tuner, User
from contextune.embed import Embedder
from contextune.integrations.llama_index import ContextNodes, ToolNodes, as_tool, tool_retriever
from contextune.tools import ToolFilter, ToolRetriever
from contextune.types import Tool

# LlamaIndex reads deprecated attributes of its own agents
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
ACTIONS = ["send an email", "order lunch", "water the plants", "feed the cat"]


@pytest.fixture
def office() -> list[BaseTool]:
    return [
        FunctionTool.from_defaults(lambda: "done", name=action.replace(" ", "_"), description=f"To {action}.")
        for action in ACTIONS
    ]


def test_tools_as_nodes(retriever: ToolRetriever) -> None:
    nodes = ToolNodes(retriever, 2)
    found = nodes.retrieve("Send an email to somebody")
    assert len(found) == 2
    assert found[0].node.node_id == "mail/send_email"
    assert found[0].node.metadata == {"name": "send_email", "app": "mail"}
    assert "Send an email" in found[0].node.get_content()
    assert (found[0].score or 0) > (found[1].score or 0)
    assert nodes.retrieve(" ") == []
    assert asyncio.run(nodes.aretrieve("Order lunch"))[0].node.node_id == "order_lunch"
    narrow = ToolNodes(retriever, filter=ToolFilter(read_only=True)).retrieve("Search")
    assert {node.node.metadata["name"] for node in narrow} == {"search"}


def test_context_as_nodes(store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    fields = {"title": "Kiln", "content": "cone six", "modified": "2024-05-11T20:30"}
    store.put_items("ines", [Item("n1", "Notes", fields)])
    tuner = Tuner(store=store, embedder=word_embedder, method="bm25")
    (found,) = ContextNodes(tuner, "ines").retrieve("Where is the kiln note?")
    assert found.node.node_id == "n1"
    assert found.node.metadata == {"app": "Notes", "title": "Kiln", "time": "2024-05-11T20:30:00"}
    early = ContextNodes(tuner, "ines", now=lambda: datetime(2024, 5, 1))
    assert early.retrieve("Where is the kiln note?") == []


def test_tool_retriever(office: list[BaseTool], word_embedder: Embedder) -> None:
    found = tool_retriever(office, 1, embedder=word_embedder)
    assert found.retrieve("feed the cat") == [office[3]]
    assert asyncio.run(found.aretrieve("water the plants")) == [office[2]]
    assert found.retrieve("") == []


def test_custom_retriever(office: list[BaseTool], word_embedder: Embedder) -> None:
    known = Tool("order", "Order lunch.", "office", examples=("I am hungry",))
    retriever = ToolRetriever([known, Tool("eat", "I am hungry", "home")], word_embedder)
    found = tool_retriever(office, retriever=retriever, naming=lambda tool: f"{tool.name}_lunch")
    assert found.retrieve("I am hungry") == [office[1]]


def test_agent_gets_relevant_tools(office: list[BaseTool], word_embedder: Embedder) -> None:
    offered: list[list[str]] = []

    def answer(messages: Sequence[ChatMessage], **options: Any) -> ChatMessage:
        offered.append([tool.metadata.get_name() for tool in options["tools"]])
        if messages[-1].role == MessageRole.TOOL:
            return ChatMessage(role="assistant", content=f"It is {messages[-1].content}.")
        block = ToolCallBlock(tool_call_id="1", tool_name="feed_the_cat", tool_kwargs={})
        return ChatMessage(role="assistant", blocks=[block])

    async def run() -> str:
        agent = FunctionAgent(
            llm=MockFunctionCallingLLM(response_generator=answer),
            tool_retriever=tool_retriever(office, 1, embedder=word_embedder),
            streaming=False,
        )
        return str(await cast("Any", agent).run(user_msg="Feed the cat"))

    assert asyncio.run(run()) == "It is done."
    assert offered == [["feed_the_cat"], ["feed_the_cat"]]


def test_as_tool() -> None:
    def book_room(hour: int) -> str:
        """Book a meeting room."""
        return f"booked for {hour}"

    converted = as_tool(cast("Any", FunctionTool).from_defaults(book_room))
    assert converted.name == "book_room"
    assert "Book a meeting room." in converted.description
    assert converted.parameters["properties"]["hour"]["type"] == "integer"
