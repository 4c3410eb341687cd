"""Claude Agent SDK: hooks that add the user's items and likely tools to a prompt, with feedback.

Claude Code chooses among the tools of all servers by itself, so tools are named in the prompt, not hidden.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

from contextune._internal.caches import register_cache
from contextune.errors import InvalidRequestError, MissingExtraError
from contextune.integrations._finder import UserTurn
from contextune.integrations.user_context import UserContext
from contextune.types import Tool

try:
    _sdk: Any = import_module("claude_agent_sdk")  # large, so not part of the development environment
except ModuleNotFoundError as error:
    raise MissingExtraError("the integration of the Claude Agent SDK", "claude-agent") from error

_MAX_SESSIONS = 256
_MAX_MESSAGES = 20


def as_tool(tool: Any) -> Tool:
    """Convert a tool made with the SDK's decorator `tool`."""
    given: object = tool.input_schema
    schema = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    if "properties" not in schema:  # names and Python types
        schema = {"type": "object", "properties": dict.fromkeys(schema, True)}
    return Tool(tool.name, tool.description, parameters=schema)


def add_user_context(
    options: Any, context: UserContext, *, tools: Sequence[Any] = (), server: str = "assistant"
) -> Any:
    """A copy of `ClaudeAgentOptions` with the tools in an in-process server, and with hooks.

    At each prompt, the user's items and the names of the likeliest tools are added to it; a call of one of
    the tools that returns is recorded as right. Permissions of the tools are left to `options`. A function
    given to `UserContext` as `user` or `place` gets the input of the hook.

    Args:
        options: the options to extend.
        context: the user's context.
        tools: made with the SDK's decorator `tool`.
        server: the name of the server; Claude sees the tool `book` as `mcp__assistant__book`.
    """
    given: object = options.mcp_servers
    if not isinstance(given, dict):
        raise InvalidRequestError("mcp_servers is a file: pass a dict, so that the tools can be added to it")
    servers = cast("dict[str, Any]", given).copy()
    if tools:
        if server in servers:
            raise InvalidRequestError(f"mcp_servers has a server {server!r} already: pass another `server`")
        servers[server] = _sdk.create_sdk_mcp_server(server, tools=[*tools])
    hooks = UserContextHooks(context, [as_tool(tool) for tool in tools], server)
    added = {"UserPromptSubmit": hooks.on_prompt, "PostToolUse": hooks.on_tool_result}
    matchers: dict[str, Any] = {**(options.hooks or {})}
    for name, hook in added.items():
        matchers[name] = [*matchers.get(name, ()), _sdk.HookMatcher(hooks=[hook])]
    return replace(options, mcp_servers=servers, hooks=matchers)


class UserContextHooks:
    """The hooks that `add_user_context` adds."""

    def __init__(self, context: UserContext, tools: Sequence[Tool], server: str) -> None:
        """`tools` are those of the server."""
        self._context, self._tools = context, tools
        self._prefix = f"mcp__{server}__"
        self._names = {tool.name for tool in tools}
        self._sessions = register_cache(_Sessions())

    async def on_prompt(self, data: Mapping[str, Any], tool_use_id: object, info: object) -> dict[str, Any]:
        """Add items and tools to the prompt."""
        del tool_use_id, info
        if not data["prompt"].strip():
            return {}
        conversation = self._sessions.add(data["session_id"], data["prompt"])
        turn = await self._context.aturn(conversation, data)
        if turn is None:
            return {}
        text = turn.prompt
        if self._tools:
            names = await self._context.aselect_tools(self._tools, conversation, turn)
            likely = "Tools that may serve the message: " + ", ".join(self._prefix + name for name in names)
            text += turn.nothing_fits.note if turn.nothing_fits else likely
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}

    async def on_tool_result(
        self, data: Mapping[str, Any], tool_use_id: object, info: object
    ) -> dict[str, Any]:
        """Record a call of one of the tools."""
        del tool_use_id, info
        name = str(data["tool_name"]).removeprefix(self._prefix)
        conversation = self._sessions.messages(data["session_id"])
        if name in self._names and conversation:
            turn = await self._context.aturn(conversation, data, restart=False)
            if turn:
                await self._context.arecord_call(turn, name, data["tool_input"])
        return {}


class _Sessions:
    """The last messages of the user in each session."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, list[UserTurn]] = OrderedDict()

    def add(self, session: str, text: str) -> list[UserTurn]:
        """Add a message; returns all of the session."""
        self._messages[session] = [*self.messages(session), UserTurn(text)][-_MAX_MESSAGES:]
        self._messages.move_to_end(session)
        if len(self._messages) > _MAX_SESSIONS:
            self._messages.popitem(last=False)
        return self._messages[session]

    def messages(self, session: str) -> list[UserTurn]:
        """The messages of the session."""
        return self._messages.get(session, [])

    def forget(self, user: str) -> None:  # noqa: ARG002  # sessions are not kept by user
        """Drop all sessions."""
        self._messages.clear()
