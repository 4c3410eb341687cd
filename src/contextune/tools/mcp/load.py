"""Tools of MCP servers: started by a command or reached by HTTP, one or all those of an `mcp.json`."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextune.errors import InvalidDataError, MissingExtraError
from contextune.tools.catalog import LoadedTools, RefusedTool
from contextune.tools.mcp.config import McpServer, read_servers
from contextune.tools.mcp.errors import why
from contextune.tools.mcp.run_sync import run_sync
from contextune.tools.schemas import load_schemas
from contextune.tools.validation import first_sentence, mapping

if TYPE_CHECKING:
    from contextune.tools.mcp.connection import McpConnection

TIMEOUT = 30.0
"""Seconds in which a server has to start and to list its tools."""
_FIELDS = ("name", "title", "description", "inputSchema", "annotations")
"""What a server may say of a tool; which server a tool is on is not for the server to say."""


def load_mcp(
    source: str | Path | McpServer | Mapping[str, Any], *, app: str | None = None, timeout: float = TIMEOUT
) -> LoadedTools:
    """The tools of a server, of a URL, of an `mcp.json`, or of what stands in one.

    Servers are asked side by side; one that fails is refused by its name, and the rest are loaded.
    """
    servers, refused = as_servers(source, app)
    parts = _run(servers, timeout) if servers else []
    return LoadedTools(
        tuple(tool for part in parts for tool in part.tools),
        (*refused, *(one for part in parts for one in part.refused)),
    )


def as_servers(
    source: str | Path | McpServer | Mapping[str, Any], app: str | None = None
) -> tuple[list[McpServer], list[RefusedTool]]:
    """The servers that are meant; `app` names one that has no name of its own."""
    if isinstance(source, McpServer):
        return [source], []
    if is_url(source):
        return [McpServer(app or "", url=str(source))], []
    servers, refused = read_servers(Path(source) if isinstance(source, str) else source)
    if app:
        raise InvalidDataError(f"the servers have names of their own: {app!r} is one too many, leave it out")
    return servers, refused


def is_url(source: object) -> bool:
    """Whether it is the address of a server, and not that of a file."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


def as_loaded(server: McpServer, connection: "McpConnection", tools: Sequence[object]) -> LoadedTools:
    """What a server listed, as tools."""
    kept = [_kept(tool) for tool in tools]
    return load_schemas(kept, server.name or connection.name, about=first_sentence(connection.about))


def check_installed() -> None:
    """Raise an error that says what to install, if the SDK is missing or older than version 2."""
    try:
        for module in ("mcp", "mcp_types"):
            import_module(module)
    except ImportError:
        raise MissingExtraError("asking MCP servers for their tools", "mcp") from None


def _kept(tool: object) -> Any:
    given = mapping(tool)
    return tool if given is None else {name: given[name] for name in _FIELDS if name in given}


def _run(servers: Sequence[McpServer], timeout: float) -> list[LoadedTools]:
    check_installed()

    async def together() -> list[LoadedTools]:
        return await asyncio.gather(*(_load(server, timeout) for server in servers))

    return run_sync(together())


async def _load(server: McpServer, timeout: float) -> LoadedTools:
    import anyio

    from contextune.tools.mcp.connection import connect

    try:
        with anyio.fail_after(timeout):
            async with connect(server, timeout) as connection:
                return as_loaded(server, connection, await connection.tools())
    except Exception as error:  # whatever a server does, the others are asked as well
        return LoadedTools((), (RefusedTool(server.called, why(error, server, timeout)),))
