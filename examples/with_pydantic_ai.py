"""Pydantic AI: an assistant with context, tools and feedback, on a scripted model."""
# ruff: noqa: T201

from desk import FUNCTIONS
from desk_user import REQUEST, learned, user_context
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted_model import answer_mail

from contextune.integrations.pydantic_ai import UserContextCapability


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A scripted model: answers a mail and repeats the result."""
    parts = [part for message in messages for part in message.parts]
    if isinstance(parts[-1], ToolReturnPart):
        return ModelResponse(parts=[TextPart(str(parts[-1].content))])
    prompt = "\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    call = answer_mail(prompt, [tool.name for tool in info.function_tools])
    return ModelResponse(parts=[ToolCallPart(call.name, call.arguments)])


context = user_context()
agent = Agent(FunctionModel(script), tools=FUNCTIONS, capabilities=[UserContextCapability(context)])
print(agent.run_sync(REQUEST).output)
print("learned:", learned(context))

context.correct(REQUEST, rejected=["taxi"])  # the user says which item was not meant
print("learned:", learned(context))
