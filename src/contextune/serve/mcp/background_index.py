"""The index of the upstream servers' tools, rebuilt in the background while searches use the last one."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from time import monotonic

from contextune.tools import Catalog, ToolRetriever
from contextune.tools.mcp.live_catalog import next_pause
from contextune.tools.retriever import FEW_TOOLS
from contextune.types import Tool

STEP = 1000
"""New tools that are indexed at once, so that a server with thousands does not hold up the others."""
_log = logging.getLogger(__name__)


class ChangePace:
    """When the next change of a server is indexed: ever later while one change follows the other."""

    def __init__(self) -> None:
        self._pause = 0.0
        self.due = float("-inf")
        """Time at which the next change may be indexed."""

    def accept(self, now: float) -> None:
        """A change is indexed now."""
        self._pause = next_pause(self._pause, now - self.due)
        self.due = now + self._pause


class BackgroundIndex:
    """Searches never wait for it, but for the first index, and for changes that they ask to wait for."""

    def __init__(
        self,
        current: Callable[[], Mapping[str, Sequence[Tool]]],
        build: Callable[[Catalog], ToolRetriever],
        *,
        quick: Callable[[Catalog], ToolRetriever] | None = None,
        step: int = STEP,
    ) -> None:
        """`current` returns the tools by server, `build` runs in a thread.

        `quick` builds an index without vectors, to search until the first one with many tools is built.
        """
        self._current = current
        self._build, self._quick = build, quick
        self._step = step
        self._indexed: dict[str, tuple[Tool, ...]] = {}
        self._changed: set[str] = set()
        """Servers whose tools are not indexed as they are."""
        self._building: set[str] = set()
        """Those of them that are being indexed."""
        self._paces: dict[str, ChangePace] = {}
        self._wake = asyncio.Event()
        self._built = asyncio.Event()
        """Set, and replaced, after each build."""
        self._failure: Exception | None = None
        """What the last build raised."""
        self._required = False
        """Whether a search waits for the first index, even if there is no tool."""
        self._index: ToolRetriever | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to index; needs a running event loop."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Begin no further build."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def is_current(self) -> bool:
        """Whether all tools are indexed as they are now."""
        return not (self._changed or self._building)

    def change(self, server: str, *, at_once: bool = False) -> None:
        """Index the tools of a server again, once its pace permits it; or now, if the user wants it."""
        if at_once:
            self._paces.pop(server, None)
        self._changed.add(server)
        self._wake.set()

    async def get(self, patience: float = 0.0) -> ToolRetriever:
        """The index; waits for the first one, and up to `patience` seconds for changes that are due.

        Raises what the first build raised; the next call tries again.
        """
        self.start()
        end = monotonic() + patience
        if self._index is None:
            self._required = True
            self._paces.clear()
            self._wake.set()
        while self._index is None or ((self._building or self._due()) and monotonic() < end):
            timeout = None if self._index is None else end - monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._built.wait()
            if self._index is None and self._failure:
                raise self._failure
        return self._index

    def _due(self) -> set[str]:
        now = monotonic()
        return {name for name in self._changed if name not in self._paces or self._paces[name].due <= now}

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            due = self._due()
            if due or self._required:
                await self._build_next(due)
                continue
            waits = [self._paces[name].due for name in self._changed]
            timeout = max(0.0, min(waits) - monotonic()) if waits else None
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._wake.wait()

    async def _build_next(self, changed: set[str]) -> None:
        """Build one index, with the changes of some servers; after a failure they are due again later."""
        self._changed -= changed
        self._building = changed
        self._required = False
        finished, unfinished = changed, changed
        try:
            tools = {name: tuple(listed) for name, listed in self._current().items()}
            chosen, partial = await asyncio.to_thread(choose_tools, self._indexed, tools, changed, self._step)
            if self._index is None and self._quick and sum(map(len, chosen.values())) > FEW_TOOLS:
                self._index = await asyncio.to_thread(self._build_of, chosen, self._quick)
                self._announce()
            self._index = await asyncio.to_thread(self._build_of, chosen, self._build)
            self._indexed, self._failure = chosen, None
            finished, unfinished = changed - partial, partial
        except Exception as error:
            _log.warning("cannot index the tools of the servers: %s", type(error).__name__)
            self._failure = error
        finally:
            self._building = set()
            self._changed |= unfinished
        now = monotonic()
        for name in finished:
            self._paces.setdefault(name, ChangePace()).accept(now)
        self._announce()

    def _announce(self) -> None:
        self._built.set()
        self._built = asyncio.Event()

    def _build_of(
        self, tools: Mapping[str, Sequence[Tool]], build: Callable[[Catalog], ToolRetriever]
    ) -> ToolRetriever:
        return build(Catalog(tool for listed in tools.values() for tool in listed))


def choose_tools(
    indexed: Mapping[str, Sequence[Tool]],
    current: Mapping[str, Sequence[Tool]],
    changed: Collection[str],
    step: int,
) -> tuple[dict[str, tuple[Tool, ...]], set[str]]:
    """The tools of the next index by server, at most `step` of them new, and the servers that need another.

    Servers with few new tools come first, so that they wait for none with many.
    """
    known = {name: {tool.id: tool for tool in indexed.get(name, ())} for name in changed}
    new = {
        name: [tool.id for tool in current.get(name, ()) if known[name].get(tool.id) != tool]
        for name in changed
    }
    chosen = {name: tuple(indexed.get(name, ())) for name in current}
    unfinished: set[str] = set()
    room = step
    for name in sorted(changed, key=lambda name: len(new[name])):
        taken, left = set(new[name][:room]), set(new[name][room:])
        room -= len(taken)
        chosen[name] = tuple(tool for tool in current.get(name, ()) if tool.id not in left)
        if left:
            unfinished.add(name)
    return chosen, unfinished
