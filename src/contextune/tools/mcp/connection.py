"""McpConnection: list and call the tools of an MCP server with the official SDK."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx2
from mcp import Client, MCPError
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
from contextune.tools.definitions.validation import as_list, describe_type
from contextune.tools.mcp import stdio
from contextune.tools.mcp.config import McpServer
from contextune.tools.mcp.errors import MessageTooLongError, innermost_error

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams, WriteStream

_MAX_PAGES = 1_000
_MAX_TOOLS = 20_000
_MAX_LISTING = 64 * 2**20
"""Bytes of all tools of a server as JSON."""
_CLIENT_INFO = Implementation(name="contextune", version=version("contextune"))
# Without a handler, Python prints the SDK's warnings, which quote what servers wrote.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class McpConnection:
    """An open connection to a server."""

    def __init__(
        self, server: McpServer, client: Client, stream: "_RawToolStream", size: "_SizeGuard"
    ) -> None:
        self._server = server
        self.client = client
        self._stream = stream
        self._size = size

    @property
    def name(self) -> str:
        """The server's own name, else its label."""
        info = self.client.server_info
        return info.name if info and info.name else self._server.label

    @property
    def about(self) -> str:
        """The server's instructions or description."""
        info = self.client.server_info
        return self.client.instructions or (info.description if info and info.description else "")

    async def list_tools(self) -> list[object]:
        """All tools of all pages, as raw JSON values."""
        tools: list[object] = []
        cursors: set[str] = set()
        cursor: str | None = None
        size = 0
        for _ in range(_MAX_PAGES):
            try:
                page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND and cursor is None:
                    return []  # a server may offer only prompts or resources
                raise
            page_tools = self._stream.take_tools()
            tools += page_tools
            size += await asyncio.to_thread(_json_size, page_tools)
            if len(tools) > _MAX_TOOLS or size > _MAX_LISTING:
                raise InvalidDataError(
                    f"lists too many tools: at most {_MAX_TOOLS:,}, in {_MAX_LISTING // 2**20} MB"
                )
            cursor = page.next_cursor
            if cursor is None:
                return tools
            if cursor in cursors:
                raise InvalidDataError("lists the same page of tools twice")
            cursors.add(cursor)
        raise InvalidDataError(f"lists its tools on more than {_MAX_PAGES:,} pages")

    async def call(
        self, name: str, args: Mapping[str, Any], on_progress: ProgressFnT | None = None
    ) -> CallToolResult:
        """Call a tool and return its result; `on_progress` receives the server's progress reports."""
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(args)))
        session = self.client.session
        with self._size.explain():
            # not `call_tool`, which lists the tools after the call, and fails if that fails
            return await session.send_request(request, CallToolResult, progress_callback=on_progress)

    async def listen(self, on_change: Callable[[], None]) -> None:
        """Call `on_change` when the tool list changes, until the subscription ends."""
        try:
            async with self.client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    on_change()
        except (ListenNotSupportedError, MCPError, SubscriptionLost):
            return  # older protocols notify without a subscription; other servers never do


@asynccontextmanager
async def connect(
    server: McpServer, timeout: float, on_change: Callable[[], None] | None = None
) -> AsyncGenerator[McpConnection]:
    """Connect for the duration of a block; `on_change` is called when the server's tool list changes."""

    async def handle(message: IncomingMessage) -> None:
        if on_change and isinstance(message, ToolListChangedNotification):
            on_change()

    size = _SizeGuard()
    with size.explain():
        async with _streams(server, timeout, size) as (read, write):
            raw = _RawToolStream(read)
            async with Client(
                _as_transport(raw, write), client_info=_CLIENT_INFO, message_handler=handle, cache=None
            ) as client:
                yield McpConnection(server, client, raw, size)


class _SizeGuard:
    """Knows whether a server was cut off for a message over the size limit."""

    def __init__(self) -> None:
        self._exceeded = False

    def exceed(self) -> None:
        """Note that a message is too long."""
        self._exceeded = True

    @contextmanager
    def explain(self) -> Generator[None]:
        """Raise an error that says so in place of those that follow from it."""
        try:
            yield
        except Exception:
            if not self._exceeded:
                raise
            raise MessageTooLongError(
                f"sent a message of more than {stdio.MAX_MESSAGE // 2**20} MB, and was disconnected"
            ) from None


class _BoundedBody(httpx2.AsyncByteStream):
    """A response body that fails once it is longer than a message may be."""

    def __init__(self, stream: httpx2.AsyncByteStream, size: _SizeGuard) -> None:
        self._stream = stream
        self._size = size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The parts of the body."""
        received = 0
        async for part in self._stream:
            received += len(part)
            if received > stdio.MAX_MESSAGE:
                self._size.exceed()
                raise httpx2.StreamError("the response is too long")
            yield part

    async def aclose(self) -> None:
        """Close the body."""
        await self._stream.aclose()


@asynccontextmanager
async def _streams(server: McpServer, timeout: float, size: _SizeGuard) -> AsyncGenerator["TransportStreams"]:
    transport = (
        _http_streams(server, timeout, size) if server.url else stdio.stdio_streams(server, size.exceed)
    )
    async with transport as streams:
        yield streams


@asynccontextmanager
async def _http_streams(
    server: McpServer, timeout: float, size: _SizeGuard
) -> AsyncGenerator["TransportStreams"]:
    error_status = 0

    async def record_status(response: httpx2.Response) -> None:
        nonlocal error_status
        error_status = response.status_code if response.status_code >= 400 else error_status

    async def bound_body(response: httpx2.Response) -> None:
        is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if is_events:  # the SDK bounds each event
            return
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ContextuneError("compresses its answers, which was not asked for")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedBody(response.stream, size)

    timeouts = httpx2.Timeout(timeout, read=None)  # days may pass between two notifications
    hooks = {"response": [record_status, bound_body]}
    headers = {**server.headers, "accept-encoding": "identity"}
    try:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeouts, event_hooks=hooks) as http,
            streamable_http_client(
                server.url, http_client=http, max_sse_event_size=stdio.MAX_MESSAGE
            ) as streams,
        ):
            yield streams
    except Exception as error:
        if error_status and isinstance(innermost_error(error), MCPError):  # it does not contain the status
            raise ContextuneError(
                f"answered with HTTP {error_status}: check its address and headers"
            ) from None
        raise


@asynccontextmanager
async def _as_transport(
    read: "_RawToolStream", write: "WriteStream[SessionMessage]"
) -> AsyncGenerator["TransportStreams"]:
    """Open streams as the context manager that the SDK expects."""
    yield read, write


class _RawToolStream:
    """Takes tool lists out of a server's responses, as the SDK rejects a whole list for one invalid tool."""

    def __init__(self, stream: "ReadStream[SessionMessage | Exception]") -> None:
        self._stream = stream
        self._tools: object = None

    def take_tools(self) -> list[object]:
        """The tool list of the latest response."""
        tools = as_list(self._tools)
        if tools is None:
            raise InvalidDataError(f"answered with {describe_type(self._tools)}, not a list of tools")
        return tools

    async def receive(self) -> SessionMessage | Exception:
        """The next message, with its tool list removed."""
        message = await self._stream.receive()
        if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCResponse):
            result = message.message.result
            if "tools" in result:
                self._tools, result["tools"] = result["tools"], []
        return message

    def __aiter__(self) -> "ReadStream[SessionMessage | Exception]":
        """Iterate over the messages."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        """Nothing to open."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Close the stream."""
        await self.aclose()


def _json_size(tools: list[object]) -> int:
    return len(json.dumps(tools))
