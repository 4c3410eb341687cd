"""Many MCP servers behind two tools: one that searches theirs, and one that calls them.

A client that knows them one by one carries every tool of every server in every prompt. Behind the gateway
it carries two, however many there are.
"""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from contextune._internal.json_schema import checker
from contextune.embed import Embedder
from contextune.errors import ContextuneError, InvalidDataError, InvalidRequestError, PlanError, StoreError
from contextune.serve.mcp.lazy_tuner import CancellableProgress
from contextune.serve.mcp.upstream import UpstreamConnection
from contextune.serve.mcp.upstream_cache import keep_tools, kept_tools
from contextune.store import Store
from contextune.tools import Catalog, LoadedTools, ToolMatches, ToolRetriever
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.mcp.load import TIMEOUT, as_servers, check_installed, is_url
from contextune.tuner import Tuner
from contextune.types import Feedback, Request, Tool

_TOLD = 5


def check_arguments(tool: Tool, args: Mapping[str, Any]) -> None:
    """Raise an error that says what is wrong with them. A schema that cannot be read checks nothing."""
    if found := _faults(tool.parameters, args):
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        raise PlanError(f"{tool.id!r} was not called: {'; '.join(found[:_TOLD])}{more}")


def _faults(schema: Mapping[str, Any], args: Mapping[str, Any]) -> list[str]:
    try:
        errors = sorted(
            checker(schema).iter_errors(dict(args)), key=lambda error: list(map(str, error.absolute_path))
        )
    except Exception:  # whatever a library makes of a schema that is none: the server is the judge
        return []
    return [_said(error) for error in errors]


def _said(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path))
    message = str(error.message)
    return f"{where}: {message}" if where else message


if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from contextune.serve.mcp.tool import Told

WITHIN = "CONTEXTUNE_GATEWAY"
"""The environment variable in which servers are told which catalogues they are started from."""
_AGAIN = 60.0
"""Seconds after which a server that could not be asked for its tools is asked again."""
_LATE = 15.0
"""Seconds after which servers that still have not said what they offer are no longer waited for."""
_PATIENCE = 10.0
"""Seconds that servers have to end."""
_REMEMBERED = 1000
"""Tools of which the search that found them last is remembered."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GatewayUser:
    """Whose gateway it is: their data helps to choose, and what served them is kept in their store."""

    store: Store
    user: str


class Gateway:
    """The servers of an `mcp.json`, of what stands in one, or at a URL; for an `async with` block.

    A server is started when one of its tools is called, or when nothing is known of its tools yet.
    """

    def __init__(
        self,
        catalog: str | Path | Mapping[str, Any],
        *,
        person: GatewayUser | None = None,
        shelf: CatalogFile | None = None,
        embedder: Embedder | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """`shelf` keeps tools and their vectors from one run to the next; without it all are asked anew."""
        check_installed()
        found, self.refused = as_servers(catalog)
        if not found:
            raise InvalidDataError("there is no server that could be used: name some under `mcpServers`")
        servers = [replace(server, name=server.called) for server in found]
        within = _within(catalog)
        self._servers = {
            server.name: replace(server, env={**server.env, WITHIN: within}) if server.command else server
            for server in servers
        }
        self._lines = {
            name: UpstreamConnection(server, partial(self._changed, name), timeout=timeout)
            for name, server in self._servers.items()
        }
        self._person = person
        self._shelf = shelf
        self._embedder = embedder
        self._tools: dict[str, tuple[Tool, ...]] = kept_tools(shelf, servers) if shelf else {}
        self._new: set[str] = set()
        self._failed: dict[str, tuple[float, str]] = {}
        self._knowing: dict[str, asyncio.Task[None]] = {}
        self._since = 0.0
        self._catalog: Catalog | None = None
        self._index: ToolRetriever | None = None
        self._tuner: Tuner | None = None
        self._building = asyncio.Lock()
        self._asked: OrderedDict[str, Request] = OrderedDict()
        self._starting: asyncio.Task[Any] | None = None
        self._heed = CancellableProgress()

    async def __aenter__(self) -> Self:
        """Get ready in the background: ask the servers of which nothing is known, and index their tools."""
        self._starting = asyncio.create_task(self._ready())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the servers that were started, also where this is cancelled itself."""
        import anyio

        self._heed.end()
        with anyio.move_on_after(_PATIENCE, shield=True):
            for task in (self._starting, *self._knowing.values()):
                if task:
                    task.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await task
            await asyncio.gather(*(line.close() for line in self._lines.values()))

    @property
    def unreached(self) -> dict[str, str]:
        """Servers of whose tools nothing is known, and why."""
        starting = {name: f"the server {name!r} is still starting" for name in self._knowing}
        failed = {name: why for name, (_, why) in self._failed.items()}
        return {name: why for name, why in {**failed, **starting}.items() if name not in self._tools}

    async def search(self, query: str, k: int = 5) -> ToolMatches:
        """The best `k` tools for what is wanted, and how probable it is that any serves it."""
        index = await self._ready()
        if self._person is None or self._tuner is None:
            return await asyncio.to_thread(index.find, query, k)
        asked = Request(query, self._person.user)
        found = await asyncio.to_thread(self._tuner.tools, asked, k)
        for hit in found.hits:
            self._asked[hit.tool.id] = asked
            self._asked.move_to_end(hit.tool.id)
        while len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return found

    async def tuner(self) -> Tuner:
        """The whole way of a request, over the tools there are now."""
        await self._ready()
        if self._tuner is None:
            raise InvalidRequestError("nobody's data is searched here: start the gateway with a user")
        return self._tuner

    async def call(self, name: str, args: Mapping[str, Any], told: "Told | None" = None) -> "CallToolResult":
        """Call a tool by its id, or by its name if no other has it; what it gives back comes as it is.

        Raises where nothing was called: there is no such tool, it does not take that, its server cannot
        be reached. Whether a call worked is remembered for the search that found the tool.
        """
        try:
            tool = self._tool(name)
        except InvalidDataError:  # so far
            await self._know_all()
            tool = self._tool(name)
        line = self._lines[tool.app]
        await line.open()  # what the server says of the tool now counts, not what it said last time
        tool = self._tool(tool.id)
        check_arguments(tool, args)
        result = await line.call(tool.name, args, told)
        await self._remember(tool, ok=not result.is_error)
        return result

    def _tool(self, name: str) -> Tool:
        if self._catalog is None:
            self._catalog = Catalog(self._all())
        try:
            return self._catalog.tool(name)
        except InvalidDataError as error:
            raise InvalidDataError(f"{error}; search_tools finds those there are") from None

    def _all(self) -> Sequence[Tool]:
        """Every tool once, in the order of the servers; ids of odd names may be the same by chance."""
        found: dict[str, Tool] = {}
        for name in self._servers:
            for tool in self._tools.get(name, ()):
                found.setdefault(tool.id, tool)
        return tuple(found.values())

    def _changed(self, name: str, loaded: LoadedTools) -> None:
        self._failed.pop(name, None)
        if self._tools.get(name) != loaded.tools:
            self._tools[name] = loaded.tools
            self._new.add(name)
            self._catalog = self._index = None

    async def _know_all(self) -> None:
        """Ask the servers, side by side, of which nothing is known; a slow one is not waited for long.

        One that fails is not asked again at once.
        """
        for name in self._servers:
            failed, _ = self._failed.get(name, (None, ""))
            late = failed is None or monotonic() - failed >= _AGAIN
            if late and name not in self._tools and name not in self._knowing:
                self._knowing[name] = asyncio.create_task(self._know(name))
                self._since = monotonic()
        if self._knowing:
            left = self._since + _LATE - monotonic()
            await asyncio.wait(list(self._knowing.values()), timeout=max(0.0, left))

    async def _know(self, name: str) -> None:
        try:
            await self._lines[name].open()
        except ContextuneError as error:
            self._failed[name] = (monotonic(), str(error))
        finally:
            del self._knowing[name]

    async def _ready(self) -> ToolRetriever:
        """The tools there are now, ready to be searched."""
        await self._know_all()
        async with self._building:
            if self._index is not None:
                return self._index
            tools, new = self._all(), {name: self._tools[name] for name in self._new}
            self._new.clear()
            try:
                index = await asyncio.to_thread(self._built, tools, new)
            except BaseException:
                self._new |= new.keys()
                raise
            if self._person:
                self._tuner = Tuner(
                    self._person.store, embedder=self._embedder, tools=index, progress=self._heed
                )
            if tools == self._all():  # what has changed in the meantime is for the next search
                self._index = index
            return index

    def _built(self, tools: Sequence[Tool], new: Mapping[str, Sequence[Tool]]) -> ToolRetriever:
        if self._shelf:
            try:
                keep_tools(self._shelf, self._servers, new)
                return ToolRetriever(tools, self._embedder, shelf=self._shelf, progress=self._heed)
            except StoreError as error:  # it saves time, and is needed for nothing else
                _log.warning("what servers offer cannot be kept: %s", error)
                self._shelf = None
        return ToolRetriever(tools, self._embedder, progress=self._heed)

    async def _remember(self, tool: Tool, *, ok: bool) -> None:
        """Keep it with the search that found the tool; a call that nobody searched for says little."""
        asked = self._asked.get(tool.id)
        if self._person is None or asked is None:
            return
        kept = Feedback(asked, tool=tool.id, ok=ok)
        try:
            await asyncio.to_thread(self._person.store.put_feedback, self._person.user, kept)
        except ContextuneError as error:  # the call was made: what came of it is not to be lost
            _log.warning("a call could not be remembered: %s", type(error).__name__)


def _within(catalog: str | Path | Mapping[str, Any]) -> str:
    """The catalogue and those it is started from: one that leads back to itself would start without end."""
    chain = os.environ.get(WITHIN, "")
    if isinstance(catalog, Mapping) or is_url(catalog):
        return chain
    path = str(Path(catalog).resolve())
    if path in chain.split(os.pathsep):
        raise InvalidDataError(
            f"{path}: starts this gateway, which would start it again: keep the other servers in another file"
        )
    return os.pathsep.join(filter(None, (chain, path)))
