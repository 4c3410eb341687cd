"""Cache of the upstream servers' tools between runs, so that a server starts only when it is called."""

from collections.abc import Iterable, Mapping, Sequence

from contextune.tools.catalog_file import CatalogFile
from contextune.tools.loaders import McpServer
from contextune.types import Tool


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
