"""Connection to one upstream MCP server: opened on first use, kept open, reopened after a failure."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from contextune._internal.plural import pluralize
from contextune.errors import ContextuneError
from contextune.tools.catalog import LoadedTools
from contextune.tools.loaders import LiveCatalog, McpServer
from contextune.tools.mcp.errors import MessageTooLongError, is_server_response, is_session_expired
from contextune.tools.mcp.load import TIMEOUT

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from contextune.serve.mcp.tool import ProgressCallback
    from contextune.tools.mcp.connection import McpConnection

PING_AFTER = 5.0
"""Seconds without an answer after which a server is pinged before it is called."""
_PING_TIMEOUT = 5.0
_OUTCOME_UNKNOWN = "it is not known whether the call was carried out"


class _LiveSession(LiveCatalog):
    """A live catalogue that exposes its connection for calls."""

    @property
    def connection(self) -> "McpConnection | None":
        """None once it is closed."""
        return self._connection


class UpstreamConnection:
    """One server's connection, shared by concurrent calls."""

    def __init__(
        self,
        server: McpServer,
        on_tools: Callable[[LoadedTools], Awaitable[None]],
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        """`on_tools` gets the server's tools when the connection opens, and whenever they change.

        `timeout` applies to opening and to each call; every progress report of a call restarts it.
        """
        self.server = server
        self._on_tools = on_tools
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._live: _LiveSession | None = None
        self._open_calls = 0
        self._last_answer = 0.0

    async def open(self) -> "McpConnection":
        """The open connection; connects if there is none, and raises if the server is unreachable."""
        async with self._lock:
            connection = self._live.connection if self._live else None
            if connection and await self._is_alive(connection):
                return connection
            await self._disconnect()
            live = _LiveSession(self.server, self._on_tools, timeout=self._timeout)
            await live.__aenter__()
            self._live, self._last_answer = live, monotonic()
            await self._on_tools(live.loaded)
            if live.connection is None:
                raise ContextuneError(
                    f"the server {self.server.label!r} closed the connection at once: try again"
                )
            return live.connection

    async def call(
        self, name: str, arguments: Mapping[str, Any], progress: "ProgressCallback | None" = None
    ) -> "CallToolResult":
        """The server's result, unchanged; raises only if the tool was not called."""
        for may_retry in (True, False):
            connection = await self.open()
            try:
                return await self._send_call(connection, name, arguments, progress)
            except Exception as error:
                await self._close_if_dead(connection, error)
                # a restarted server rejects the old session without running the call
                if not (may_retry and is_session_expired(error)):
                    return self._failure_result(error)
        raise AssertionError("unreachable: the second attempt returns")

    async def close(self) -> None:
        """Close the connection; a server that was started is stopped."""
        async with self._lock:
            await self._disconnect()

    async def _send_call(
        self,
        connection: "McpConnection",
        name: str,
        arguments: Mapping[str, Any],
        report: "ProgressCallback | None",
    ) -> "CallToolResult":
        import anyio

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            timeout.deadline = anyio.current_time() + self._timeout
            if report:
                await report(progress, total, message)

        self._open_calls += 1
        try:
            with anyio.fail_after(self._timeout) as timeout:
                result = await connection.call(name, arguments, on_progress)
        finally:
            self._open_calls -= 1
        self._last_answer = monotonic()
        return result

    async def _is_alive(self, connection: "McpConnection") -> bool:
        """Whether the server answers; a call on a dead connection may or may not be carried out."""
        import anyio
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        if self._open_calls or monotonic() - self._last_answer < PING_AFTER:
            return True
        version = connection.client.protocol_version
        try:
            with anyio.fail_after(_PING_TIMEOUT):
                if version in MODERN_PROTOCOL_VERSIONS:
                    await connection.client.session.send_discover(version)
                else:
                    await connection.client.session.send_ping()
        except Exception as error:
            return is_server_response(error)
        self._last_answer = monotonic()
        return True

    async def _close_if_dead(self, connection: "McpConnection", error: Exception) -> None:
        """Close a dead connection, or one that timed out unless other calls are waiting on it."""
        if is_server_response(error) or (isinstance(error, TimeoutError) and self._open_calls):
            return
        async with self._lock:
            if self._live and self._live.connection in (connection, None):
                await self._disconnect()

    async def _disconnect(self) -> None:
        live, self._live = self._live, None
        if live:
            with suppress(Exception):  # the connection is discarded anyway
                await live.__aexit__(None, None, None)

    def _failure_result(self, error: Exception) -> "CallToolResult":
        from mcp import MCPError
        from pydantic import ValidationError

        from contextune.serve.mcp.tool import error_result

        server = f"the server {self.server.label!r}"
        match error:
            case MCPError() if is_server_response(error):
                return error_result(f"{server} answers with error {error.code}: {error.message}")
            case TimeoutError():
                limit = pluralize(self._timeout, "second")
                return error_result(f"{server} did not answer within {limit}: {_OUTCOME_UNKNOWN}")
            case MessageTooLongError():
                return error_result(f"{server} {error}: {_OUTCOME_UNKNOWN}")
            case ValidationError():
                return error_result(f"{server} answered a call with an invalid result")
            case _:
                return error_result(
                    f"{server} closed the connection during the call: {_OUTCOME_UNKNOWN}; "
                    "it is restarted at the next call"
                )
