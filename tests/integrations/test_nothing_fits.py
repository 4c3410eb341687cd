"""Where no tool fits a message, every framework's model learns it, with the words that no tool knows."""

# pyright: basic, reportArgumentType=false, reportDeprecated=false, reportUnnecessaryCast=false

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import pytest
from agents import RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message
from fastmcp import Client, FastMCP
from langchain import agents
from langchain_core.messages import ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from llama_index.core.tools import FunctionTool
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.integrations.fake_chat import ScriptedChat, call
from tests.integrations.office import SENT, RecordingChat, RecordingLLM, functions, office

from contextune import SQLiteStore, Tuner, User
from contextune.integrations import Shortlist, ToolsForTurn, UserContext, UserTurn
from contextune.integrations.anthropic import search_result
from contextune.integrations.anthropic import with_user_context as anthropic_request
from contextune.integrations.fastmcp import ContextuneSearchTransform, add_user_context
from contextune.integrations.langchain import ToolDocuments
from contextune.integrations.langchain_agents import ToolSelectionMiddleware, UserContextMiddleware
from contextune.integrations.langgraph import ContextState, create_agent, model_node, tool_lookup
from contextune.integrations.llama_index import UserContextFunctionAgent, tool_retriever
from contextune.integrations.openai import chat_with_user_context, search_output
from contextune.integrations.openai import with_user_context as responses_request
from contextune.integrations.openai_agents import UserContextAgent
from contextune.integrations.pydantic_ai import PrepareTools, SearchStrategy, UserContextCapability
from contextune.tools import ToolRetriever
from contextune.types import Tool

pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
TEXT = "Descale the espresso machine"
WHY = "No tool mentions: Descale, espresso, machine."
TOOLS = [Tool(name, about) for name, about, _ in functions()]


@pytest.fixture
def tuner(store: SQLiteStore) -> Tuner:
    store.put_user(User("ines"))
    return Tuner(store)


@pytest.fixture
def context(tuner: Tuner) -> UserContext:
    """With a threshold that refuses every message which names no tool."""
    return UserContext(tuner, "ines", tools=1, min_fit=1.0, now=lambda: datetime(2024, 5, 16, 17, 40))


@pytest.fixture(scope="module")
def retriever() -> ToolRetriever:
    return ToolRetriever(TOOLS)


def named_functions() -> list[Any]:
    tools: list[Any] = []
    for name, about, function in functions():
        function.__name__, function.__doc__ = name, about
        tools.append(function)
    return tools


def test_shortlist_says_why(context: UserContext) -> None:
    shortlist = context.shortlist(TOOLS, [UserTurn(TEXT)])
    assert shortlist.tools == ()
    assert shortlist.nothing_fits
    assert shortlist.nothing_fits.unknown_words == ("Descale", "espresso", "machine")
    assert WHY in shortlist.nothing_fits.note
    assert WHY in shortlist.prompt


def test_shortlist_of_a_message_that_a_tool_fits(context: UserContext, tuner: Tuner) -> None:
    for lenient in (UserContext(tuner, "ines", tools=1), UserContext(tuner, "ines", tools=1, min_fit=0.0)):
        shortlist = lenient.shortlist(TOOLS, [UserTurn(TEXT)])
        assert len(shortlist.tools) == 1
        assert shortlist.nothing_fits is None
    named = context.shortlist(TOOLS, [UserTurn("Call water_the_plants")])
    assert [tool.name for tool in named.tools] == ["water_the_plants"]
    assert named.nothing_fits is None


def test_few_tools_are_searched_if_there_is_a_threshold(context: UserContext) -> None:
    assert context.shortlist(TOOLS[:1], [UserTurn(TEXT)]).tools == ()


def test_earlier_turns_keep_their_tools_and_their_reason(context: UserContext) -> None:
    """Also in another process, which restores the offers."""
    conversation = [UserTurn("Call water_the_plants"), UserTurn(TEXT)]
    shortlist = context.shortlist(TOOLS, conversation)
    assert [tool.name for tool in shortlist.tools] == ["water_the_plants"]
    assert shortlist.nothing_fits
    offers = json.loads(json.dumps(context.offers(TOOLS, conversation)))
    assert [offer.get("nothing_fits", False) for offer in offers] == [False, True]
    later = [*conversation, UserTurn("Call feed_the_cat")]
    other = UserContext(context.tuner, "ines", tools=1)  # without a threshold, it would find one for TEXT
    other.restore(offers, TOOLS, later)
    restored = other.shortlist(TOOLS, later)
    assert [tool.name for tool in restored.tools] == ["water_the_plants", "feed_the_cat"]
    assert WHY in restored.prompts[1]


def test_tools_for_a_turn(retriever: ToolRetriever) -> None:
    turns = ToolsForTurn(retriever, 1, always=["feed_the_cat"], min_fit=1.0)
    shortlist = turns.shortlist(TEXT)
    assert [tool.name for tool in shortlist.tools] == ["feed_the_cat"]
    assert shortlist.nothing_fits
    assert WHY in shortlist.nothing_fits.note
    assert len(turns.tools("Call water_the_plants")) == 2
    assert isinstance(ToolsForTurn(retriever, 1).shortlist(TEXT), Shortlist)


@pytest.mark.parametrize("request_body", [anthropic_request, responses_request, chat_with_user_context])
def test_model_apis(context: UserContext, request_body: Callable[..., dict[str, Any]]) -> None:
    body = request_body([{"role": "user", "content": TEXT}], context, TOOLS)
    assert body["tools"] == []
    assert WHY in json.dumps(body)


def found(*arguments: Any, **options: Any) -> Any:
    return cast("Any", search_result(*arguments, **options))["content"]


def test_tool_search_of_anthropic(retriever: ToolRetriever) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "search_tools", "input": {"queries": [TEXT]}}
    assert WHY in found(block, retriever, min_fit=1.0)
    strict = ToolRetriever(TOOLS, min_fit=1.0)
    assert WHY in found(block, strict)
    mixed = {**block, "input": {"queries": [TEXT, "Call water_the_plants"]}}
    assert [each["tool_name"] for each in found(mixed, strict)][:1] == ["water_the_plants"]


def test_tool_search_of_openai(retriever: ToolRetriever) -> None:
    call_item = {"type": "tool_search_call", "execution": "client", "arguments": {"queries": [TEXT]}}
    assert search_output(call_item, retriever, min_fit=1.0)["tools"] == []


def test_pydantic_ai(context: UserContext) -> None:
    sent: list[tuple[list[str], str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        names = [tool.name for tool in info.function_tools]
        sent.append((names, ModelMessagesTypeAdapter.dump_json(messages).decode()))
        return ModelResponse(parts=[TextPart("Done.")])

    model = FunctionModel(answer)
    Agent(model, tools=named_functions(), capabilities=[UserContextCapability(context)]).run_sync(TEXT)
    Agent(model, toolsets=[PrepareTools(FunctionToolset(named_functions()), k=1, min_fit=1.0)]).run_sync(TEXT)
    assert [names for names, _ in sent] == [[], []]
    assert WHY in sent[0][1]


def test_pydantic_ai_search() -> None:
    returned: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("search_tools", {"queries": [TEXT]})])
        returned.append(ModelMessagesTypeAdapter.dump_json(messages[-1:]).decode())
        return ModelResponse(parts=[TextPart("Done.")])

    toolset = FunctionToolset(named_functions()).defer_loading()
    search = ToolSearch(strategy=SearchStrategy(min_fit=1.0))
    Agent(FunctionModel(answer), toolsets=[toolset], capabilities=[search]).run_sync(TEXT)
    assert '"discovered_tools":[]' in returned[0]


def test_langchain(context: UserContext) -> None:
    model = RecordingChat(answers=[], offered=[], sent=[])
    for middleware in (UserContextMiddleware(context), ToolSelectionMiddleware(k=1, min_fit=1.0)):
        agent = cast("Any", agents).create_agent(model, office(), middleware=[middleware])
        agent.invoke({"messages": [("user", TEXT)]})
    assert model.offered == []  # bound to no tools
    assert WHY in str(model.sent[0])
    assert ToolDocuments(tools=ToolRetriever(TOOLS, min_fit=1.0)).invoke(TEXT) == []


def test_langgraph(context: UserContext) -> None:
    model = RecordingChat(answers=[], offered=[], sent=[])
    graph = StateGraph(ContextState)
    graph.add_node("model", model_node(model, office(), context, offers="state"))
    graph.add_edge(START, "model")
    state = cast("Any", graph).compile().invoke({"messages": [("user", TEXT)]})
    assert model.offered == [[]]
    assert WHY in str(model.sent[0])
    assert state["offers"][0]["nothing_fits"]


def test_langgraph_bigtool() -> None:
    registry = {tool.name: tool for tool in office()}
    assert tool_lookup(registry, min_fit=1.0)(TEXT) == []
    model = ScriptedChat(answers=[call("retrieve_tools", query=TEXT)])
    agent = create_agent(model, registry, min_fit=1.0).compile(store=InMemoryStore())
    messages = agent.invoke(cast("Any", {"messages": [("user", TEXT)]}))["messages"]
    assert [message.content for message in messages if isinstance(message, ToolMessage)] == [
        "Available tools: []"
    ]


def test_llama_index(context: UserContext) -> None:
    SENT.clear()
    tools = [
        FunctionTool.from_defaults(run, name=name, description=about) for name, about, run in functions()
    ]
    agent = UserContextFunctionAgent(llm=RecordingLLM(), tools=cast("Any", tools), user_context=context)
    asyncio.run(cast("Any", _run(agent)))
    assert SENT[0][0] == []
    assert WHY in json.dumps(SENT[0][1])
    assert tool_retriever(tools, min_fit=1.0).retrieve(TEXT) == []


async def _run(agent: UserContextFunctionAgent) -> object:
    return await agent.run(user_msg=TEXT)


def test_openai_agents(context: UserContext) -> None:
    model = ScriptedModel([[assistant_message("Done.")]])
    tools = [
        function_tool(run, name_override=name, description_override=about) for name, about, run in functions()
    ]
    agent = UserContextAgent[None](name="Desk", model=model, tools=[*tools], user_context=context)
    asyncio.run(cast("Any", Runner.run(agent, TEXT, run_config=RunConfig(tracing_disabled=True))))
    (sent,) = model.calls
    assert sent.tools == []
    assert WHY in json.dumps(sent.input)


def test_fastmcp(context: UserContext) -> None:
    def server(name: str) -> FastMCP[Any]:
        made: FastMCP[Any] = FastMCP(name)
        for function_name, about, function in functions():
            made.tool(function, name=function_name, description=about)
        return made

    alone, personal = server("alone"), server("personal")
    alone.add_transform(ContextuneSearchTransform(min_fit=1.0))
    add_user_context(personal, context, search=True)

    async def search(served: FastMCP[Any]) -> str:
        async with Client(served) as client:
            return str((await client.call_tool("search_tools", {"query": TEXT})).data)

    for served in (alone, personal):
        assert WHY in asyncio.run(search(served))


@pytest.mark.usefixtures("claude_sdk")
def test_claude_agent(context: UserContext) -> None:
    from contextune.integrations.claude_agent import UserContextHooks

    hooks = UserContextHooks(context, TOOLS, "desk")

    def added(text: str) -> str:
        output = asyncio.run(hooks.on_prompt({"prompt": text, "session_id": "s1"}, None, None))
        return output["hookSpecificOutput"]["additionalContext"]

    assert added("Call water_the_plants").endswith(
        "Tools that may serve the message: mcp__desk__water_the_plants"
    )
    assert WHY in added(TEXT)
    assert "mcp__desk" not in added(TEXT)
