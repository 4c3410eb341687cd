"""Tool search with Anthropic's Messages API, on a scripted server."""
# ruff: noqa: T201

import json
from typing import Any

import anthropic
import httpx2

from contextune.integrations.anthropic import deferred_tools, is_search, search_result, tool_by_wire_name
from contextune.tools import ToolRetriever, bundled_toolbox


def script(request: httpx2.Request) -> httpx2.Response:
    """A scripted API: the model searches, then calls the first result."""
    body = json.loads(request.content)
    last = body["messages"][-1]["content"]
    queries = ["play the music of a composer"]
    block: dict[str, Any] = {
        "type": "tool_use",
        "id": "t1",
        "name": "search_tools",
        "input": {"queries": queries},
    }
    if not isinstance(last, str):
        names = [reference["tool_name"] for reference in last[0]["content"]]
        print("the model gets", ", ".join(names))
        block = {"type": "tool_use", "id": "t2", "name": names[0], "input": {"artist": "Chopin"}}
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [block]}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return httpx2.Response(
        200, json=message | {"stop_reason": "tool_use", "stop_sequence": None, "usage": usage}
    )


retriever = ToolRetriever(bundled_toolbox())
transport = httpx2.MockTransport(script)
client = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=transport))
tools = deferred_tools(retriever.catalog)
messages: list[Any] = [{"role": "user", "content": "Play something by Chopin"}]
for _ in range(2):
    answer = client.messages.create(model="m", max_tokens=99, messages=messages, tools=tools)
    messages.append({"role": "assistant", "content": answer.content})
    for block in answer.content:
        if block.type == "tool_use" and is_search(block):
            messages.append({"role": "user", "content": [search_result(block, retriever, k=3)]})
        elif block.type == "tool_use":
            print("it calls", tool_by_wire_name(block.name, retriever.catalog).id, "with", block.input)
