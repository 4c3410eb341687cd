"""A scripted LangChain chat model that records the tools it is offered."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool


def call(name: str, **args: object) -> AIMessage:
    """A message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{name}"}])


class ScriptedChat(BaseChatModel):
    """Answers from a list, then with "done"."""

    answers: list[AIMessage]
    offered: list[list[str]] = []  # noqa: RUF012  # pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        **_: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        self.offered.append([convert_to_openai_tool(tool)["function"]["name"] for tool in tools])
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:  # noqa: ARG002
        answer = self.answers.pop(0) if self.answers else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=answer)])
