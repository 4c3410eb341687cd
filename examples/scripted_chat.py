"""Stands for a chat model in the examples of LangChain and LangGraph."""
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
    """Wants one tool, and looks for it by a query if it is not there."""

    query: str
    wanted: str
    arguments: dict[str, Any]
    shown: list[str] = []  # noqa: RUF012  # pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Remember which tools there are."""
        self.shown = [convert_to_openai_tool(tool)["function"]["name"] for tool in tools]
        print("the model sees", ", ".join(self.shown))
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage) and last.name == self.wanted:
            return self._said(AIMessage(str(last.content)))
        name, args = ("retrieve_tools", {"query": self.query})
        if self.wanted in self.shown:
            name, args = self.wanted, self.arguments
        return self._said(AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}]))

    @staticmethod
    def _said(message: AIMessage) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=message)])
