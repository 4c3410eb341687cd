"""LangChain retrievers over tools and context, and agent middleware."""

import asyncio
from datetime import datetime
from typing import Any, cast

import pytest
from langchain import agents
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool, tool
from tests.integrations.fake_chat import ScriptedChat, call

from contextune import Item, SQLiteStore, Tuner, User
from contextune.embed import Embedder
from contextune.errors import InvalidRequestError
from contextune.integrations.langchain import ContextDocuments, ToolDocuments, as_tool
from contextune.integrations.langchain_agents import ToolSelectionMiddleware
from contextune.tools import ToolRetriever

create_agent = cast("Any", agents).create_agent
ACTIONS = ["send an email", "book a room", "order lunch", "water the plants", "feed the cat"]


@pytest.fixture
def tuner(store: SQLiteStore, word_embedder: Embedder) -> Tuner:
    for user in ("ines", "rui"):
        store.put_user(User(user))
        fields = {"title": f"Kiln of {user}", "content": "cone six", "modified": "2024-05-11T20:30"}
        store.put_items(user, [Item(f"n-{user}", "Notes", fields)])
    return Tuner(store=store, embedder=word_embedder, method="bm25")


@pytest.fixture
def office() -> list[BaseTool]:
    return [
        StructuredTool.from_function(
            lambda: "done", name=method.replace(" ", "_"), description=f"To {method}."
        )
        for method in ACTIONS
    ]


def test_tools_as_documents(retriever: ToolRetriever) -> None:
    documents = ToolDocuments(tools=retriever, k=2)
    chain = documents | RunnableLambda[Any, list[str | None]](
        lambda found: [document.id for document in found]
    )
    found = chain.invoke("Order lunch for the office")
    assert len(found) == 2
    assert found[0] == "order_lunch"
    assert documents.invoke(" ") == []
    (first, _) = asyncio.run(documents.ainvoke("Send an email to somebody"))
    assert first.metadata["name"] == "send_email"
    assert first.metadata["app"] == "mail"
    assert first.metadata["score"] > 0
    assert "Send an email" in first.page_content


def test_context_as_documents(tuner: Tuner) -> None:
    documents = ContextDocuments(tuner=tuner, user="ines", k=1)
    (found,) = documents.invoke("Where is the kiln note?")
    assert found.id == "n-ines"
    assert found.metadata["title"] == "Kiln of ines"
    assert found.metadata["time"] == "2024-05-11T20:30:00"
    assert "cone six" in found.page_content
    assert documents.invoke("") == []


def test_options_are_passed_with_the_request(tuner: Tuner) -> None:
    documents = cast("Any", ContextDocuments(tuner=tuner, user="ines"))
    assert [found.id for found in documents.invoke("kiln", user="rui")] == ["n-rui"]
    assert [found.id for found in asyncio.run(documents.ainvoke("kiln", user="rui"))] == ["n-rui"]
    assert documents.invoke("kiln", time=datetime(2024, 5, 1, 12, 0)) == []  # before the note was written


def test_missing_user_is_an_error(tuner: Tuner) -> None:
    with pytest.raises(InvalidRequestError, match="no user"):
        ContextDocuments(tuner=tuner).invoke("kiln")


@pytest.mark.parametrize("method", ["invoke", "ainvoke"])
def test_agent_gets_tools_relevant_to_the_conversation(
    office: list[BaseTool], word_embedder: Embedder, method: str
) -> None:
    model = ScriptedChat(answers=[call("feed_the_cat")], offered=[])
    middleware = ToolSelectionMiddleware(k=1, always=["order_lunch"], embedder=word_embedder)
    agent = create_agent(model, office, middleware=[middleware])
    messages: list[Any] = [HumanMessage("Feed the cat")]
    for text in ("Water the plants", "Feed the cat"):
        state = {"messages": messages}
        done = agent.invoke(state) if method == "invoke" else asyncio.run(agent.ainvoke(state))
        messages = [*done["messages"], HumanMessage(text)]
    assert model.offered == [
        ["order_lunch", "feed_the_cat"],
        ["order_lunch", "feed_the_cat"],
        ["order_lunch", "feed_the_cat", "water_the_plants"],
    ]


def test_invalid_settings_are_errors(office: list[BaseTool]) -> None:
    with pytest.raises(InvalidRequestError, match="keep=3 is too small"):
        ToolSelectionMiddleware(keep=3)
    middleware = ToolSelectionMiddleware(always=["sing"])
    agent = create_agent(ScriptedChat(answers=[], offered=[]), office, middleware=[middleware])
    with pytest.raises(InvalidRequestError, match="no such tool: 'sing'"):
        agent.invoke({"messages": [HumanMessage("Sing")]})


def test_as_tool() -> None:
    @tool
    def book_room(hour: int) -> str:
        """Book a meeting room."""
        return f"booked for {hour}"

    converted = as_tool(book_room)
    assert (converted.name, converted.description) == ("book_room", "Book a meeting room.")
    assert converted.parameters["properties"] == {"hour": {"type": "integer"}}
