"""Five tools without a server for each framework, and fake models that record what they are sent."""

# pyright: basic, reportArgumentType=false

from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import StructuredTool
from llama_index.core.llms.mock import MockFunctionCallingLLM
from tests.integrations.fake_chat import ScriptedChat

ACTIONS = ["send an email", "book a room", "order lunch", "water the plants", "feed the cat"]


def functions() -> Iterator[tuple[str, str, Callable[[], str]]]:
    for action in ACTIONS:
        yield action.replace(" ", "_"), f"To {action}.", lambda: "done"


class RecordingChat(ScriptedChat):
    """Records the messages it gets."""

    sent: list[list[dict[str, Any]]] = []  # noqa: RUF012  # pydantic copies it

    def _generate(self, messages: list[BaseMessage], *options: Any, **named: Any) -> ChatResult:
        self.sent.append([{"type": each.type, "content": each.content} for each in messages])
        return super()._generate(messages, *options, **named)


def office() -> list[Any]:
    return [
        StructuredTool.from_function(call, name=name, description=about) for name, about, call in functions()
    ]


class RecordingLLM(MockFunctionCallingLLM):
    """Records what it is sent, and answers without calls."""

    def _prepare_chat_with_tools(self, tools: Any, *options: Any, **named: Any) -> dict[str, Any]:
        SENT.append(
            (
                [tool.metadata.name for tool in tools],
                [each.model_dump(mode="json") for each in named["chat_history"]],
            )
        )
        return {**super()._prepare_chat_with_tools(tools, *options, **named), "tools": []}


SENT: list[tuple[Any, Any]] = []
