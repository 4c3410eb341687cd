"""Anthropic's Messages API: what is sent is what the SDK types, and a search goes round over HTTP."""

from typing import Any

import anthropic
import pytest
from anthropic.types import MessageParam, ToolResultBlockParam, ToolUnionParam
from pydantic import TypeAdapter
from tests.openai_server import OpenAIServer, Reply

from contextune.errors import InvalidDataError
from contextune.integrations.anthropic import (
    called,
    deferred_tools,
    is_search,
    search_result,
    tool_params,
)
from contextune.tools import ToolFilter, ToolRetriever
from contextune.types import Tool


class Server(OpenAIServer):
    """A model that searches, calls the first tool it found, and then speaks of the result.

    As the API does, it refuses references to tools that were not deferred.
    """

    def reply(self, body: dict[str, Any]) -> Reply:
        TypeAdapter(list[ToolUnionParam]).validate_python(body["tools"])
        TypeAdapter(list[MessageParam]).validate_python(body["messages"])
        deferred = {tool["name"] for tool in body["tools"] if tool.get("defer_loading")}
        last = body["messages"][-1]["content"]
        if isinstance(last, str):
            return self.said(
                {"type": "tool_use", "id": "t1", "name": "search_tools", "input": {"queries": [last]}}
            )
        content = last[0]["content"]
        if isinstance(content, str):
            return self.said({"type": "text", "text": f"It says: {content}"})
        names = [block["tool_name"] for block in content]
        if not names or not deferred.issuperset(names):
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "reference"}}
        return self.said({"type": "tool_use", "id": "t2", "name": names[0], "input": {"hour": 9}})

    @staticmethod
    def said(block: dict[str, Any]) -> Reply:
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


def use(asked: object) -> Any:
    return {"type": "tool_use", "id": "t1", "name": "search_tools", "input": asked}


def test_a_search_goes_round(retriever: ToolRetriever) -> None:
    always = ["order_lunch"]
    talk: list[MessageParam] = [{"role": "user", "content": "Book a meeting room, order lunch"}]
    said = ""
    with Server() as server:
        client = anthropic.Anthropic(base_url=server.url.removesuffix("/v1"), api_key="key", max_retries=0)
        while not said:
            answer = client.messages.create(
                model="tiny", max_tokens=99, messages=talk, tools=deferred_tools(retriever.catalog, always)
            )
            talk.append({"role": "assistant", "content": answer.content})
            (block,) = answer.content
            if block.type == "text":
                said = block.text
            elif block.type == "tool_use":
                result: ToolResultBlockParam
                if is_search(block):
                    result = search_result(block, retriever, 3, always=always)
                else:
                    tool = called(block.name, retriever.catalog)
                    content = f"{tool.id} {block.input['hour']}"
                    result = {"type": "tool_result", "tool_use_id": block.id, "content": content}
                talk.append({"role": "user", "content": [result]})
    assert said == "It says: rooms/book_room 9"
    assert server.asked[0]["path"] == "/v1/messages"
    sent = [asked["tools"] for asked in server.asked]
    assert sent[0] == sent[1] == sent[2]
    assert [tool["name"] for tool in sent[0] if not tool.get("defer_loading")] == [
        "search_tools",
        "order_lunch",
    ]
    assert len(sent[0]) == 1 + len(retriever.catalog)


def test_the_tools_of_a_turn(tools: list[Tool]) -> None:
    params = tool_params(tools)
    TypeAdapter(list[ToolUnionParam]).validate_python(params)
    assert params[3] == {
        "name": "rooms__book_room",
        "description": "Book a meeting room.",
        "input_schema": {"type": "object", "properties": {"hour": {"type": "integer"}}},
    }


def test_nothing_found_is_said(retriever: ToolRetriever) -> None:
    result = search_result(use({"queries": ["lunch"]}), retriever, only=ToolFilter(servers=["nowhere"]))
    TypeAdapter(ToolResultBlockParam).validate_python(result)
    assert str(result.get("content")).startswith("No tool was found")
    assert "is_error" not in result


@pytest.mark.parametrize("asked", [{}, {"queries": []}, {"queries": None}, {"queries": [" "]}])
def test_nothing_asked_is_an_error_to_the_model(retriever: ToolRetriever, asked: object) -> None:
    result = search_result(use(asked), retriever)
    TypeAdapter(ToolResultBlockParam).validate_python(result)
    assert result.get("is_error") is True


def test_what_is_a_search() -> None:
    assert is_search(use({}))
    assert not is_search({"type": "text", "text": "search_tools"})
    assert not is_search({"type": "tool_use", "name": "mail__search"})


def test_a_tool_to_offer_always_must_be_there(retriever: ToolRetriever) -> None:
    with pytest.raises(InvalidDataError, match="no tool 'sing'"):
        deferred_tools(retriever.catalog, ["sing"])
