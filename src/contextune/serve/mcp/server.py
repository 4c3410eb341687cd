"""Contextune as an MCP server, over stdio or streamable HTTP: one person's data, a gateway, or both."""

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
from contextune.serve.mcp.user_tools import Tuned, person_tools

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp.server import Server

Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]
_PERSON = (
    "Ask find_context first where the user leaves out who, what, when or where: it searches their own data,"
    " on this machine. plan says which call to make, and with what."
)
_GATEWAY = (
    "Many tools are connected that are not listed. Whenever one could help, say to search_tools what it"
    " should do, and call what it finds with call_tool."
)


def mcp_server(
    user: str | None = None, ready: LazyTuner | None = None, gateway: Gateway | None = None
) -> "Server[Any]":
    """The server, to be run over whatever transport; a gateway is opened and closed with it.

    With a user, their data is searched: by what `ready` makes, or by the gateway, which has its own tools.
    """
    tuned = gateway.tuner if gateway else ready
    offered: list[McpTool] = []
    said: list[str] = []
    if user and tuned:
        offered += person_tools(user, tuned, find_tools=gateway is None)
        said.append(_PERSON)
    if gateway:
        offered += gateway_tools(gateway)
        said.append(_GATEWAY)
    if not offered:
        raise InvalidRequestError("there is nothing to serve: give a user with a tuner, or a gateway")

    @asynccontextmanager
    async def lifespan(server: object) -> AsyncGenerator[None]:
        del server
        async with AsyncExitStack() as stack:
            if gateway:
                await stack.enter_async_context(gateway)
            if ready:
                stack.callback(ready.end)
            if user and tuned:
                warming = asyncio.create_task(_warm(user, tuned))
                stack.callback(warming.cancel)
            yield

    return _server(offered, " ".join(said), lifespan)


async def _warm(user: str, tuned: Tuned) -> None:
    """Embed what is new of the user's data before the first request has to wait for it."""
    with suppress(Exception):  # the request will say it
        await asyncio.to_thread((await tuned()).prepare, user)


def _server(offered: Sequence[McpTool], instructions: str, lifespan: Lifespan) -> "Server[Any]":
    from mcp.server import Server

    tools = McpToolSet(offered)
    return Server(
        "contextune",
        version=version("contextune"),
        title="Contextune",
        instructions=instructions,
        lifespan=lifespan,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )


async def serve_stdio(server: "Server[Any]") -> None:
    """Serve whoever started this process, until they hang up or end it."""
    import anyio
    from mcp.server.stdio import stdio_server

    told: list[int] = []
    async with stdio_server() as (read, write):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_told, told, tasks.cancel_scope)
            await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()
        if told:
            # all that was started has ended, but for the thread that waits for a line: nothing can wake it
            os._exit(0)


async def _until_told(told: list[int], scope: "CancelScope") -> None:
    """End in good order where the process is told to end."""
    import anyio

    with (
        suppress(NotImplementedError),  # on Windows
        anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals,
    ):
        async for one in signals:
            told.append(one)
            scope.cancel()
            return
