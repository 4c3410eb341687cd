"""OpenAI's APIs: parameters match the SDK's types, and tool search works over HTTP."""

import json
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import ResponseInputItemParam, ToolParam
from openai.types.responses.response_input_param import ResponseInputParam
from pydantic import TypeAdapter
from tests.openai_server import OpenAIServer, Reply

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.integrations.openai import (
    chat_tool_params,
    is_search,
    search_output,
    search_tools,
    tool_by_wire_name,
    tool_params,
)
from contextune.tools import ToolFilter, ToolRetriever
from contextune.types import Tool


def search_call(arguments: object, **other: object) -> dict[str, Any]:
    return {
        "type": "tool_search_call",
        "id": "s1",
        "call_id": "c1",
        "execution": "client",
        "status": "completed",
        "arguments": arguments,
        **other,
    }


class Server(OpenAIServer):
    """A model that searches, calls the first result, and repeats what the tool returned."""

    def reply(self, body: dict[str, Any]) -> Reply:
        TypeAdapter(list[ToolParam]).validate_python(body["tools"])
        last = body["input"][-1]
        if last.get("type") == "tool_search_output":
            (tool, *_) = last["tools"]
            call = {"type": "function_call", "id": "f1", "call_id": "c2", "name": tool["name"]}
            return self.reply_message({**call, "arguments": '{"hour": 9}', "status": "completed"})
        if last.get("type") == "function_call_output":
            text: dict[str, Any] = {
                "type": "output_text",
                "text": f"It says: {last['output']}",
                "annotations": [],
            }
            message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
            return self.reply_message({**message, "content": [text]})
        return self.reply_message(search_call({"queries": [last["content"]]}))

    @staticmethod
    def reply_message(item: dict[str, Any]) -> Reply:
        response: dict[str, Any] = {
            "id": "r1",
            "object": "response",
            "created_at": 1,
            "model": "tiny",
            "output": [item],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "status": "completed",
        }
        return 200, response


def test_search_over_http(retriever: ToolRetriever) -> None:
    always = ["order_lunch"]
    with Server() as server:
        client = openai.OpenAI(base_url=server.url, api_key="key", max_retries=0)
        messages: ResponseInputParam = [
            {"role": "user", "content": "Book a meeting room for nine, order lunch"}
        ]
        answer = ""
        while not answer:
            response = client.responses.create(
                model="tiny", input=messages, tools=search_tools(retriever.catalog, always)
            )
            (item,) = response.output
            answer = response.output_text
            messages.append(
                TypeAdapter[ResponseInputItemParam](ResponseInputItemParam).validate_python(item.to_dict())
            )
            if item.type == "tool_search_call":
                messages.append(search_output(item, retriever, 2, always=always))
            elif item.type == "function_call":
                tool = tool_by_wire_name(item.name, retriever.catalog)
                reply_message = f"{tool.id} {json.loads(item.arguments)['hour']}"
                messages.append(
                    {"type": "function_call_output", "call_id": item.call_id, "output": reply_message}
                )
    assert answer == "It says: rooms/book_room 9"
    first, second, third = server.asked
    assert first["path"] == "/v1/responses"
    assert [tool.get("name", tool["type"]) for tool in first["tools"]] == ["tool_search", "order_lunch"]
    assert first["tools"] == second["tools"] == third["tools"]
    (found,) = [item for item in second["input"] if item.get("type") == "tool_search_output"]
    assert found["call_id"] == "c1"
    assert found["tools"][0]["name"] == "rooms__book_room"
    assert all(tool["defer_loading"] and tool["name"] != "order_lunch" for tool in found["tools"])


def test_tool_params(tools: list[Tool]) -> None:
    params = TypeAdapter(list[ToolParam]).validate_python(tool_params(tools))
    assert params[0] == {
        "type": "function",
        "name": "mail__send_email",
        "description": "Send an email to somebody.",
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}},
        "strict": False,
    }
    assert not any("defer_loading" in param for param in params)
    assert all(param.get("defer_loading") for param in tool_params(tools, defer=True))
    chat = TypeAdapter(list[ChatCompletionToolParam]).validate_python(chat_tool_params(tools))
    assert chat[-1] == {
        "type": "function",
        "function": {
            "name": "water_plants",
            "description": "Water the plants of the office.",
            "parameters": {"type": "object", "properties": {}},
        },
    }


@pytest.mark.parametrize("asked", [{"queries": ["Order lunch"]}, {"query": "Order lunch"}, "Order lunch"])
def test_search_accepts_arguments_off_schema(retriever: ToolRetriever, asked: object) -> None:
    output = search_output(search_call(asked), retriever, 1)
    TypeAdapter[ResponseInputItemParam](ResponseInputItemParam).validate_python(output)
    assert [tool.get("name") for tool in output["tools"]] == ["order_lunch"]


@pytest.mark.parametrize("asked", [{}, None, {"queries": []}, {"queries": [3, " "]}, 7])
def test_search_without_queries_is_empty(retriever: ToolRetriever, asked: object) -> None:
    assert list(search_output(search_call(asked), retriever)["tools"]) == []


def test_search_with_a_filter(retriever: ToolRetriever) -> None:
    call = search_call({"queries": ["meeting room"]})
    output = search_output(call, retriever, 8, filter=ToolFilter(read_only=True))
    assert {tool.get("name") for tool in output["tools"]} == {"mail__search", "rooms__search"}


def test_server_side_search_is_rejected(retriever: ToolRetriever) -> None:
    hosted = search_call({}, execution="server")
    assert not is_search(hosted)
    with pytest.raises(InvalidRequestError, match="not a search call"):
        search_output(hosted, retriever)


def test_long_names_are_shortened_and_unique(retriever: ToolRetriever) -> None:
    long = Tool("n" * 70, "", "server")
    (name,) = [param["name"] for param in tool_params([long])]
    assert len(name) == 64
    assert tool_by_wire_name(name, [*retriever.catalog, long]) is long
    assert tool_params([Tool("n" * 71, "", "server")])[0]["name"] != name
    with pytest.raises(InvalidDataError, match="unknown tool: 'drop_tables'"):
        tool_by_wire_name("drop_tables", retriever.catalog)


@pytest.mark.parametrize(
    "tools_with_one_name",
    [
        [Tool("a b", ""), Tool("a_b", "")],
        [Tool("search_tools", "")],
        [Tool("c", "", "a.b"), Tool("c", "", "a b")],
    ],
)
def test_name_collisions_are_errors(tools_with_one_name: list[Tool]) -> None:
    with pytest.raises(InvalidDataError, match="the same name"):
        tool_params(tools_with_one_name)
