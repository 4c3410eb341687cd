"""LiveCatalog: the tools of an MCP server, kept up to date over an open connection."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from contextune.errors import ContextuneError, InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.mcp.config import McpServer
from contextune.tools.mcp.errors import explain_error
from contextune.tools.mcp.load import TIMEOUT, require_mcp, resolve_servers, tools_from_listing

if TYPE_CHECKING:
    import anyio

    from contextune.tools.mcp.connection import McpConnection

_PAUSE, _MAX_PAUSE = 1.0, 60.0
"""Seconds until the next change of a server is accepted; doubled with each that follows soon."""
_log = logging.getLogger(__name__)


def next_pause(pause: float, quiet: float) -> float:
    """Seconds until the next change is accepted, after one that came `quiet` seconds after the last pause."""
    return _PAUSE if quiet > 2 * pause else min(_MAX_PAUSE, 2 * pause)


class LiveCatalog:
    """A server's tools in an `async with` block; `on_change` is called with the new list when it changes.

    `on_change` may be a function or an async function. If it raises, updates stop, and the exception is
    raised at the end of the block.
    """

    def __init__(
        self,
        server: McpServer | str,
        on_change: Callable[[LoadedTools], object],
        *,
        app: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """`server` may be a URL; `app` is the name of a server that has none."""
        servers, refused = resolve_servers(server, app)
        if len(servers) != 1 or refused:
            raise InvalidDataError("LiveCatalog takes one server: pass an McpServer or a URL")
        self._server = servers[0]
        self._on_change = on_change
        self._timeout = timeout
        self._task: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._connection: McpConnection | None = None
        self._failure: Exception | None = None
        self.loaded = LoadedTools(())
        """The current tools."""

    async def __aenter__(self) -> Self:
        """Connect and list the tools; raises `ContextuneError` if the server cannot be reached."""
        require_mcp()
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._serve(ready))
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait((self._task, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not ready.is_set():
                await self._give_up(self._task)
        if not ready.is_set():
            await self._task
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect."""
        if self._scope:
            self._scope.cancel()
        if self._task:
            await self._task

    async def _give_up(self, task: asyncio.Task[None]) -> None:
        """Stop connecting, and wait until a started server is stopped."""
        import anyio

        if self._scope:
            self._scope.cancel()  # cancelling the task could interrupt the stopping
        else:
            task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait((task,))

    async def _serve(self, ready: asyncio.Event) -> None:
        import anyio

        from contextune.tools.mcp.connection import connect

        changed = asyncio.Event()
        try:
            with anyio.CancelScope() as self._scope, anyio.fail_after(self._timeout) as limit:
                async with connect(self._server, self._timeout, changed.set) as self._connection:
                    self.loaded = await self._list(self._connection)
                    limit.deadline = float("inf")
                    ready.set()
                    await self._watch(self._connection, changed)
        except Exception as error:
            if ready.is_set():
                raise
            reason = explain_error(error, self._server, self._timeout)
            raise ContextuneError(f"the server {self._server.label!r} {reason}") from None
        finally:
            self._connection = None
        if self._failure:
            raise self._failure

    async def _watch(self, connection: "McpConnection", changed: asyncio.Event) -> None:
        listening = asyncio.create_task(connection.listen(changed.set))
        pause = _PAUSE
        try:
            while True:
                quiet_since = monotonic()
                await changed.wait()
                pause = next_pause(pause, monotonic() - quiet_since)
                changed.clear()
                if await self._reload(connection):
                    result = self._on_change(self.loaded)
                    if inspect.isawaitable(result):
                        await result
                await asyncio.sleep(pause)  # a server that renames its tools all the time costs little
        except Exception as error:
            self._failure = error  # raised later by itself, not in a group with the connection's errors
        finally:
            listening.cancel()

    async def _reload(self, connection: "McpConnection") -> bool:
        """List the tools again; whether they differ."""
        import anyio

        try:
            with anyio.fail_after(self._timeout):
                loaded = await self._list(connection)
        except Exception as error:
            reason = explain_error(error, self._server, self._timeout)
            _log.warning("cannot update the tools: the server %r %s", self._server.label, reason)
            return False
        differs = loaded != self.loaded
        self.loaded = loaded
        return differs

    async def _list(self, connection: "McpConnection") -> LoadedTools:
        tools = await connection.list_tools()
        return await asyncio.to_thread(tools_from_listing, self._server, connection, tools)
