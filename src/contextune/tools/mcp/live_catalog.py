"""The tools of an MCP server, kept up to date: an open connection that lists them again when they change."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from contextune.errors import ContextuneError, InvalidDataError
from contextune.tools.catalog import LoadedTools
from contextune.tools.mcp.config import McpServer
from contextune.tools.mcp.errors import why
from contextune.tools.mcp.load import TIMEOUT, as_loaded, as_servers, check_installed

if TYPE_CHECKING:
    import anyio

    from contextune.tools.mcp.connection import McpConnection

_log = logging.getLogger(__name__)


class LiveCatalog:
    """A server's tools in an `async with` block; `changed` is called with the new ones when they change.

    `changed` may be a plain or an async function. What it raises ends the listening, and is raised
    at the end of the block.
    """

    def __init__(
        self,
        server: McpServer | str,
        changed: Callable[[LoadedTools], object],
        *,
        app: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """`server` may be a URL; `app` is what to call one that has no name."""
        servers, refused = as_servers(server, app)
        if len(servers) != 1 or refused:
            raise InvalidDataError("a live catalogue is of one server: give a Server, or a URL")
        self._server = servers[0]
        self._changed = changed
        self._timeout = timeout
        self._task: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._connection: McpConnection | None = None
        self._failure: Exception | None = None
        self.loaded = LoadedTools(())
        """The tools as they are now."""

    async def __aenter__(self) -> Self:
        """Connect, and list the tools; a server that cannot be reached is an error."""
        check_installed()
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._serve(ready))
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait((self._task, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not ready.is_set():
                self._task.cancel()
        if not ready.is_set():
            await self._task
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up."""
        if self._scope:
            self._scope.cancel()
        if self._task:
            await self._task

    async def _serve(self, ready: asyncio.Event) -> None:
        import anyio

        from contextune.tools.mcp.connection import connect

        heard = asyncio.Event()
        try:
            with anyio.CancelScope() as self._scope, anyio.fail_after(self._timeout) as limit:
                async with connect(self._server, self._timeout, heard.set) as self._connection:
                    self.loaded = await self._listed(self._connection)
                    limit.deadline = float("inf")
                    ready.set()
                    await self._keep_up(self._connection, heard)
        except Exception as error:
            if ready.is_set():
                raise
            reason = why(error, self._server, self._timeout)
            raise ContextuneError(f"the server {self._server.called!r} {reason}") from None
        finally:
            self._connection = None
        if self._failure:
            raise self._failure

    async def _keep_up(self, connection: "McpConnection", heard: asyncio.Event) -> None:
        listening = asyncio.create_task(connection.listen(heard.set))
        try:
            while True:
                await heard.wait()
                heard.clear()
                if await self._is_new(connection):
                    told = self._changed(self.loaded)
                    if inspect.isawaitable(told):
                        await told
        except Exception as error:
            self._failure = error  # to be raised as it is, and not in a group with the connection's
        finally:
            listening.cancel()

    async def _is_new(self, connection: "McpConnection") -> bool:
        import anyio

        try:
            with anyio.fail_after(self._timeout):
                loaded = await self._listed(connection)
        except Exception as error:
            reason = why(error, self._server, self._timeout)
            _log.warning("the server %r, asked for its new tools, %s", self._server.called, reason)
            return False
        new = loaded != self.loaded
        self.loaded = loaded
        return new

    async def _listed(self, connection: "McpConnection") -> LoadedTools:
        return as_loaded(self._server, connection, await connection.tools())
