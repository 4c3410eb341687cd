"""A stand-in for `claude_agent_sdk`, which contains Claude Code (350 MB): what our adapter uses.

`query` speaks the SDK's control protocol with a transport: it registers hooks, and answers calls of hooks and
of tools of in-process servers.
"""

# pyright: basic

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any


@dataclass
class ClaudeAgentOptions:
    """The options that our adapter reads and extends."""

    mcp_servers: dict[str, Any] | str = field(default_factory=dict)
    hooks: dict[str, list[Any]] | None = None


@dataclass
class HookMatcher:
    """Hooks of one event."""

    hooks: list[Any]
    matcher: str | None = None


@dataclass
class SdkMcpTool:
    """A tool of an in-process server."""

    name: str
    description: str
    input_schema: Any
    handler: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass
class ResultMessage:
    """The last message of a run."""

    result: str


class Transport:
    """Base class of transports."""


def tool(name: str, description: str, input_schema: Any) -> Callable[[Any], SdkMcpTool]:
    """The SDK's decorator."""
    return lambda handler: SdkMcpTool(name, description, input_schema, handler)


def create_sdk_mcp_server(name: str, tools: list[SdkMcpTool]) -> dict[str, Any]:
    """An in-process server."""
    return {"type": "sdk", "name": name, "instance": {each.name: each for each in tools}}


async def query(*, prompt: str, options: ClaudeAgentOptions, transport: Any) -> AsyncIterator[ResultMessage]:
    """Run one prompt; yields the result."""
    callbacks: list[Any] = []
    hooks: dict[str, list[dict[str, Any]]] = {}
    for event, matchers in (options.hooks or {}).items():
        for matcher in matchers:
            ids = [f"hook_{len(callbacks) + n}" for n in range(len(matcher.hooks))]
            callbacks += matcher.hooks
            hooks.setdefault(event, []).append({"matcher": matcher.matcher, "hookCallbackIds": ids})

    async def send(message: dict[str, Any]) -> None:
        await transport.write(json.dumps(message) + "\n")

    async def reply(message: dict[str, Any]) -> None:
        request = message["request"]
        if request["subtype"] == "hook_callback":
            hook = callbacks[int(request["callback_id"].removeprefix("hook_"))]
            response = await hook(request["input"], request["tool_use_id"], {"signal": None})
        else:
            assert isinstance(options.mcp_servers, dict)
            tools = options.mcp_servers[request["server_name"]]["instance"]
            response = {"mcp_response": await _call_server(tools, request["message"])}
        outcome = {"subtype": "success", "request_id": message["request_id"], "response": response}
        await send({"type": "control_response", "response": outcome})

    await transport.connect()
    start = {"subtype": "initialize", "hooks": hooks}
    await send({"type": "control_request", "request_id": "r1", "request": start})
    await send({"type": "user", "message": {"role": "user", "content": prompt}})
    await transport.end_input()
    running: list[asyncio.Task[None]] = []
    async for message in transport.read_messages():
        if message["type"] == "control_request":
            running.append(asyncio.create_task(reply(message)))
        elif message["type"] == "result":
            yield ResultMessage(message["result"])
    await asyncio.gather(*running)
    await transport.close()


async def _call_server(tools: dict[str, SdkMcpTool], message: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if message["method"] == "tools/call":
        params = message["params"]
        result = await tools[params["name"]].handler(params["arguments"])
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}


def as_module() -> ModuleType:
    """The stand-in as a module to import."""
    module = ModuleType("claude_agent_sdk")
    for part in (ClaudeAgentOptions, HookMatcher, ResultMessage, SdkMcpTool, Transport):
        setattr(module, part.__name__, part)
    for function in (tool, create_sdk_mcp_server, query):
        setattr(module, function.__name__, function)
    return module
