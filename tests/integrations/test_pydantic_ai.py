"""Pydantic AI agents with a scripted model: tool search and tool selection."""

from collections.abc import Callable

import pytest
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import ToolDefinition

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.integrations.pydantic_ai import PrepareTools, SearchStrategy, as_tool
from contextune.tools import ToolRetriever
from contextune.types import Annotations, Tool

ACTIONS = ["send an email", "book a room", "order lunch", "water the plants", "feed the cat", "call a taxi"]


@pytest.fixture
def office() -> FunctionToolset[object]:
    toolset: FunctionToolset[object] = FunctionToolset()
    for action in ACTIONS:
        toolset.add_function(
            make_function(action), name=action.replace(" ", "_"), description=f"To {action}."
        )
    return toolset


def make_function(action: str) -> Callable[[], str]:
    return lambda: f"did {action}"


class ScriptedModel:
    """Takes the steps of the test, and records the tools it is offered."""

    def __init__(self, *steps: ToolCallPart | TextPart) -> None:
        self.steps = list(steps)
        self.offered: list[list[str]] = []
        self.found: list[list[str]] = []

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append([tool.name for tool in info.function_tools])
        for part in messages[-1].parts:
            if isinstance(part, ToolSearchReturnPart):
                self.found.append([match["name"] for match in part.discovered_tools])
        return ModelResponse(parts=[self.steps.pop(0) if self.steps else TextPart("done")])


def test_model_searches_deferred_tools(office: FunctionToolset[object], word_embedder: Embedder) -> None:
    model = ScriptedModel(
        ToolCallPart("search_tools", {"queries": ["feed a cat", "order some lunch"]}),
        ToolCallPart("feed_the_cat", {}),
    )
    agent = Agent(
        FunctionModel(model.answer),
        toolsets=[office.defer_loading()],
        capabilities=[ToolSearch(strategy=SearchStrategy(k=2, embedder=word_embedder))],
    )
    result = agent.run_sync("The cat looks at me")
    assert model.found == [["feed_the_cat", "order_lunch"]]
    assert model.offered[0] == ["search_tools"]
    assert set(model.offered[1]) == {"search_tools", "feed_the_cat", "order_lunch"}
    results = [
        part.content
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert results[-1] == "did feed the cat"


def test_custom_retriever(office: FunctionToolset[object], word_embedder: Embedder) -> None:
    catalogue = [
        Tool(action.replace(" ", "_"), f"To {action}.", "office", examples=(f"please {action}",))
        for action in ACTIONS
    ]
    retriever = ToolRetriever([*catalogue, Tool("feed_the_dog", "To feed the dog.", "home")], word_embedder)
    model = ScriptedModel(ToolCallPart("search_tools", {"queries": ["feed the dog"]}))
    strategy = SearchStrategy(retriever, k=2)
    agent = Agent(
        FunctionModel(model.answer),
        toolsets=[office.defer_loading()],
        capabilities=[ToolSearch(strategy=strategy)],
    )
    agent.run_sync("Woof")
    assert model.found[0][0] == "feed_the_cat"  # the agent has no tool for dogs


def test_retriever_without_the_tools_is_an_error(
    office: FunctionToolset[object], retriever: ToolRetriever
) -> None:
    model = ScriptedModel(ToolCallPart("search_tools", {"queries": ["cat"]}))
    strategy = SearchStrategy(retriever, naming=lambda tool: tool.id)
    agent = Agent(
        FunctionModel(model.answer),
        toolsets=[office.prefixed("x").defer_loading()],
        capabilities=[ToolSearch(strategy=strategy)],
    )
    with pytest.raises(InvalidDataError, match="'x_send_an_email'"):
        agent.run_sync("Meow")


def test_run_gets_tools_relevant_to_the_prompt(
    office: FunctionToolset[object], word_embedder: Embedder
) -> None:
    model = ScriptedModel(
        ToolCallPart("feed_the_cat", {}), TextPart("fed"), TextPart("watered"), TextPart("again")
    )
    narrowed = PrepareTools(office, 1, always=["order_lunch"], embedder=word_embedder)
    agent = Agent(FunctionModel(model.answer), toolsets=[narrowed])
    first = agent.run_sync("Feed the cat")
    second = agent.run_sync("Water the plants", message_history=first.all_messages())
    agent.run_sync("Feed the cat", message_history=second.all_messages())
    assert model.offered == [
        ["order_lunch", "feed_the_cat"],
        ["order_lunch", "feed_the_cat"],
        ["order_lunch", "feed_the_cat", "water_the_plants"],
        ["order_lunch", "feed_the_cat", "water_the_plants"],
    ]


def test_other_tools_can_be_searched(office: FunctionToolset[object], word_embedder: Embedder) -> None:
    model = ScriptedModel(
        ToolCallPart("search_tools", {"queries": ["call a taxi"]}), ToolCallPart("call_a_taxi", {})
    )
    narrowed = PrepareTools(office, 1, defer=True, embedder=word_embedder)
    agent = Agent(
        FunctionModel(model.answer),
        toolsets=[narrowed],
        capabilities=[ToolSearch(strategy=SearchStrategy(k=1, embedder=word_embedder))],
    )
    agent.run_sync("Feed the cat")
    assert model.offered[0] == ["feed_the_cat", "search_tools"]
    assert "call_a_taxi" in model.offered[1]


def test_prompt_without_text_gets_all_tools(office: FunctionToolset[object], word_embedder: Embedder) -> None:
    model = ScriptedModel()
    agent = Agent(FunctionModel(model.answer), toolsets=[PrepareTools(office, 1, embedder=word_embedder)])
    agent.run_sync([ImageUrl("https://example.org/cat.png")])
    agent.run_sync(["Feed the cat", ImageUrl("https://example.org/cat.png")])
    assert [len(offered) for offered in model.offered] == [len(ACTIONS), 1]


def test_invalid_settings_are_errors(office: FunctionToolset[object]) -> None:
    with pytest.raises(InvalidRequestError, match="keep=3 is too small"):
        PrepareTools(office, keep=3)
    agent = Agent(FunctionModel(ScriptedModel().answer), toolsets=[PrepareTools(office, always=["sing"])])
    with pytest.raises(InvalidRequestError, match="no such tool: 'sing'"):
        agent.run_sync("Sing")


def test_annotations_are_kept() -> None:
    hints = {"readOnlyHint": True, "destructiveHint": None, "openWorldHint": "perhaps"}
    definition = ToolDefinition(name="look", description=None, metadata={"annotations": hints})
    assert as_tool(definition) == Tool(
        "look", "", parameters={"type": "object", "properties": {}}, annotations=Annotations(read_only=True)
    )
