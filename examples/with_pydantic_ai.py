"""Pydantic AI: tool search and tool selection, on a scripted model."""
# ruff: noqa: T201

from desk import FUNCTIONS
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from contextune.integrations.pydantic_ai import PrepareTools, SearchStrategy


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A scripted model: searches for the tool unless it is offered, calls it, and repeats the result."""
    offered = [tool.name for tool in info.function_tools]
    print("    the model sees", ", ".join(offered))
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart) and last.tool_name == "file_expense":
        return ModelResponse(parts=[TextPart(str(last.content))])
    if "file_expense" in offered:
        return ModelResponse(parts=[ToolCallPart("file_expense", {"amount": 23.5, "reason": "taxi"})])
    return ModelResponse(parts=[ToolCallPart("search_tools", {"queries": ["get money back for a taxi"]})])


tools = FunctionToolset(FUNCTIONS)
print("Pull: the model searches")
pull = Agent(
    FunctionModel(script),
    toolsets=[tools.defer_loading()],
    capabilities=[ToolSearch(strategy=SearchStrategy(k=2))],
)
print(pull.run_sync("I paid 23.50 for the taxi.").output)

print("Push: the tools are selected by the prompt")
push = Agent(FunctionModel(script), toolsets=[PrepareTools(tools, k=3)])
print(push.run_sync("I want the money for the taxi back, it was 23.50.").output)
