"""What servers offered last time, kept in a file, so that none is started before it is called."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from contextune.tools.catalog_file import CatalogFile
from contextune.tools.loaders import McpServer
from contextune.types import Tool


def kept_tools(shelf: CatalogFile, servers: Iterable[McpServer]) -> dict[str, tuple[Tool, ...]]:
    """By server what it offered last time; those of which nothing is known are left out.

    What is kept of other servers, or of one that is started in another way now, is thrown away.
    """
    wanted = {_source(server): server.name for server in servers}
    tools = {tool.id: tool for tool in shelf.catalog()}
    found: dict[str, tuple[Tool, ...]] = {}
    for source, ids in shelf.sources().items():
        if source in wanted:
            found[wanted[source]] = tuple(tools[one] for one in ids if one in tools)
        else:
            shelf.put((), source)
    return found


def keep_tools(
    shelf: CatalogFile, servers: Mapping[str, McpServer], tools: Mapping[str, Sequence[Tool]]
) -> None:
    """Put what servers offer now in place of what they did."""
    for name, offered in tools.items():
        shelf.put(offered, _source(servers[name]))


def _source(server: McpServer) -> str:
    """The server's name, and a digest of how it is reached, which may hold secrets."""
    reached = json.dumps([server.command, server.args, server.cwd, server.url])
    digest = blake2b(reached.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{server.name} {digest}"
