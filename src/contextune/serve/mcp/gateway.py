"""MCP gateway: all tools of many MCP servers behind two tools, one that searches and one that calls.

A client that connects to the servers directly carries every tool of every server in every prompt. Behind the
gateway it carries two, whatever the number of servers.
"""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from contextune.embed import Embedder
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError, PlanError, StoreError
from contextune.plan import Policy
from contextune.serve.mcp.background_index import BackgroundIndex
from contextune.serve.mcp.lazy_tuner import CancellableProgress
from contextune.serve.mcp.permissions import EVERYTHING, ToolPermissions
from contextune.serve.mcp.permitted_tools import PermittedTools
from contextune.serve.mcp.upstream import UpstreamConnection
from contextune.serve.mcp.upstream_tools import UpstreamTools, check_arguments, load_cached_tools, save_tools
from contextune.store import Store
from contextune.tools import Catalog, LoadedTools, ToolMatches, ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import MemoryVectorCache, VectorCache
from contextune.tools.mcp.approvals import ApprovalFile
from contextune.tools.mcp.load import TIMEOUT, is_url, require_mcp, resolve_servers
from contextune.tools.retriever import check_min_fit
from contextune.tuner import Tuner
from contextune.types import Feedback, Request, Tool

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from contextune.serve.mcp.tool import ProgressCallback

PARENT_CATALOGS = "CONTEXTUNE_GATEWAY"
"""Environment variable that tells started servers which catalogues they were started from."""
_RETRY_AFTER = 60.0
"""Seconds before a server that could not be reached is asked for its tools again."""
_GRACE = 2.0
"""Seconds after the start in which a search waits for servers to list their tools, and for their index."""
_LISTING_TIMEOUT = 15.0
"""Seconds that a search waits while no server has listed its tools, and a call while its own has not."""
_APPROVAL_TIMEOUT = 10.0
"""Seconds that a search waits for the index of tools that the user has just approved."""
_MAX_CACHED_VECTORS = 20_000
"""Vectors of tools that are kept in memory without a cache file."""
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
        min_fit: float | None = None,
        embedder: Embedder | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """`cache` keeps tools and vectors between runs; without it every server lists its tools again.

        `approvals` pins the tools between runs; without it they are pinned as long as the gateway exists.
        `policy` decides which calls need confirmation; default: that of the user. Where the probability that
        any tool fits is below `min_fit`, the model is told that none does.
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
        self._min_fit = check_min_fit(min_fit)
        self._policy = policy or (user.policy if user else Policy())
        self._cache = cache
        self._embedder = embedder
        cached = load_cached_tools(cache, servers) if cache else {}
        self._tools = UpstreamTools(self._servers, approvals or ApprovalFile.temporary(), cached)
        self._failures: dict[str, tuple[float, str]] = {}
        """Time and message of the last failure, by server."""
        self._listing: dict[str, asyncio.Task[None]] = {}
        """Servers that are being started to list their tools."""
        self._started = monotonic()
        self._index = BackgroundIndex(
            lambda: self._tools.by_server, self._build_index, quick=self._words_index
        )
        self._vectors = MemoryVectorCache(_MAX_CACHED_VECTORS)
        self._tuner: Tuner | None = None
        self._tuner_index: ToolRetriever | None = None
        """The index that the tuner uses."""
        self._last_search: OrderedDict[str, Request] = OrderedDict()
        """The last search that returned a tool, by tool id."""
        self._progress = CancellableProgress()

    async def __aenter__(self) -> Self:
        """Start listing and indexing tools in the background."""
        self._started = monotonic()
        self._list_missing()
        for name in self._tools.by_server:
            self._index.change(name)
        self._index.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the started servers, even if this task is cancelled."""
        import anyio

        self._progress.cancel()
        with anyio.move_on_after(_SHUTDOWN_TIMEOUT, shield=True):
            await self._index.stop()
            tasks = list(self._listing.values())
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

        Tools that the caller may not use are not found, nor those that were changed since they were indexed.
        """
        index = await self._current_index()
        permitted = self._filter(permissions)
        if self._user is None:
            return await asyncio.to_thread(index.find, query, k, filter=permitted)
        request = Request(query, self._user.user)
        tuner = self._tuner_over(index, self._user)
        matches = await asyncio.to_thread(tuner.tools, request, k, filter=permitted)
        for hit in matches.hits:
            self._last_search[hit.tool.id] = request
            self._last_search.move_to_end(hit.tool.id)
        while len(self._last_search) > _MAX_SEARCHES:
            self._last_search.popitem(last=False)
        return matches

    async def tuner(self, permissions: ToolPermissions = EVERYTHING) -> Tuner:
        """The tuner over the user's data and the current tools that the caller may use."""
        index = await self._current_index()
        if self._user is None:
            raise InvalidRequestError("the gateway has no user: start it with a user to search their data")
        tuner, permitted = self._tuner_over(index, self._user), self._filter(permissions)
        return tuner.with_tools(None, permitted) if permitted else tuner

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
            self._index.change(name)
            await asyncio.to_thread(self._save_tools, name)
        self._failures.pop(name, None)

    async def _resolve(self, name: str, permissions: ToolPermissions) -> Tool:
        """The tool that a name means; a bare name means it from now on, if the caller may use all tools.

        Waits for the server of an id only; for all servers if a bare name is not bound to a tool.
        """
        await self._refresh()
        try:
            tool = self._tools.resolve(name, permissions)
        except InvalidDataError:  # its server may not have listed its tools yet
            self._list_missing()
            meant = self._tools.servers_of(name)
            if tasks := [task for server, task in self._listing.items() if server in meant]:
                await asyncio.wait(tasks, timeout=_LISTING_TIMEOUT)
            tool = self._tools.resolve(name, permissions)
        if permissions == EVERYTHING and name != tool.id and not self._tools.owns_name(tool):
            await self._tools.bind_name(tool)
        return tool

    async def _refresh(self) -> bool:
        """Use the tools that the user has approved meanwhile; whether there are any."""
        changed = await self._tools.refresh()
        for name in changed:
            self._index.change(name, at_once=True)
            if name in self._tools:
                await asyncio.to_thread(self._save_tools, name)
        return bool(changed)

    def _list_missing(self) -> None:
        """Start to list the tools of all servers without known tools.

        A server that failed recently is not asked again.
        """
        for name in self._servers:
            failed_at, _ = self._failures.get(name, (None, ""))
            due = failed_at is None or monotonic() - failed_at >= _RETRY_AFTER
            if due and name not in self._tools and name not in self._listing:
                self._listing[name] = asyncio.create_task(self._list_tools(name))

    async def _wait_for_first_tools(self) -> None:
        """Wait for all servers shortly after the start, and longer while none has listed its tools."""
        if self._listing:
            grace = max(0.0, self._started + _GRACE - monotonic())
            await asyncio.wait(list(self._listing.values()), timeout=grace)
        while self._listing and not self._tools.by_server:
            remaining = self._started + _LISTING_TIMEOUT - monotonic()
            if remaining <= 0:
                break
            await asyncio.wait(
                list(self._listing.values()), timeout=remaining, return_when=asyncio.FIRST_COMPLETED
            )

    async def _list_tools(self, name: str) -> None:
        try:
            await self._connections[name].open()
        except ContextuneError as error:
            self._failures[name] = (monotonic(), str(error))
        finally:
            del self._listing[name]

    async def _current_index(self) -> ToolRetriever:
        """The index over the tools, which may be behind them; waits for it only after the start."""
        is_approved = await self._refresh()
        self._list_missing()
        await self._wait_for_first_tools()
        grace = self._started + _GRACE - monotonic()
        return await self._index.get(max(grace, _APPROVAL_TIMEOUT if is_approved else 0.0))

    def _filter(self, permissions: ToolPermissions) -> PermittedTools | None:
        """The filter of the indexed tools for a caller; None if all may be used."""
        if self._index.is_current:
            return None if permissions == EVERYTHING else PermittedTools(permissions=permissions)
        return PermittedTools(permissions=permissions, is_usable=self._tools.is_usable)

    def _tuner_over(self, index: ToolRetriever, user: GatewayUser) -> Tuner:
        """The tuner with the current index; what it knows of the user's data is kept when that changes."""
        if self._tuner is None:
            self._tuner = Tuner(
                user.store,
                embedder=self._embedder,
                tools=index,
                policy=user.policy,
                min_fit=self._min_fit,
                progress=self._progress,
            )
        elif self._tuner_index is not index:
            self._tuner = self._tuner.with_tools(index)
        self._tuner_index = index
        return self._tuner

    def _save_tools(self, name: str) -> None:
        """Write the tools of a server to the cache; runs in a thread."""
        if self._cache:
            try:
                save_tools(self._cache, self._servers, {name: self._tools.cacheable(name)})
            except StoreError as error:
                self._give_up_cache(error)

    def _give_up_cache(self, error: StoreError) -> None:
        """Go on without the cache, which only saves time."""
        _log.warning("cannot write the tool cache: %s", error)
        self._cache = None

    def _build_index(self, tools: Catalog) -> ToolRetriever:
        """Index tools; runs in a thread."""
        if self._cache:
            try:
                return self._retriever(tools, self._cache)
            except StoreError as error:
                self._give_up_cache(error)
        return self._retriever(tools, self._vectors)

    def _retriever(self, tools: Catalog, cache: VectorCache) -> ToolRetriever:
        """A retriever in which no server can recommend its tools for everything."""
        return ToolRetriever(
            tools,
            self._embedder,
            bounded=True,
            min_fit=self._min_fit,
            vector_cache=cache,
            progress=self._progress,
        )

    def _words_index(self, tools: Catalog) -> ToolRetriever:
        """A retriever by words; runs in a thread."""
        return ToolRetriever(tools, self._embedder, method="bm25", bounded=True, min_fit=self._min_fit)

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
