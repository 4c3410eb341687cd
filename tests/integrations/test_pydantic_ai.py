"""Pydantic AI's own agents, with a scripted model, search and narrow their tools by Contextune."""

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

WAYS = ["send an email", "book a room", "order lunch", "water the plants", "feed the cat", "call a taxi"]


@pytest.fixture
def office() -> FunctionToolset[object]:
    toolset: FunctionToolset[object] = FunctionToolset()
    for way in WAYS:
        toolset.add_function(doing(way), name=way.replace(" ", "_"), description=f"To {way}.")
    return toolset


def doing(way: str) -> Callable[[], str]:
    return lambda: f"did {way}"


class Model:
    """Does what the test says in each step, and writes down which tools it was shown."""

    def __init__(self, *steps: ToolCallPart | TextPart) -> None:
        self.steps = list(steps)
        self.shown: list[list[str]] = []
        self.found: list[list[str]] = []

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.shown.append([tool.name for tool in info.function_tools])
        for part in messages[-1].parts:
            if isinstance(part, ToolSearchReturnPart):
                self.found.append([match["name"] for match in part.discovered_tools])
        return ModelResponse(parts=[self.steps.pop(0) if self.steps else TextPart("done")])


def test_the_model_searches(office: FunctionToolset[object], word_embedder: Embedder) -> None:
    model = Model(
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
    assert model.shown[0] == ["search_tools"]
    assert set(model.shown[1]) == {"search_tools", "feed_the_cat", "order_lunch"}
    results = [
        part.content
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert results[-1] == "did feed the cat"


def test_a_retriever_of_ones_own(office: FunctionToolset[object], word_embedder: Embedder) -> None:
    catalogue = [
        Tool(way.replace(" ", "_"), f"To {way}.", "office", examples=(f"please {way}",)) for way in WAYS
    ]
    retriever = ToolRetriever([*catalogue, Tool("feed_the_dog", "To feed the dog.", "home")], word_embedder)
    model = Model(ToolCallPart("search_tools", {"queries": ["feed the dog"]}))
    strategy = SearchStrategy(retriever, k=2)
    agent = Agent(
        FunctionModel(model.answer),
        toolsets=[office.defer_loading()],
        capabilities=[ToolSearch(strategy=strategy)],
    )
    agent.run_sync("Woof")
    assert model.found[0][0] == "feed_the_cat"  # the dog is none of the agent's


def test_a_retriever_of_something_else(office: FunctionToolset[object], retriever: ToolRetriever) -> None:
    model = Model(ToolCallPart("search_tools", {"queries": ["cat"]}))
    strategy = SearchStrategy(retriever, naming=lambda tool: tool.id)
    agent = Agent(
        FunctionModel(model.answer),
        toolsets=[office.prefixed("x").defer_loading()],
        capabilities=[ToolSearch(strategy=strategy)],
    )
    with pytest.raises(InvalidDataError, match="'x_send_an_email'"):
        agent.run_sync("Meow")


def test_a_run_sees_what_its_prompt_calls_for(
    office: FunctionToolset[object], word_embedder: Embedder
) -> None:
    model = Model(ToolCallPart("feed_the_cat", {}), TextPart("fed"), TextPart("watered"), TextPart("again"))
    narrowed = PrepareTools(office, 1, always=["order_lunch"], embedder=word_embedder)
    agent = Agent(FunctionModel(model.answer), toolsets=[narrowed])
    first = agent.run_sync("Feed the cat")
    second = agent.run_sync("Water the plants", message_history=first.all_messages())
    agent.run_sync("Feed the cat", message_history=second.all_messages())
    assert model.shown == [
        ["order_lunch", "feed_the_cat"],
        ["order_lunch", "feed_the_cat"],
        ["order_lunch", "feed_the_cat", "water_the_plants"],
        ["order_lunch", "feed_the_cat", "water_the_plants"],
    ]


def test_the_rest_is_left_to_search(office: FunctionToolset[object], word_embedder: Embedder) -> None:
    model = Model(ToolCallPart("search_tools", {"queries": ["call a taxi"]}), ToolCallPart("call_a_taxi", {}))
    narrowed = PrepareTools(office, 1, defer=True, embedder=word_embedder)
    agent = Agent(
        FunctionModel(model.answer),
        toolsets=[narrowed],
        capabilities=[ToolSearch(strategy=SearchStrategy(k=1, embedder=word_embedder))],
    )
    agent.run_sync("Feed the cat")
    assert model.shown[0] == ["feed_the_cat", "search_tools"]
    assert "call_a_taxi" in model.shown[1]


def test_with_nothing_to_go_by_all_are_offered(
    office: FunctionToolset[object], word_embedder: Embedder
) -> None:
    model = Model()
    agent = Agent(FunctionModel(model.answer), toolsets=[PrepareTools(office, 1, embedder=word_embedder)])
    agent.run_sync([ImageUrl("https://example.org/cat.png")])
    agent.run_sync(["Feed the cat", ImageUrl("https://example.org/cat.png")])
    assert [len(shown) for shown in model.shown] == [len(WAYS), 1]


def test_what_does_not_go_together_is_refused(office: FunctionToolset[object]) -> None:
    with pytest.raises(InvalidRequestError, match="keep=3 is too few"):
        PrepareTools(office, keep=3)
    agent = Agent(FunctionModel(Model().answer), toolsets=[PrepareTools(office, always=["sing"])])
    with pytest.raises(InvalidRequestError, match="no tool 'sing'"):
        agent.run_sync("Sing")


def test_what_a_server_says_of_a_tool_is_kept() -> None:
    hints = {"readOnlyHint": True, "destructiveHint": None, "openWorldHint": "perhaps"}
    definition = ToolDefinition(name="look", description=None, metadata={"annotations": hints})
    assert as_tool(definition) == Tool(
        "look", "", parameters={"type": "object", "properties": {}}, annotations=Annotations(read_only=True)
    )
