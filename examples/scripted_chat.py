"""A scripted chat model for the LangChain and LangGraph examples."""
# ruff: noqa: T201

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool


class ScriptedChat(BaseChatModel):
    """Calls one tool, and searches for it with a query if it is not offered."""

    query: str
    tool_name: str
    arguments: dict[str, Any]
    offered: list[str] = []  # noqa: RUF012  # pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Remember the offered tools."""
        self.offered = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        print("the model sees", ", ".join(self.offered))
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage) and last.name == self.tool_name:
            return self._result(AIMessage(str(last.content)))
        name, args = ("retrieve_tools", {"query": self.query})
        if self.tool_name in self.offered:
            name, args = self.tool_name, self.arguments
        return self._result(AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}]))

    @staticmethod
    def _result(message: AIMessage) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=message)])
