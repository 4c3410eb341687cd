"""LlamaIndex: an assistant with context, tools and feedback, on a mock model."""
# ruff: noqa: T201

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from desk import FUNCTIONS
from desk_user import REQUEST, learned, user_context
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from scripted_model import answer_mail

from contextune.integrations.llama_index import UserContextFunctionAgent


def script(messages: Sequence[ChatMessage], **options: Any) -> ChatMessage:
    """A scripted model: answers a mail and repeats the result."""
    if messages[-1].role == MessageRole.TOOL:
        return ChatMessage(role="assistant", content=messages[-1].content)
    prompt = "\n".join(message.content or "" for message in messages)
    call = answer_mail(prompt, [tool.metadata.name for tool in options["tools"]])
    block = ToolCallBlock(tool_call_id="1", tool_name=call.name, tool_kwargs=call.arguments)
    return ChatMessage(role="assistant", blocks=[block])


async def main() -> None:
    """Run the agent once."""
    context = user_context()
    llm = MockFunctionCallingLLM(response_generator=script)
    agent = UserContextFunctionAgent(llm=llm, tools=[*FUNCTIONS], user_context=context)
    print(await cast("Any", agent).run(user_msg=REQUEST))
    print("learned:", learned(context))

    context.correct(REQUEST, rejected=["taxi"])  # the user says which item was not meant
    print("learned:", learned(context))


asyncio.run(main())
