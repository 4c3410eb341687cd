"""Builds the MCP server: tools over one user's data, a gateway, or both; and serves it over stdio."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from contextune.errors import InvalidRequestError
from contextune.serve.mcp.gateway import Gateway
from contextune.serve.mcp.gateway_tools import gateway_tools
from contextune.serve.mcp.lazy_tuner import LazyTuner
from contextune.serve.mcp.tool import McpTool, McpToolSet
from contextune.serve.mcp.user_tools import TunerProvider, user_tools

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp.server import Server

Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]
_USER_INSTRUCTIONS = (
    "Ask find_context first where the user leaves out who, what, when or where: it searches their own data,"
    " on this machine. plan says which call to make, and with what."
)
_GATEWAY_INSTRUCTIONS = (
    "Many tools are connected that are not listed. Whenever one could help, say to search_tools what it"
    " should do, and call what it finds with call_tool."
)


def mcp_server(
    user: str | None = None, tuner: LazyTuner | None = None, gateway: Gateway | None = None
) -> "Server[Any]":
    """The server, for any transport; a gateway is opened and closed with it.

    A user's data is searched with `tuner`, or with the gateway's own tuner, which knows the gateway's tools.
    """
    tuner_provider = gateway.tuner if gateway else tuner
    tools: list[McpTool] = []
    instructions: list[str] = []
    if user and tuner_provider:
        tools += user_tools(user, tuner_provider, find_tools=gateway is None)
        instructions.append(_USER_INSTRUCTIONS)
    if gateway:
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
                stack.callback(tuner.cancel)
            if user and tuner_provider:
                warmup = asyncio.create_task(_warm(user, tuner_provider))
                stack.callback(warmup.cancel)
            yield

    return _server(tools, " ".join(instructions), lifespan)


async def _warm(user: str, tuner_provider: TunerProvider) -> None:
    """Embed new items before the first request."""
    with suppress(Exception):  # the first request fails in the same way and reports it
        await asyncio.to_thread((await tuner_provider()).prepare, user)


def _server(tools: Sequence[McpTool], instructions: str, lifespan: Lifespan) -> "Server[Any]":
    from mcp.server import Server

    tool_set = McpToolSet(tools)
    return Server(
        "contextune",
        version=version("contextune"),
        title="Contextune",
        instructions=instructions,
        lifespan=lifespan,
        on_list_tools=tool_set.list,
        on_call_tool=tool_set.call,
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
