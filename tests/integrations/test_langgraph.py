"""A `langgraph-bigtool` agent with a scripted model and Contextune's lookup."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import langgraph_bigtool
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from tests.integrations.fake_chat import ScriptedChat, call

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.integrations.langgraph import create_agent, tool_lookup
from contextune.tools import ToolRetriever
from contextune.types import Tool


@tool
def send_email(to: str) -> str:
    """Send an email to somebody."""
    return f"sent to {to}"


def order_lunch(dish: str) -> str:
    """Order lunch for the office."""
    return f"{dish} is on its method"


@tool
def water_plants() -> str:
    """Water the plants."""
    return "watered"


REGISTRY: dict[str, BaseTool | Callable[..., Any]] = {"1": send_email, "2": order_lunch, "3": water_plants}
HUNGRY = {"messages": [("user", "I am hungry")]}


def results(state: dict[str, Any]) -> list[str]:
    return [str(message.content) for message in state["messages"] if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("method", ["invoke", "ainvoke"])
def test_agent_retrieves_and_calls_a_tool(word_embedder: Embedder, method: str) -> None:
    model = ScriptedChat(
        answers=[call("retrieve_tools", query="order lunch"), call("order_lunch", dish="soup")], offered=[]
    )
    agent = cast("Any", create_agent(model, REGISTRY, k=1, embedder=word_embedder)).compile()
    state = agent.invoke(HUNGRY) if method == "invoke" else asyncio.run(agent.ainvoke(HUNGRY))
    assert model.offered == [["retrieve_tools"], *[["retrieve_tools", "order_lunch"]] * 2]
    assert results(state) == ["Available tools: ['order_lunch']", "soup is on its method"]


def test_lookup_with_bigtool(word_embedder: Embedder) -> None:
    lookup = tool_lookup(REGISTRY, k=2, embedder=word_embedder)
    model = ScriptedChat(answers=[call("retrieve_tools", query="water the plants")], offered=[])
    make = cast("Any", langgraph_bigtool).create_agent
    state = make(model, REGISTRY, retrieve_tools_function=lookup).compile().invoke(HUNGRY)
    assert results(state)[0].startswith("Available tools: ['water_plants', ")
    assert lookup("send an email")[0] == "1"
    assert lookup(" ") == []


def test_custom_retriever(word_embedder: Embedder) -> None:
    known = Tool("order_lunch", "Order lunch.", "office", examples=("I am hungry",))
    retriever = ToolRetriever([known, Tool("eat", "I am hungry", "home")], word_embedder)
    assert tool_lookup(REGISTRY, retriever)("I am hungry") == ["2"]


def test_duplicate_names_are_errors() -> None:
    with pytest.raises(InvalidDataError, match="'1' and '4' have the same name, 'send_email'"):
        tool_lookup({**REGISTRY, "4": send_email})
