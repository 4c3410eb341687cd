"""A line to one MCP server: opened when it is first needed, kept open, and opened again once it is dead."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from contextune._internal.plural import pluralize
from contextune.errors import ContextuneError
from contextune.tools.catalog import LoadedTools
from contextune.tools.loaders import LiveCatalog, McpServer
from contextune.tools.mcp.errors import answered, forgotten
from contextune.tools.mcp.load import TIMEOUT

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from contextune.serve.mcp.tool import Told
    from contextune.tools.mcp.connection import McpConnection

QUIET = 5.0
"""Seconds of silence after which a server is asked whether it is still there before it is called."""
_PATIENCE = 5.0
"""Seconds in which it has to say so."""
_UNKNOWN = "whether the call was carried out is not known"


class _LiveSession(LiveCatalog):
    """A live catalogue whose connection serves for calls as well."""

    @property
    def connection(self) -> "McpConnection | None":
        """None once it is over."""
        return self._connection


class UpstreamConnection:
    """For all calls of one server, side by side."""

    def __init__(
        self, server: McpServer, changed: Callable[[LoadedTools], None], *, timeout: float = TIMEOUT
    ) -> None:
        """`changed` is told the server's tools when the line is opened, and whenever they change.

        `timeout` is for opening, and for each call; a call that reports progress gets it anew each time.
        """
        self.server = server
        self._changed = changed
        self._timeout = timeout
        self._opening = asyncio.Lock()
        self._live: _LiveSession | None = None
        self._calls = 0
        self._heard = 0.0

    async def open(self) -> "McpConnection":
        """Connect, unless that is so already. A server that cannot be reached is an error."""
        async with self._opening:
            there = self._live.connection if self._live else None
            if there and await self._answers(there):
                return there
            await self._hang_up()
            live = _LiveSession(self.server, self._changed, timeout=self._timeout)
            await live.__aenter__()
            self._live, self._heard = live, monotonic()
            self._changed(live.loaded)
            if live.connection is None:
                raise ContextuneError(f"the server {self.server.called!r} hung up at once: try again")
            return live.connection

    async def call(self, name: str, args: Mapping[str, Any], told: "Told | None" = None) -> "CallToolResult":
        """What the server gives back, as it is; raises only where it was not called."""
        for again in (True, False):
            connection = await self.open()
            try:
                return await self._sent(connection, name, args, told)
            except Exception as error:
                await self._look_after(connection, error)
                # a server that was started anew knows nothing of the session, and did nothing
                if not (again and forgotten(error)):
                    return self._failed(error)
        raise AssertionError("the second time is the last")

    async def close(self) -> None:
        """Hang up; a server that was started is ended."""
        async with self._opening:
            await self._hang_up()

    async def _sent(
        self, connection: "McpConnection", name: str, args: Mapping[str, Any], told: "Told | None"
    ) -> "CallToolResult":
        import anyio

        async def come(progress: float, total: float | None, message: str | None) -> None:
            limit.deadline = anyio.current_time() + self._timeout
            if told:
                await told(progress, total, message)

        self._calls += 1
        try:
            with anyio.fail_after(self._timeout) as limit:
                answer = await connection.call(name, args, come)
        finally:
            self._calls -= 1
        self._heard = monotonic()
        return answer

    async def _answers(self, connection: "McpConnection") -> bool:
        """Whether it is still there: a call that is lost on a dead line may or may not have been made."""
        import anyio
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        if self._calls or monotonic() - self._heard < QUIET:
            return True
        version = connection.client.protocol_version
        try:
            with anyio.fail_after(_PATIENCE):
                if version in MODERN_PROTOCOL_VERSIONS:
                    await connection.client.session.send_discover(version)
                else:
                    await connection.client.session.send_ping()
        except Exception as error:
            return answered(error)
        self._heard = monotonic()
        return True

    async def _look_after(self, connection: "McpConnection", error: Exception) -> None:
        """Hang up on a line that is dead, and on one that does not answer unless others wait for it too."""
        if answered(error) or (isinstance(error, TimeoutError) and self._calls):
            return
        async with self._opening:
            if self._live and self._live.connection in (connection, None):
                await self._hang_up()

    async def _hang_up(self) -> None:
        live, self._live = self._live, None
        if live:
            with suppress(Exception):  # it is over in any case
                await live.__aexit__(None, None, None)

    def _failed(self, error: Exception) -> "CallToolResult":
        from mcp import MCPError
        from pydantic import ValidationError

        from contextune.serve.mcp.tool import refusal

        called = f"the server {self.server.called!r}"
        match error:
            case MCPError() if answered(error):
                return refusal(f"{called} answers with error {error.code}: {error.message}")
            case TimeoutError():
                waited = pluralize(self._timeout, "second")
                return refusal(f"{called} did not answer within {waited}: {_UNKNOWN}")
            case ValidationError():
                return refusal(f"{called} answers with something that is not the result of a call")
            case _:
                return refusal(f"{called} broke off before it had answered: {_UNKNOWN}; it is started anew")
