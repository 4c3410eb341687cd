"""Conversations in the message formats of model APIs, as dicts or objects of their SDKs."""

from collections.abc import Iterator, Sequence
from typing import cast

from contextune.integrations._finder import AssistantTurn, Conversation, ToolCallTurn, UserTurn
from contextune.integrations._tool_schemas import get_field


def read_messages(messages: Sequence[object]) -> Conversation:
    """The turns of messages of Anthropic's and OpenAI's APIs."""
    return [turn for message in messages for turn in _turns(message)]


def message_text(message: object) -> str:
    """The text of a message, without images, files and results of tools."""
    content = get_field(message, "content")
    if isinstance(content, str):
        return content.strip()
    parts = (get_field(block, "text") for block in _sequence(content))
    return " ".join(part for part in parts if isinstance(part, str)).strip()


def is_user_message(message: object) -> bool:
    """Whether the user said something in a message."""
    return get_field(message, "role") == "user" and bool(message_text(message))


def _turns(message: object) -> Iterator[UserTurn | ToolCallTurn | AssistantTurn]:
    role, text = get_field(message, "role"), message_text(message)
    if role == "user" and text:
        yield UserTurn(text)
    elif role == "assistant" and text:
        yield AssistantTurn(text)
    if get_field(message, "type") == "function_call":  # Responses
        yield ToolCallTurn(_call_name(message))
    for call in _sequence(get_field(message, "tool_calls")):  # Chat Completions
        yield ToolCallTurn(str(get_field(get_field(call, "function"), "name")))
    for block in _sequence(get_field(message, "content")):  # Messages
        if get_field(block, "type") == "tool_use":
            yield ToolCallTurn(str(get_field(block, "name")))


def _call_name(item: object) -> str:
    """The name of a called tool, with its namespace if it has one."""
    namespace, name = get_field(item, "namespace"), get_field(item, "name")
    return f"{namespace}__{name}" if namespace else str(name)


def _sequence(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
