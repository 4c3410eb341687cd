"""What a framework sends in a turn begins with what it sent in the turn before, byte by byte."""

# pyright: basic, reportArgumentType=false, reportDeprecated=false, reportUnnecessaryCast=false

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, cast

import pytest
from agents import RunConfig, Runner, SQLiteSession, function_tool
from agents.testing import ScriptedModel, assistant_message
from fastmcp import Client, FastMCP
from langchain import agents
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from pydantic import TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.integrations.office import SENT, RecordingChat, RecordingLLM, functions, office

from contextune import Item, SQLiteStore, Tuner, User
from contextune.embed import Embedder
from contextune.errors import InvalidRequestError
from contextune.integrations import ToolsForTurn, UserContext
from contextune.integrations.anthropic import with_user_context as anthropic_request
from contextune.integrations.fastmcp import add_user_context
from contextune.integrations.langchain_agents import ToolSelectionMiddleware, UserContextMiddleware
from contextune.integrations.langgraph import ContextState, OfferPlace, model_node
from contextune.integrations.llama_index import UserContextFunctionAgent
from contextune.integrations.openai import chat_with_user_context, namespaced_tools, tool_by_call
from contextune.integrations.openai import with_user_context as responses_request
from contextune.integrations.openai_agents import UserContextAgent
from contextune.integrations.pydantic_ai import UserContextCapability
from contextune.tools import ToolRetriever
from contextune.types import Tool

pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
TURNS = ["What about the kiln slots?", "When is the glaze workshop?", "Feed the cat", "Water the plants"]
FENCE = "<user_context>"


@pytest.fixture
def tuner(store: SQLiteStore, word_embedder: Embedder) -> Tuner:
    store.put_user(User("ines"))
    mail = Item.mail(id="m1", subject="Kiln slots", author="marta@example.org", date="2024-05-16T09:00")
    event = Item.event(id="c1", name="Glaze workshop", start="2024-05-17T14:00")
    store.put_items("ines", [mail, event])
    return Tuner(store, embedder=word_embedder)


@pytest.fixture
def new_context(tuner: Tuner) -> Callable[..., UserContext]:
    """Makes contexts of one user, with a clock that goes on with each message."""
    minutes = iter(range(100_000))

    def make(**options: Any) -> UserContext:
        def now() -> datetime:
            return datetime(2024, 5, 16, 17, 40) + timedelta(minutes=next(minutes))

        return UserContext(tuner, "ines", **{"tools": 1, "mode": "frozen", "now": now, **options})

    return make


def check(sent: Sequence[tuple[Any, Sequence[Any]]]) -> None:
    """Each turn has the same tools, and its messages begin with those of the turn before."""
    assert len(sent) == len(TURNS)
    assert len({json.dumps(tools) for tools, _ in sent}) == 1
    for (_, before), (_, after) in pairwise(sent):
        assert len(after) > len(before)
        assert json.dumps(after[: len(before)]) == json.dumps(before)
    texts = [json.dumps(message) for message in sent[-1][1]]
    fenced = [text for text in texts if FENCE in text]
    assert len(fenced) >= 2  # in the first two turns
    assert all('"system"' not in text for text in fenced)


def chat(
    request: Callable[..., dict[str, Any]], key: str, context: UserContext, tools: Sequence[Tool]
) -> list[tuple[Any, Any]]:
    messages: list[Any] = []
    sent: list[tuple[Any, Any]] = []
    for text in TURNS:
        messages.append({"role": "user", "content": text})
        body = request(messages, context, tools)
        sent.append((body["tools"], body[key]))
        messages.append({"role": "assistant", "content": "Done."})
    assert FENCE not in json.dumps(messages)
    return sent


@pytest.mark.parametrize(
    ("request_body", "key"),
    [(anthropic_request, "messages"), (responses_request, "input"), (chat_with_user_context, "messages")],
)
def test_model_apis(
    new_context: Callable[..., UserContext],
    tools: list[Tool],
    request_body: Callable[..., dict[str, Any]],
    key: str,
) -> None:
    check(chat(request_body, key, new_context(), tools))


def test_tools_are_appended_and_none_is_dropped(new_context: Callable[..., UserContext]) -> None:
    tools = [Tool(name, about) for name, about, _ in functions()]
    sent = chat(responses_request, "input", new_context(mode="append", keep=2), tools)
    names = [[tool["name"] for tool in offered] for offered, _ in sent]
    assert len(names[0]) == 1
    assert len(names[-1]) == 2
    for before, after in pairwise(names):
        assert after[: len(before)] == before


def test_anthropic_results_of_tools_stay_first(
    new_context: Callable[..., UserContext], tools: list[Tool]
) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    call = {"type": "tool_use", "id": "t1", "name": "order_lunch", "input": {}}
    said = {"type": "text", "text": TURNS[0]}
    messages: list[Any] = [
        {"role": "user", "content": "Order lunch"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, said]},
    ]
    sent = anthropic_request(messages, new_context(), tools)["messages"]
    first, prompt, last = sent[-1]["content"]
    assert (first, last) == (result, said)
    assert prompt["text"].startswith(FENCE)


def test_langchain(new_context: Callable[..., UserContext]) -> None:
    model = RecordingChat(answers=[], offered=[], sent=[])
    agent = cast("Any", agents).create_agent(
        model, office(), system_prompt="Help.", middleware=[UserContextMiddleware(new_context())]
    )
    messages: list[Any] = []
    for text in TURNS:
        messages = agent.invoke({"messages": [*messages, ("user", text)]})["messages"]
    check([*zip(model.offered, model.sent, strict=True)])


def test_langchain_tools_alone(word_embedder: Embedder) -> None:
    offered: dict[str, list[list[str]]] = {}
    for mode in ("append", "frozen"):
        model = RecordingChat(answers=[], offered=[], sent=[])
        selection = ToolSelectionMiddleware(k=1, keep=2, mode=cast("Any", mode), embedder=word_embedder)
        agent = cast("Any", agents).create_agent(model, office(), middleware=[selection])
        messages: list[Any] = []
        for text in ("Order lunch", "Feed the cat", "Water the plants"):
            messages = agent.invoke({"messages": [*messages, ("user", text)]})["messages"]
        offered[mode] = model.offered
    assert offered["append"] == [["order_lunch"], *[["order_lunch", "feed_the_cat"]] * 2]
    assert offered["frozen"] == [["order_lunch"]] * 3


@pytest.mark.parametrize("place", [None, "state", "store"])
def test_langgraph(new_context: Callable[..., UserContext], place: OfferPlace | None) -> None:
    model = RecordingChat(answers=[], offered=[], sent=[])
    saver, store = InMemorySaver(), InMemoryStore()
    context = new_context()
    for text in TURNS:
        if place:
            context = new_context()  # another process
        graph = StateGraph(ContextState if place == "state" else MessagesState)
        graph.add_node("model", model_node(model, office(), context, offers=place))
        graph.add_edge(START, "model")
        compiled = cast("Any", graph).compile(checkpointer=saver, store=store)
        compiled.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "1"}})
    check([*zip(model.offered, model.sent, strict=True)])


def test_langgraph_store_needs_a_thread(new_context: Callable[..., UserContext]) -> None:
    model = RecordingChat(answers=[], offered=[], sent=[])
    graph = StateGraph(MessagesState)
    graph.add_node("model", model_node(model, office(), new_context(), offers="store"))
    graph.add_edge(START, "model")
    with pytest.raises(InvalidRequestError, match="thread_id"):
        cast("Any", graph).compile(store=InMemoryStore()).invoke({"messages": [("user", "Hello")]})


def test_pydantic_ai(new_context: Callable[..., UserContext]) -> None:
    sent: list[tuple[Any, Any]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        data = json.loads(ModelMessagesTypeAdapter.dump_json(messages))
        parts = [{k: v for k, v in part.items() if k != "run_id"} for each in data for part in each["parts"]]
        sent.append(([tool.name for tool in info.function_tools], parts))
        return ModelResponse(parts=[TextPart("Done.")])

    tools: list[Any] = []
    for name, about, call in functions():
        call.__name__, call.__doc__ = name, about
        tools.append(call)
    agent = Agent(FunctionModel(answer), tools=tools, capabilities=[UserContextCapability(new_context())])
    history: list[ModelMessage] = []
    for text in TURNS:
        history = agent.run_sync(text, message_history=history).all_messages()
    assert FENCE not in ModelMessagesTypeAdapter.dump_json(history).decode()
    check(sent)


def test_llama_index(new_context: Callable[..., UserContext]) -> None:
    SENT.clear()
    tools = [
        FunctionTool.from_defaults(call, name=name, description=about) for name, about, call in functions()
    ]
    agent = UserContextFunctionAgent(
        llm=RecordingLLM(), tools=cast("Any", tools), user_context=new_context(), system_prompt="Help."
    )
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)

    async def session() -> None:
        for text in TURNS:
            await agent.run(user_msg=text, memory=memory)

    asyncio.run(session())
    assert all(FENCE not in str(message.content) for message in cast("list[ChatMessage]", memory.get_all()))
    check(SENT)


@pytest.mark.parametrize("with_session", [False, True])
def test_openai_agents(new_context: Callable[..., UserContext], *, with_session: bool) -> None:
    model = ScriptedModel([[assistant_message("Done.")] for _ in TURNS])
    tools = [
        function_tool(call, name_override=name, description_override=about)
        for name, about, call in functions()
    ]
    agent = UserContextAgent[None](
        name="Desk", instructions="Help.", model=model, tools=[*tools], user_context=new_context()
    )
    session = SQLiteSession("1") if with_session else None
    items: list[Any] = []

    async def run() -> None:
        nonlocal items
        for text in TURNS:
            said: Any = text if session else [*items, {"role": "user", "content": text}]
            result = await Runner.run(
                agent, said, session=session, run_config=RunConfig(tracing_disabled=True)
            )
            items = [*result.to_input_list()]
        if session:
            items = [*await session.get_items()]

    asyncio.run(run())
    assert FENCE not in json.dumps(items)
    assert {call.system_instructions for call in model.calls} == {"Help."}
    check([([tool.name for tool in call.tools], call.input) for call in model.calls])


def test_fastmcp_lists_the_same_tools_in_every_turn(new_context: Callable[..., UserContext]) -> None:
    server: FastMCP[Any] = FastMCP("office")
    for name, about, call in functions():
        server.tool(call, name=name, description=about)
    add_user_context(server, new_context(), search=True)

    async def session() -> list[str]:
        async with Client(server) as client:
            listed: list[str] = []
            for text in TURNS:
                listed.append(
                    json.dumps([tool.model_dump(mode="json") for tool in await client.list_tools()])
                )
                found = await client.call_tool("find_context", {"message": text})
                assert FENCE in str(found.data) or found.data == "Nothing was found."
                await client.call_tool("search_tools", {"query": text})
            return listed

    assert len(set(asyncio.run(session()))) == 1


def test_modes_of_tools_for_a_turn(retriever: ToolRetriever) -> None:
    frozen = ToolsForTurn(retriever, 1, mode="frozen")
    first = frozen.tools("Send an email")
    assert frozen.tools("Order lunch") == first
    appended = ToolsForTurn(retriever, 1, keep=2, mode="append")
    appended.tools("Send an email")
    assert [tool.id for tool in appended.tools("Order lunch")] == ["mail/send_email", "order_lunch"]
    assert [tool.id for tool in appended.tools("Water the plants")] == ["mail/send_email", "order_lunch"]
    with pytest.raises(InvalidRequestError, match="unknown mode 'never'"):
        ToolsForTurn(retriever, mode=cast("Any", "never"))


def test_openai_namespaces(tools: list[Tool]) -> None:
    from openai.types.responses import ToolParam

    params = TypeAdapter(list[ToolParam]).validate_python(namespaced_tools(tools, defer=True))
    names = {
        param["name"]: [tool["name"] for tool in param["tools"]]
        for param in cast("list[Any]", namespaced_tools(tools))
        if param["type"] == "namespace"
    }
    assert len(params) == 4
    assert names == {
        "mail": ["send_email", "search", "archive_email"],
        "rooms": ["book_room", "search", "cancel_booking"],
    }
    call = {"type": "function_call", "namespace": "rooms", "name": "search"}
    assert tool_by_call(call, tools).id == "rooms/search"
    assert tool_by_call({"type": "function_call", "name": "water_plants"}, tools).id == "water plants"


def test_without_repeating_items_only_the_last_message_has_them(
    new_context: Callable[..., UserContext], tools: list[Tool]
) -> None:
    sent = chat(responses_request, "input", new_context(repeat=False), tools)
    assert [FENCE in json.dumps(message) for message in sent[1][1]] == [False, False, True, False]
