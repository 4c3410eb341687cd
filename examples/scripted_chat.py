"""A scripted chat model for the LangChain and LangGraph examples."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from scripted_model import answer_mail


class ScriptedChat(BaseChatModel):
    """Answers the likeliest mail in its prompt, then repeats the result of the tool."""

    offered: list[str] = []  # noqa: RUF012  # pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Remember the offered tools."""
        self.offered = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if isinstance(messages[-1], ToolMessage):
            message = AIMessage(messages[-1].text)
        else:
            call = answer_mail("\n".join(message.text for message in messages), self.offered)
            message = AIMessage("", tool_calls=[{"name": call.name, "args": call.arguments, "id": "1"}])
        return ChatResult(generations=[ChatGeneration(message=message)])
