"""Anthropic's Messages API: parameters match the SDK's types, and tool search works over HTTP."""

from typing import Any

import anthropic
import pytest
from anthropic.types import MessageParam, ToolResultBlockParam, ToolUnionParam
from pydantic import TypeAdapter
from tests.openai_server import OpenAIServer, Reply

from contextune.errors import InvalidDataError
from contextune.integrations.anthropic import (
    deferred_tools,
    is_search,
    search_result,
    tool_by_wire_name,
    tool_params,
)
from contextune.tools import ToolFilter, ToolRetriever
from contextune.types import Tool


class Server(OpenAIServer):
    """A model that searches, calls the first result, and repeats what the tool returned.

    Like the API, it rejects references to tools that are not deferred.
    """

    def reply(self, body: dict[str, Any]) -> Reply:
        TypeAdapter(list[ToolUnionParam]).validate_python(body["tools"])
        TypeAdapter(list[MessageParam]).validate_python(body["messages"])
        deferred = {tool["name"] for tool in body["tools"] if tool.get("defer_loading")}
        last = body["messages"][-1]["content"]
        if isinstance(last, str):
            return self.reply_message(
                {"type": "tool_use", "id": "t1", "name": "search_tools", "input": {"queries": [last]}}
            )
        content = last[0]["content"]
        if isinstance(content, str):
            return self.reply_message({"type": "text", "text": f"It says: {content}"})
        names = [block["tool_name"] for block in content]
        if not names or not deferred.issuperset(names):
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "reference"}}
        return self.reply_message({"type": "tool_use", "id": "t2", "name": names[0], "input": {"hour": 9}})

    @staticmethod
    def reply_message(block: dict[str, Any]) -> Reply:
        message: dict[str, Any] = {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "tiny",
            "content": [block],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return 200, message


def search_call(asked: object) -> Any:
    return {"type": "tool_use", "id": "t1", "name": "search_tools", "input": asked}


def test_search_over_http(retriever: ToolRetriever) -> None:
    always = ["order_lunch"]
    messages: list[MessageParam] = [{"role": "user", "content": "Book a meeting room, order lunch"}]
    reply_message = ""
    with Server() as server:
        client = anthropic.Anthropic(base_url=server.url.removesuffix("/v1"), api_key="key", max_retries=0)
        while not reply_message:
            answer = client.messages.create(
                model="tiny",
                max_tokens=99,
                messages=messages,
                tools=deferred_tools(retriever.catalog, always),
            )
            messages.append({"role": "assistant", "content": answer.content})
            (block,) = answer.content
            if block.type == "text":
                reply_message = block.text
            elif block.type == "tool_use":
                result: ToolResultBlockParam
                if is_search(block):
                    result = search_result(block, retriever, 3, always=always)
                else:
                    tool = tool_by_wire_name(block.name, retriever.catalog)
                    content = f"{tool.id} {block.input['hour']}"
                    result = {"type": "tool_result", "tool_use_id": block.id, "content": content}
                messages.append({"role": "user", "content": [result]})
    assert reply_message == "It says: rooms/book_room 9"
    assert server.asked[0]["path"] == "/v1/messages"
    sent = [asked["tools"] for asked in server.asked]
    assert sent[0] == sent[1] == sent[2]
    assert [tool["name"] for tool in sent[0] if not tool.get("defer_loading")] == [
        "search_tools",
        "order_lunch",
    ]
    assert len(sent[0]) == 1 + len(retriever.catalog)


def test_tool_params(tools: list[Tool]) -> None:
    params = tool_params(tools)
    TypeAdapter(list[ToolUnionParam]).validate_python(params)
    assert params[3] == {
        "name": "rooms__book_room",
        "description": "Book a meeting room.",
        "input_schema": {"type": "object", "properties": {"hour": {"type": "integer"}}},
    }


def test_empty_result_has_a_message(retriever: ToolRetriever) -> None:
    result = search_result(
        search_call({"queries": ["lunch"]}), retriever, filter=ToolFilter(servers=["nowhere"])
    )
    TypeAdapter(ToolResultBlockParam).validate_python(result)
    assert str(result.get("content")).startswith("No tool was found")
    assert "is_error" not in result


@pytest.mark.parametrize("asked", [{}, {"queries": []}, {"queries": None}, {"queries": [" "]}])
def test_search_without_queries_is_an_error_result(retriever: ToolRetriever, asked: object) -> None:
    result = search_result(search_call(asked), retriever)
    TypeAdapter(ToolResultBlockParam).validate_python(result)
    assert result.get("is_error") is True


def test_is_search() -> None:
    assert is_search(search_call({}))
    assert not is_search({"type": "text", "text": "search_tools"})
    assert not is_search({"type": "tool_use", "name": "mail__search"})


def test_unknown_tool_in_always_is_an_error(retriever: ToolRetriever) -> None:
    with pytest.raises(InvalidDataError, match="no tool 'sing'"):
        deferred_tools(retriever.catalog, ["sing"])
