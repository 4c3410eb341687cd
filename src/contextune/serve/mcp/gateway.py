"""MCP gateway: all tools of many MCP servers behind two tools, one that searches and one that calls.

A client that connects to the servers directly carries every tool of every server in every prompt. Behind the
gateway it carries two, whatever the number of servers.
"""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from contextune.embed import Embedder
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError, PlanError, StoreError
from contextune.plan import Policy
from contextune.serve.mcp.arguments import check_arguments
from contextune.serve.mcp.lazy_tuner import CancellableProgress
from contextune.serve.mcp.permissions import EVERYTHING, ToolPermissions
from contextune.serve.mcp.permitted_tools import PermittedTools
from contextune.serve.mcp.upstream import UpstreamConnection
from contextune.serve.mcp.upstream_cache import load_cached_tools, save_tools
from contextune.serve.mcp.upstream_tools import UpstreamTools
from contextune.store import Store
from contextune.tools import LoadedTools, ToolMatches, ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.mcp.approvals import ApprovalFile
from contextune.tools.mcp.load import TIMEOUT, is_url, require_mcp, resolve_servers
from contextune.tuner import Tuner
from contextune.types import Feedback, Request, Tool

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from contextune.serve.mcp.tool import ProgressCallback

PARENT_CATALOGS = "CONTEXTUNE_GATEWAY"
"""Environment variable that tells started servers which catalogues they were started from."""
_RETRY_AFTER = 60.0
"""Seconds before a server that could not be reached is asked for its tools again."""
_LISTING_TIMEOUT = 15.0
"""Seconds that a search waits for servers that have not listed their tools yet."""
_SHUTDOWN_TIMEOUT = 10.0
_MAX_SEARCHES = 1000
"""Number of tools for which the last search that returned them is remembered."""
Confirm = Callable[[Tool, Mapping[str, Any]], Awaitable[None]]
"""Returns if the user agrees to a call, else raises a `ContextuneError`."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GatewayUser:
    """The user of a gateway: their data improves the ranking, and successful calls are stored for them."""

    store: Store
    user: str
    policy: Policy = field(default_factory=Policy)
    """Decides on the calls that `plan` returns."""


class Gateway:
    """The servers of an `mcp.json` (file or content), or the one at a URL; use in an `async with` block.

    A server is started when one of its tools is called, or when its tools are not cached.
    """

    def __init__(
        self,
        catalog: str | Path | Mapping[str, Any],
        *,
        user: GatewayUser | None = None,
        cache: CatalogFile | None = None,
        approvals: ApprovalFile | None = None,
        policy: Policy | None = None,
        embedder: Embedder | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """`cache` keeps tools and vectors between runs; without it every server lists its tools again.

        `approvals` pins the tools between runs; without it they are pinned as long as the gateway exists.
        `policy` decides which calls need confirmation; default: that of the user.
        """
        require_mcp()
        servers, self.refused = resolve_servers(catalog)
        if not servers:
            raise InvalidDataError("no usable server: add some under `mcpServers`")
        servers = [replace(server, name=server.label) for server in servers]
        chain = _catalog_chain(catalog)
        self._servers = {
            server.name: replace(server, env={**server.env, PARENT_CATALOGS: chain})
            if server.command
            else server
            for server in servers
        }
        self._connections = {
            name: UpstreamConnection(server, partial(self._set_tools, name), timeout=timeout)
            for name, server in self._servers.items()
        }
        self._user = user
        self._policy = policy or (user.policy if user else Policy())
        self._cache = cache
        self._embedder = embedder
        cached = load_cached_tools(cache, servers) if cache else {}
        self._tools = UpstreamTools(self._servers, approvals or ApprovalFile.temporary(), cached)
        self._uncached: set[str] = set()
        """Servers whose tools have changed since they were written to the cache."""
        self._failures: dict[str, tuple[float, str]] = {}
        """Time and message of the last failure, by server."""
        self._listing: dict[str, asyncio.Task[None]] = {}
        """Servers that are being started to list their tools."""
        self._listing_since = 0.0
        self._index: ToolRetriever | None = None
        self._tuner: Tuner | None = None
        self._index_lock = asyncio.Lock()
        self._last_search: OrderedDict[str, Request] = OrderedDict()
        """The last search that returned a tool, by tool id."""
        self._startup: asyncio.Task[Any] | None = None
        self._progress = CancellableProgress()

    async def __aenter__(self) -> Self:
        """Start listing and indexing tools in the background."""
        self._startup = asyncio.create_task(self._current_index())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the started servers, even if this task is cancelled."""
        import anyio

        self._progress.cancel()
        with anyio.move_on_after(_SHUTDOWN_TIMEOUT, shield=True):
            tasks = [task for task in (self._startup, *self._listing.values()) if task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(connection.close() for connection in self._connections.values()))

    @property
    def unavailable(self) -> dict[str, str]:
        """Servers whose tools are not known, with the reason."""
        starting = {name: f"the server {name!r} is still starting" for name in self._listing}
        failed = {name: message for name, (_, message) in self._failures.items()}
        return {name: reason for name, reason in {**failed, **starting}.items() if name not in self._tools}

    @property
    def refused_tools(self) -> dict[str, str]:
        """Listed tools that cannot be used, such as those with a schema over budget, with the reason."""
        return self._tools.refused

    async def search(self, query: str, k: int = 5, permissions: ToolPermissions = EVERYTHING) -> ToolMatches:
        """The best `k` tools for a query, and the probability that any of them fits.

        Tools that the caller may not use are not found.
        """
        index = await self._current_index()
        permitted = None if permissions == EVERYTHING else PermittedTools(permissions=permissions)
        if self._user is None or self._tuner is None:
            return await asyncio.to_thread(index.find, query, k, filter=permitted)
        request = Request(query, self._user.user)
        matches = await asyncio.to_thread(self._tuner.tools, request, k, filter=permitted)
        for hit in matches.hits:
            self._last_search[hit.tool.id] = request
            self._last_search.move_to_end(hit.tool.id)
        while len(self._last_search) > _MAX_SEARCHES:
            self._last_search.popitem(last=False)
        return matches

    async def tuner(self, permissions: ToolPermissions = EVERYTHING) -> Tuner:
        """The tuner over the user's data and the current tools that the caller may use."""
        await self._current_index()
        if self._tuner is None:
            raise InvalidRequestError("the gateway has no user: start it with a user to search their data")
        if permissions == EVERYTHING:
            return self._tuner
        return self._tuner.with_tools(None, PermittedTools(permissions=permissions))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        progress: "ProgressCallback | None" = None,
        confirm: Confirm | None = None,
        permissions: ToolPermissions = EVERYTHING,
    ) -> "CallToolResult":
        """Call a tool by its id, or by its name if that is unique; returns the server's result unchanged.

        Raises if the tool was not called: unknown to the caller, invalid arguments, unreachable server, or
        `confirm` raised, which is called before calls that the policy wants to be confirmed. Without it, such
        calls are refused. Whether the call succeeded is stored with the search that found the tool.
        """
        tool = await self._resolve(name, permissions)
        connection = self._connections[tool.app]
        await connection.open()  # updates the server's tools, which may have changed since they were cached
        tool = self._tools.resolve(tool.id)
        await asyncio.to_thread(check_arguments, tool, arguments)
        if self._policy.confirms(tool):
            if confirm is None:
                raise PlanError(f"{tool.id!r} was not called: it may change something and was not confirmed")
            await confirm(tool, arguments)
            if self._tools.resolve(tool.id) != tool:
                raise PlanError(f"{tool.id!r} was not called: its server changed it during the confirmation")
        result = await connection.call(tool.name, arguments, progress)
        await self._store_outcome(tool, ok=not result.is_error)
        return result

    async def _set_tools(self, name: str, loaded: LoadedTools) -> None:
        if await self._tools.update(name, loaded):
            self._uncached.add(name)
            self._index = None
        self._failures.pop(name, None)

    async def _resolve(self, name: str, permissions: ToolPermissions) -> Tool:
        """The tool that a name means; a bare name means it from now on, if the caller may use all tools."""
        await self._refresh()
        try:
            tool = self._tools.resolve(name, permissions)
        except InvalidDataError:  # its server may not have listed its tools yet
            await self._list_missing()
            tool = self._tools.resolve(name, permissions)
        if permissions == EVERYTHING and name != tool.id and not self._tools.owns_name(tool):
            await self._tools.bind_name(tool)
        return tool

    async def _refresh(self) -> None:
        """Use the tools that the user has approved meanwhile."""
        if changed := await self._tools.refresh():
            self._uncached.update(name for name in changed if name in self._tools)
            self._index = None

    async def _list_missing(self) -> None:
        """List the tools of all servers without known tools, in parallel and within a time limit.

        A server that failed recently is not asked again.
        """
        for name in self._servers:
            failed_at, _ = self._failures.get(name, (None, ""))
            due = failed_at is None or monotonic() - failed_at >= _RETRY_AFTER
            if due and name not in self._tools and name not in self._listing:
                self._listing[name] = asyncio.create_task(self._list_tools(name))
                self._listing_since = monotonic()
        if self._listing:
            remaining = self._listing_since + _LISTING_TIMEOUT - monotonic()
            await asyncio.wait(list(self._listing.values()), timeout=max(0.0, remaining))

    async def _list_tools(self, name: str) -> None:
        try:
            await self._connections[name].open()
        except ContextuneError as error:
            self._failures[name] = (monotonic(), str(error))
        finally:
            del self._listing[name]

    async def _current_index(self) -> ToolRetriever:
        """The index over the current tools, rebuilt if they have changed."""
        await self._refresh()
        await self._list_missing()
        async with self._index_lock:
            if self._index is not None:
                return self._index
            tools = self._tools.catalog
            uncached = {name: self._tools.cacheable(name) for name in self._uncached}
            self._uncached.clear()
            try:
                index = await asyncio.to_thread(self._build_index, tools, uncached)
            except BaseException:
                self._uncached |= uncached.keys()
                raise
            if self._user:
                self._tuner = Tuner(
                    self._user.store,
                    embedder=self._embedder,
                    tools=index,
                    policy=self._user.policy,
                    progress=self._progress,
                )
            if tools is self._tools.catalog:  # else the next search rebuilds it
                self._index = index
            return index

    def _build_index(self, tools: Sequence[Tool], uncached: Mapping[str, Sequence[Tool]]) -> ToolRetriever:
        if self._cache:
            try:
                save_tools(self._cache, self._servers, uncached)
                return self._retriever(tools, vector_cache=self._cache)
            except StoreError as error:  # the cache only saves time
                _log.warning("cannot write the tool cache: %s", error)
                self._cache = None
        return self._retriever(tools)

    def _retriever(self, tools: Sequence[Tool], **options: Any) -> ToolRetriever:
        """A retriever in which no server can recommend its tools for everything."""
        return ToolRetriever(tools, self._embedder, bounded=True, progress=self._progress, **options)

    async def _store_outcome(self, tool: Tool, *, ok: bool) -> None:
        """Store feedback for the search that found the tool; a call without a search is not stored."""
        request = self._last_search.get(tool.id)
        if self._user is None or request is None:
            return
        feedback = Feedback(request, tool=tool.id, ok=ok)
        try:
            await asyncio.to_thread(self._user.store.put_feedback, self._user.user, feedback)
        except ContextuneError as error:  # the call was made, and its result must not be lost
            _log.warning("cannot store the outcome of a call: %s", type(error).__name__)


def _catalog_chain(catalog: str | Path | Mapping[str, Any]) -> str:
    """The catalogue and those it was started from; raises if it would start itself in a loop."""
    chain = os.environ.get(PARENT_CATALOGS, "")
    if isinstance(catalog, Mapping) or is_url(catalog):
        return chain
    path = str(Path(catalog).resolve())
    if path in chain.split(os.pathsep):
        raise InvalidDataError(
            f"{path}: starts this gateway, which would start it again: move the other servers to another file"
        )
    return os.pathsep.join(filter(None, (chain, path)))
