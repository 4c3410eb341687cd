"""The tools of all upstream servers: which may be used, which of them a name means, and valid arguments."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextune._internal.json_schema import CompiledSchema, SchemaBudgetError
from contextune.errors import InvalidDataError, PlanError
from contextune.serve.mcp.permissions import EVERYTHING, ToolPermissions
from contextune.tools import LoadedTools
from contextune.tools.catalog import RefusedTool
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.loaders import McpServer
from contextune.tools.mcp.approvals import Approval, ApprovalFile, review
from contextune.types import Tool

_UNKNOWN = "there is no tool {name!r} in the catalogue; search_tools finds those there are"
_MAX_VIOLATIONS = 5


@dataclass(frozen=True, slots=True)
class _Reviewed:
    """The tools of a server after their review."""

    loaded: LoadedTools
    known: dict[str, Approval]
    by_id: dict[str, Tool]
    refused: dict[str, str]


class UpstreamTools:
    """The usable tools of each server that has listed them, by server name."""

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        approvals: ApprovalFile,
        cached: Mapping[str, Sequence[Tool]],
    ) -> None:
        """`cached` are the tools of earlier runs."""
        self._servers = servers
        self._approvals = approvals
        self._known = {name: approvals.of_server(server.key) for name, server in servers.items()}
        """Approvals of all tools that a server has or had, by tool id."""
        self._listed: dict[str, LoadedTools] = {}
        """Tools as servers have listed them in this run."""
        self._usable: dict[str, LoadedTools] = {}
        self._by_id: dict[str, dict[str, Tool]] = {}
        """The usable tools of each server, by id."""
        self._refused: dict[str, dict[str, str]] = {}
        """Tools of each server that cannot be used, with the reason, by id."""
        self._locks = {name: asyncio.Lock() for name in servers}
        """One for each server, so that none waits for the review of another one's tools."""
        for name, tools in cached.items():
            loaded = LoadedTools(tuple(tools))
            reviewed = self._review(name, loaded, cached=True)
            if reviewed.loaded.refused:  # its server has to list them again
                self._known[name] = reviewed.known
            else:
                self._set(name, reviewed)

    def __contains__(self, name: str) -> bool:
        """Whether the tools of a server are known."""
        return name in self._usable

    def __getitem__(self, name: str) -> tuple[Tool, ...]:
        """The usable tools of a server."""
        return self._usable[name].tools

    def cacheable(self, name: str) -> tuple[Tool, ...]:
        """The tools to cache; none while one is held back, so that the next run lists them again."""
        return () if name not in self or any(self._pending(name)) else self[name]

    @property
    def by_server(self) -> dict[str, tuple[Tool, ...]]:
        """The usable tools of each server, in the order of the servers."""
        return {name: self[name] for name in self._servers if name in self}

    def is_usable(self, tool: Tool) -> bool:
        """Whether the tool may be used as it is defined here."""
        return self._by_id.get(tool.app, {}).get(tool.id) == tool

    @property
    def refused(self) -> dict[str, str]:
        """Tools that cannot be used, with the reason, by id."""
        return {
            tool: reason for name in self._servers for tool, reason in self._refused.get(name, {}).items()
        }

    async def update(self, name: str, loaded: LoadedTools) -> bool:
        """Set the tools that a server lists; whether its usable tools differ from before."""
        async with self._locks[name]:
            self._listed[name] = loaded
            before = self._usable.get(name)
            self._set(name, await asyncio.to_thread(self._review, name, loaded))
            return before is None or before.tools != self[name]

    async def refresh(self) -> list[str]:
        """Use the tools that were approved meanwhile; returns the servers whose tools have changed.

        If such a tool is not known in this run, neither are the tools of its server from now on, so that
        it lists them again.
        """
        changed: list[str] = []
        for name in [name for name in self._servers if any(self._pending(name))]:
            key = self._servers[name].key
            waiting = await asyncio.to_thread(self._approvals.waiting, key)
            if waiting == {approval.tool: approval.pending for approval in self._pending(name)}:
                continue
            if name not in self._listed:
                self._known[name] = await asyncio.to_thread(self._approvals.of_server, key)
                for table in (self._usable, self._by_id, self._refused):
                    table.pop(name, None)
                changed.append(name)
            elif await self.update(name, self._listed[name]):
                changed.append(name)
        return changed

    def resolve(self, name: str, permissions: ToolPermissions = EVERYTHING) -> Tool:
        """The tool with this id, or with this bare name; one that the caller may not use does not exist.

        A bare name keeps meaning the tool that it meant before, even while that one is missing. Any other
        must be unique among the tools that all servers have or had.
        """
        is_id = any(name.startswith(f"{server}/") for server in self._servers)
        meant = [name] if is_id else self._candidates(name)
        ids = [tool for tool in meant if permissions(tool)]
        if len(ids) < len(meant) and not ids:
            raise InvalidDataError(_UNKNOWN.format(name=name))
        if len(ids) > 1:
            shown = ", ".join(repr(tool) for tool in ids[:3])
            raise InvalidDataError(f"more than one tool is named {name!r}: use an id, such as {shown}")
        tool = next((tools[one] for one in ids for tools in self._by_id.values() if one in tools), None)
        if tool is None:
            raise InvalidDataError(self._absence(name, ids, permissions))
        unlisted = next(
            (name for name in self._servers if name not in self and permissions.of_server(name)), None
        )
        if not is_id and unlisted and not self.owns_name(tool):
            raise InvalidDataError(
                f"the server {unlisted!r} has not listed its tools, and may have a {name!r} too:"
                f" use the id {tool.id!r} if that one is meant"
            )
        return tool

    def servers_of(self, name: str) -> set[str]:
        """The servers that may have the tool that a name means: of an id or a bound name, its own."""
        if own := {server for server in self._servers if name.startswith(f"{server}/")}:
            return own
        approvals = {server: self._known[server].get(f"{server}/{name}") for server in self._servers}
        bound = {server for server, approval in approvals.items() if approval and approval.owns_name}
        return bound or set(self._servers)

    def owns_name(self, tool: Tool) -> bool:
        """Whether the tool's bare name is bound to it."""
        approval = self._known[tool.app].get(tool.id)
        return approval is not None and approval.owns_name

    async def bind_name(self, tool: Tool) -> None:
        """Let the tool's bare name mean this tool from now on."""
        key = self._servers[tool.app].key
        async with self._locks[tool.app]:
            await asyncio.to_thread(self._approvals.own_name, key, tool.id)
            self._known[tool.app] = await asyncio.to_thread(self._approvals.of_server, key)

    def _candidates(self, name: str) -> list[str]:
        """The ids that a bare name may mean: the one it is bound to, else all there are and were."""
        known = [
            approval for server in self._servers if (approval := self._known[server].get(f"{server}/{name}"))
        ]
        return [approval.tool for approval in known if approval.owns_name] or [
            approval.tool for approval in known
        ]

    def _absence(self, name: str, ids: Sequence[str], permissions: ToolPermissions) -> str:
        for tool, reason in self.refused.items():
            if not permissions(tool):
                continue
            if tool in ids or (not ids and tool.partition("/")[2] == name):
                return f"the tool '{tool}' cannot be used: {reason}"
        if ids and ids != [name]:
            return f"{name!r} means the tool {ids[0]!r}, which its server does not offer now"
        return _UNKNOWN.format(name=name)

    def _pending(self, *names: str) -> Iterator[Approval]:
        for name in names or self._servers:
            for approval in self._known[name].values():
                if approval.pending is not None:
                    yield approval

    def _set(self, name: str, reviewed: "_Reviewed") -> None:
        self._usable[name], self._known[name] = reviewed.loaded, reviewed.known
        self._by_id[name], self._refused[name] = reviewed.by_id, reviewed.refused

    def _review(self, name: str, loaded: LoadedTools, *, cached: bool = False) -> "_Reviewed":
        """The usable tools of a server by its approvals, and these; runs in a thread."""
        key = self._servers[name].key
        own = self._without_foreign_ids(name, loaded)
        usable = review(self._approvals, key, own, cached=cached)
        known = self._approvals.of_server(key)
        refused = {tool.name: tool.reason for tool in usable.refused}
        waiting = {
            approval.tool: approval.reason for approval in known.values() if approval.pending is not None
        }
        return _Reviewed(usable, known, {tool.id: tool for tool in usable.tools}, refused | waiting)

    def _without_foreign_ids(self, name: str, loaded: LoadedTools) -> LoadedTools:
        """Refuse tools whose id reads as one of another server, whose name starts with this one's."""
        others = tuple(f"{other}/" for other in self._servers if other.startswith(f"{name}/"))
        foreign = {tool.id for tool in loaded.tools if tool.id.startswith(others)} if others else set[str]()
        refused = [RefusedTool(tool, "its id could be of another server") for tool in foreign]
        usable = tuple(tool for tool in loaded.tools if tool.id not in foreign)
        return LoadedTools(usable, (*loaded.refused, *refused))


def load_cached_tools(cache: CatalogFile, servers: Iterable[McpServer]) -> dict[str, tuple[Tool, ...]]:
    """Cached tools by server name; servers that are not cached are missing.

    Entries of other servers, or of a server whose command or URL has changed, are deleted.
    """
    names = {server.key: server.name for server in servers}
    tools = {tool.id: tool for tool in cache.catalog()}
    cached: dict[str, tuple[Tool, ...]] = {}
    for source, ids in cache.sources().items():
        if source in names:
            cached[names[source]] = tuple(tools[tool_id] for tool_id in ids if tool_id in tools)
        else:
            cache.put((), source)
    return cached


def save_tools(
    cache: CatalogFile, servers: Mapping[str, McpServer], tools: Mapping[str, Sequence[Tool]]
) -> None:
    """Replace the cached tools of the given servers."""
    for name, server_tools in tools.items():
        cache.put(server_tools, servers[name].key)


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raise a `PlanError` for arguments that violate the tool's schema, or for a schema over budget.

    With an otherwise invalid schema, or for a very large value, the server decides. Takes up to a second of
    a core: run it in a thread.
    """
    try:
        violations = sorted(
            CompiledSchema(tool.parameters).violations(arguments),
            key=lambda violation: [*map(str, violation.path)],
        )
    except SchemaBudgetError as error:
        raise PlanError(f"{tool.id!r} was not called: {error}") from None
    except InvalidDataError:  # leave it to the server
        return
    messages = [
        f"{'.'.join(map(str, violation.path))}: {violation.message}" if violation.path else violation.message
        for violation in violations
    ]
    if messages:
        more = f"; and {len(messages) - _MAX_VIOLATIONS} more" if len(messages) > _MAX_VIOLATIONS else ""
        problems = "; ".join(messages[:_MAX_VIOLATIONS])
        raise PlanError(f"{tool.id!r} was not called, invalid arguments: {problems}{more}")
