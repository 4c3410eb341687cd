"""LlamaIndex: an agent with a tool retriever, on a mock model."""
# ruff: noqa: T201

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from desk import FUNCTIONS
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool

from contextune.integrations.llama_index import tool_retriever


def script(messages: Sequence[ChatMessage], **options: Any) -> ChatMessage:
    """A scripted model: calls `translate` and repeats its result."""
    names = [tool.metadata.name for tool in options["tools"]]
    print("the model sees", ", ".join(names))
    if messages[-1].role == MessageRole.TOOL:
        return ChatMessage(role="assistant", content=messages[-1].content)
    arguments = {"text": "Good morning", "language": "Portuguese"}
    call = ToolCallBlock(tool_call_id="1", tool_name="translate", tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[call])


async def main() -> None:
    """Run the agent once."""
    tools = [cast("Any", FunctionTool).from_defaults(function) for function in FUNCTIONS]
    agent = FunctionAgent(
        llm=MockFunctionCallingLLM(response_generator=script),
        tool_retriever=tool_retriever(tools, k=3),
        streaming=False,
    )
    print(await cast("Any", agent).run(user_msg='Translate "Good morning" into Portuguese, please.'))


asyncio.run(main())
