"""Builds the MCP server: tools over one user's data, a gateway, or both; and serves it over stdio."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from contextune.errors import InvalidRequestError
from contextune.serve.mcp.lazy_tuner import LazyTuner, warm_up
from contextune.serve.mcp.permissions import EVERYTHING, NOTHING, ToolPermissions
from contextune.serve.mcp.tool import McpTool, McpToolSet
from contextune.serve.mcp.user_resources import UserPrompts, UserResources
from contextune.serve.mcp.user_tools import PlannedTools, TunerProvider, user_tools

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp.server import Server

    from contextune.serve.mcp.gateway import Gateway
    from contextune.tuner import Tuner

_GATEWAY_TOOLS = ("search_tools", "call_tool")
"""Every caller has them; which tools they reach depends on the caller's permissions."""
Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]
_USER_INSTRUCTIONS = (
    "Ask find_context first where the user leaves out who, what, when or where: it searches their own data,"
    " on this machine."
)
_PLAN_INSTRUCTIONS = "plan says which call to make, and with what."
_GATEWAY_INSTRUCTIONS = (
    "Many tools are connected that are not listed. Whenever one could help, say to search_tools what it"
    " should do, and call what it finds with call_tool."
)


def mcp_server(
    user: str | None = None,
    tuner: LazyTuner | None = None,
    gateway: "Gateway | None" = None,
    *,
    planned_tools: PlannedTools | None = None,
    per_token: bool = False,
) -> "Server[Any]":
    """The server, for any transport; a gateway is opened and closed with it.

    A user's data is searched with `tuner`, or with the gateway's own tuner, which knows the gateway's tools.
    `planned_tools` says which tools `plan` chooses from: those of the gateway by default, and none without
    one. With `per_token`, a caller may use what the token of the request allows, and nothing without one.
    """
    planned_tools = planned_tools or ("gateway" if gateway else "none")
    permissions = NOTHING if per_token else EVERYTHING
    tuner_provider = gateway.tuner if gateway else _restricted(tuner) if tuner else None
    tools: list[McpTool] = []
    instructions: list[str] = []
    handlers: dict[str, Any] = {}
    if user and tuner_provider:
        tools += user_tools(user, tuner_provider, planned_tools)
        handlers = _user_handlers(user, tuner_provider, permissions, planned_tools)
        instructions.append(_USER_INSTRUCTIONS)
        if planned_tools != "none":
            instructions.append(_PLAN_INSTRUCTIONS)
    if gateway:
        from contextune.serve.mcp.gateway_tools import gateway_tools

        tools += gateway_tools(gateway)
        instructions.append(_GATEWAY_INSTRUCTIONS)
    if not tools:
        raise InvalidRequestError("nothing to serve: pass a user with a tuner, or a gateway")

    @asynccontextmanager
    async def lifespan(server: object) -> AsyncGenerator[None]:
        del server
        async with AsyncExitStack() as stack:
            if gateway:
                await stack.enter_async_context(gateway)
            if tuner:
                tuner.start(user)
                stack.callback(tuner.close)
            elif user and gateway:
                warmup = asyncio.create_task(_warm(user, gateway))
                stack.callback(warmup.cancel)
            yield

    return _server(tools, handlers, " ".join(instructions), lifespan, permissions)


def _restricted(tuner: LazyTuner) -> TunerProvider:
    """The tuner with the tools that a caller may use."""

    async def provide(permissions: ToolPermissions) -> "Tuner":
        full = await tuner()
        if permissions == EVERYTHING:
            return full
        from contextune.serve.mcp.permitted_tools import PermittedTools

        return full.with_tools(None, PermittedTools(permissions=permissions))

    return provide


def _user_handlers(
    user: str, tuner_provider: TunerProvider, permissions: ToolPermissions, planned_tools: PlannedTools
) -> dict[str, Any]:
    """Handlers of the resources and prompts over a user's data."""
    resources = UserResources(user, tuner_provider, permissions)
    # a prompt cannot take the tools of a client
    planning = planned_tools in ("catalog", "gateway")
    prompts = UserPrompts(user, tuner_provider, permissions, planning=planning)
    return {
        "on_list_resources": resources.list,
        "on_list_resource_templates": resources.templates,
        "on_read_resource": resources.read,
        "on_list_prompts": prompts.list,
        "on_get_prompt": prompts.get,
    }


async def _warm(user: str, gateway: "Gateway") -> None:
    """Embed new items and load models before the first request."""
    with suppress(Exception):  # the first request fails in the same way and reports it
        await asyncio.to_thread(warm_up, await gateway.tuner(), user)


def _server(
    tools: Sequence[McpTool],
    handlers: Mapping[str, Any],
    instructions: str,
    lifespan: Lifespan,
    permissions: ToolPermissions,
) -> "Server[Any]":
    from mcp.server import Server

    tool_set = McpToolSet(tools, permissions, always=_GATEWAY_TOOLS)
    return Server(
        "contextune",
        version=version("contextune"),
        title="Contextune",
        instructions=instructions,
        lifespan=lifespan,
        on_list_tools=tool_set.list,
        on_call_tool=tool_set.call,
        **handlers,
    )


async def serve_stdio(server: "Server[Any]") -> None:
    """Serve over stdio until the client closes it or the process gets SIGTERM or SIGINT."""
    import anyio
    from mcp.server.stdio import stdio_server

    received: list[int] = []
    async with stdio_server() as (read, write):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, received, tasks.cancel_scope)
            await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()
        if received:
            # only the thread that reads stdin is left, and it cannot be interrupted
            os._exit(0)


async def _stop_on_signal(received: list[int], scope: "CancelScope") -> None:
    """Cancel the scope on SIGTERM or SIGINT, and record the signal."""
    import anyio

    with (
        suppress(NotImplementedError),  # Windows
        anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals,
    ):
        async for number in signals:
            received.append(number)
            scope.cancel()
            return
