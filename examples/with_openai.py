"""Tool search with OpenAI's Responses API, on a scripted server."""
# ruff: noqa: T201

import json
from typing import Any

import httpx2
import openai

from contextune.integrations.openai import is_search, search_output, search_tools, tool_by_wire_name
from contextune.tools import ToolRetriever, bundled_toolbox


def script(request: httpx2.Request) -> httpx2.Response:
    """A scripted API: the model searches, then calls the first result."""
    body = json.loads(request.content)
    last = body["input"][-1]
    item: dict[str, Any] = {"type": "tool_search_call", "id": "s1", "call_id": "c1", "execution": "client"}
    item |= {"status": "completed", "arguments": {"queries": ["play the music of a composer"]}}
    if last.get("type") == "tool_search_output":
        print("the model gets", ", ".join(tool["name"] for tool in last["tools"]))
        item = {"type": "function_call", "id": "f1", "call_id": "c2", "name": last["tools"][0]["name"]}
        item |= {"arguments": json.dumps({"artist": "Chopin"}), "status": "completed"}
    response = {"id": "r1", "object": "response", "created_at": 0, "model": "m", "output": [item]}
    return httpx2.Response(
        200, json=response | {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    )


retriever = ToolRetriever(bundled_toolbox())
client = openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(script)))
tools = search_tools(retriever.catalog)
messages: list[Any] = [{"role": "user", "content": "Play something by Chopin"}]
for _ in range(2):
    response = client.responses.create(model="m", input=messages, tools=tools)
    for item in response.output:
        messages.append(item.to_dict())
        if item.type == "tool_search_call" and is_search(item):
            messages.append(search_output(item, retriever, k=3))
        elif item.type == "function_call":
            print("it calls", tool_by_wire_name(item.name, retriever.catalog).id, "with", item.arguments)
