"""A scripted transport for the Claude Agent SDK: it stands in for the process of Claude Code."""
# pyright: basic, reportMissingImports=false

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import Transport
from scripted_model import answer_mail

SESSION = {"session_id": "s1", "transcript_path": "", "cwd": ""}


class ScriptedClaude(Transport):
    """Runs the hooks and tools of the application as Claude Code would; the model answers one mail."""

    def __init__(self, server: str) -> None:
        """`server` has the tools."""
        self._server = server
        self._sent: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._replies: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._hooks: dict[str, list[str]] = {}
        self._run: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Nothing to connect to."""

    async def write(self, data: str) -> None:
        """Receive a message of the SDK."""
        message = json.loads(data)
        match message["type"]:
            case "control_request":
                matchers = (message["request"].get("hooks") or {}).items()
                self._hooks = {name: [*_callbacks(parts)] for name, parts in matchers}
                reply = {"subtype": "success", "request_id": message["request_id"], "response": {}}
                await self._sent.put({"type": "control_response", "response": reply})
            case "control_response":
                response = message["response"]
                self._replies.pop(response["request_id"]).set_result(response.get("response", response))
            case _:
                self._run = asyncio.create_task(self._answer(message["message"]["content"]))

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Messages to the SDK."""
        while (message := await self._sent.get()) is not None:
            yield message

    async def end_input(self) -> None:
        """The session ends after the answer."""

    async def close(self) -> None:
        """End the stream of messages."""
        await self._sent.put(None)

    def is_ready(self) -> bool:
        """Always."""
        return True

    async def _answer(self, prompt: str) -> None:
        output = await self._hook("UserPromptSubmit", prompt=prompt)
        context = output["hookSpecificOutput"]["additionalContext"]
        call = answer_mail(context, context.partition("serve the message: ")[2].split(", "))
        params = {"name": call.name, "arguments": call.arguments}
        result = await self._call_server("tools/call", params)
        name = f"mcp__{self._server}__{call.name}"
        text = result["content"][0]["text"]
        await self._hook("PostToolUse", tool_name=name, tool_input=call.arguments, tool_response=text)
        done = {"type": "result", "subtype": "success", "result": text, "session_id": "s1"}
        await self._sent.put(
            done | {"is_error": False, "num_turns": 1, "duration_ms": 1, "duration_api_ms": 1}
        )
        await self._sent.put(None)

    async def _hook(self, name: str, **data: Any) -> dict[str, Any]:
        output: dict[str, Any] = {}
        for callback in self._hooks[name]:
            request = {"subtype": "hook_callback", "callback_id": callback, "tool_use_id": "t1"}
            output |= await self._request(request | {"input": {**SESSION, "hook_event_name": name, **data}})
        return output

    async def _call_server(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }
        reply: dict[str, Any] = {}
        for number, (name, values) in enumerate(
            [("initialize", hello), ("notifications/initialized", {}), (method, params)]
        ):
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": name, "params": values}
            if not name.startswith("notifications"):
                message["id"] = number
            request = {"subtype": "mcp_message", "server_name": self._server, "message": message}
            reply = (await self._request(request))["mcp_response"]
        return reply["result"]

    async def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        number = str(len(self._replies) + id(request))
        self._replies[number] = asyncio.get_running_loop().create_future()
        reply = self._replies[number]
        await self._sent.put({"type": "control_request", "request_id": number, "request": request})
        return await reply


def _callbacks(matchers: list[dict[str, Any]]) -> list[str]:
    return [callback for matcher in matchers for callback in matcher["hookCallbackIds"]]
