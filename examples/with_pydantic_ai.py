"""Pydantic AI with a scripted model."""
# ruff: noqa: T201

from desk import FUNCTIONS
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from contextune.integrations.pydantic_ai import PrepareTools, SearchStrategy


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stands for a model: it searches if it can, calls what it needs, and tells what came of it."""
    shown = [tool.name for tool in info.function_tools]
    print("    the model sees", ", ".join(shown))
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart) and last.tool_name == "file_expense":
        return ModelResponse(parts=[TextPart(str(last.content))])
    if "file_expense" in shown:
        return ModelResponse(parts=[ToolCallPart("file_expense", {"amount": 23.5, "reason": "taxi"})])
    return ModelResponse(parts=[ToolCallPart("search_tools", {"queries": ["get money back for a taxi"]})])


tools = FunctionToolset(FUNCTIONS)
print("The model searches:")
pull = Agent(
    FunctionModel(script),
    toolsets=[tools.defer_loading()],
    capabilities=[ToolSearch(strategy=SearchStrategy(k=2))],
)
print(pull.run_sync("I paid 23.50 for the taxi.").output)

print("The tools come with the prompt:")
push = Agent(FunctionModel(script), toolsets=[PrepareTools(tools, k=3)])
print(push.run_sync("I want the money for the taxi back, it was 23.50.").output)
