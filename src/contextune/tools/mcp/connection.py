"""A connection to an MCP server, by the official SDK: what it says of itself, its tools, and their calls."""

import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from mcp_types import (
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    JSONRPCResponse,
    ToolListChangedNotification,
)

from contextune.errors import ContextuneError, InvalidDataError
from contextune.tools.mcp.config import McpServer
from contextune.tools.mcp.errors import innermost
from contextune.tools.validation import items, kind_of

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams, WriteStream

_MOST_PAGES = 1_000
_ME = Implementation(name="contextune", version=version("contextune"))
# Where nobody set up logging, Python prints the SDK's warnings, and with them what servers wrote.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class McpConnection:
    """An open line to a server."""

    def __init__(self, server: McpServer, client: Client, stream: "_Raw") -> None:
        self._server = server
        self.client = client
        self._stream = stream

    @property
    def name(self) -> str:
        """What the server calls itself, or where it is."""
        info = self.client.server_info
        return info.name if info and info.name else self._server.called

    @property
    def about(self) -> str:
        """What the server says of itself."""
        info = self.client.server_info
        return self.client.instructions or (info.description if info and info.description else "")

    async def tools(self) -> list[object]:
        """All it lists, page by page, as it wrote them."""
        found: list[object] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            try:
                page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND and cursor is None:
                    return []  # a server may offer only prompts or resources
                raise
            found += self._stream.taken()
            cursor = page.next_cursor
            if cursor is None:
                return found
            if cursor in seen:
                raise InvalidDataError("lists its tools in a circle: a page it gave before comes again")
            seen.add(cursor)
        raise InvalidDataError(f"lists its tools on more than {_MOST_PAGES:,} pages")

    async def call(
        self, name: str, args: Mapping[str, Any], told: ProgressFnT | None = None
    ) -> CallToolResult:
        """What a tool gives back, as it is; `told` is how far it has come, where it says so."""
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(args)))
        # not by `call_tool`, which lists the tools after the call, and fails where that does
        return await self.client.session.send_request(request, CallToolResult, progress_callback=told)

    async def listen(self, heard: Callable[[], None]) -> None:
        """Ask to be told of changes, where that has to be asked for; returns when it is told no more."""
        try:
            async with self.client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    heard()
        except (ListenNotSupportedError, MCPError, SubscriptionLost):
            return  # of an older protocol, which tells without being asked; or it does not tell at all


@asynccontextmanager
async def connect(
    server: McpServer, timeout: float, heard: Callable[[], None] | None = None
) -> AsyncGenerator[McpConnection]:
    """A connection for as long as the block lasts; `heard` is told whenever the list of tools changes."""

    async def handle(message: IncomingMessage) -> None:
        if heard and isinstance(message, ToolListChangedNotification):
            heard()

    async with _streams(server, timeout) as (read, write):
        raw = _Raw(read)
        async with Client(_opened(raw, write), client_info=_ME, message_handler=handle, cache=None) as client:
            yield McpConnection(server, client, raw)


@asynccontextmanager
async def _streams(server: McpServer, timeout: float) -> AsyncGenerator["TransportStreams"]:
    if server.url:
        async with _http_streams(server, timeout) as streams:
            yield streams
        return
    command = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
    )
    with Path(os.devnull).open("w") as nowhere:  # what a server grumbles is its own affair
        async with stdio_client(command, errlog=nowhere) as streams:
            yield streams


@asynccontextmanager
async def _http_streams(server: McpServer, timeout: float) -> AsyncGenerator["TransportStreams"]:
    turned_down = 0

    async def look(response: httpx2.Response) -> None:
        nonlocal turned_down
        turned_down = response.status_code if response.status_code >= 400 else turned_down

    waits = httpx2.Timeout(timeout, read=None)  # between two changes there may be days
    hooks = {"response": [look]}
    try:
        async with (
            httpx2.AsyncClient(headers=dict(server.headers), timeout=waits, event_hooks=hooks) as http,
            streamable_http_client(server.url, http_client=http) as streams,
        ):
            yield streams
    except Exception as error:
        if turned_down and isinstance(innermost(error), MCPError):  # which says nothing of the status
            raise ContextuneError(
                f"answers with HTTP {turned_down}: check the address, and the headers it asks for"
            ) from None
        raise


@asynccontextmanager
async def _opened(read: "_Raw", write: "WriteStream[SessionMessage]") -> AsyncGenerator["TransportStreams"]:
    """Streams that are open already, as the SDK wants to be given them."""
    yield read, write


class _Raw:
    """Takes lists of tools out of a server's answers: the SDK turns a list down whole for one broken tool."""

    def __init__(self, stream: "ReadStream[SessionMessage | Exception]") -> None:
        self._stream = stream
        self._tools: object = None

    def taken(self) -> list[object]:
        """The list of the latest answer."""
        tools = items(self._tools)
        if tools is None:
            raise InvalidDataError(f"answers with {kind_of(self._tools)} where its tools should be listed")
        return tools

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        item = await self._stream.receive()
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            result = item.message.result
            if "tools" in result:
                self._tools, result["tools"] = result["tools"], []
        return item

    def __aiter__(self) -> "ReadStream[SessionMessage | Exception]":
        """One message after the other."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message, until there are no more."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Listen no longer."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        """Read in a block."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Listen no longer."""
        await self.aclose()
