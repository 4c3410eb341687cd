"""load_mcp: the tools of one MCP server, or of all servers of an `mcp.json`."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextune.errors import InvalidDataError, MissingExtraError
from contextune.tools.catalog import LoadedTools, RefusedTool
from contextune.tools.definitions.schemas import load_schemas
from contextune.tools.definitions.validation import as_mapping, first_sentence
from contextune.tools.mcp.approvals import ApprovalFile, review
from contextune.tools.mcp.config import McpServer, read_mcp_config
from contextune.tools.mcp.errors import explain_error
from contextune.tools.mcp.run_sync import run_sync

if TYPE_CHECKING:
    from contextune.tools.mcp.connection import McpConnection

TIMEOUT = 30.0
"""Seconds for a server to start and list its tools."""
_FIELDS = ("name", "title", "description", "inputSchema", "annotations")
"""Fields that are taken from a server's tools; `app` is not, as a server must not pose as another."""


def load_mcp(
    source: str | Path | McpServer | Mapping[str, Any],
    *,
    app: str | None = None,
    timeout: float = TIMEOUT,
    approvals: ApprovalFile | None = None,
) -> LoadedTools:
    """Load the tools of a server, a URL, an `mcp.json` file or its content.

    Servers are queried in parallel; one that fails is listed in `refused`, and the rest are loaded. So are,
    with `approvals`, tools that have changed since they were approved.
    """
    servers, refused = resolve_servers(source, app)
    parts = _load_all(servers, timeout) if servers else []
    if approvals:
        parts = [review(approvals, server.key, part) for server, part in zip(servers, parts, strict=True)]
    return LoadedTools(
        tuple(tool for part in parts for tool in part.tools),
        (*refused, *(refusal for part in parts for refusal in part.refused)),
    )


def resolve_servers(
    source: str | Path | McpServer | Mapping[str, Any], app: str | None = None
) -> tuple[list[McpServer], list[RefusedTool]]:
    """The servers of a source, and the entries that cannot be used; `app` is the name of a URL's server."""
    if isinstance(source, McpServer):
        return [source], []
    if is_url(source):
        return [McpServer(app or "", url=str(source))], []
    servers, refused = read_mcp_config(Path(source) if isinstance(source, str) else source)
    if app:
        raise InvalidDataError(f"the servers of an mcp.json have their own names: leave out app={app!r}")
    return servers, refused


def is_url(source: object) -> bool:
    """Whether a source is a URL and not a file."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


def tools_from_listing(
    server: McpServer, connection: "McpConnection", tools: Sequence[object]
) -> LoadedTools:
    """Convert the raw tools that a server listed; takes a while for many, so run it in a thread."""
    schemas = [_known_fields(tool) for tool in tools]
    return load_schemas(schemas, server.name or connection.name, about=first_sentence(connection.about))


def require_mcp() -> None:
    """Raise `MissingExtraError` if the MCP SDK is missing or older than version 2."""
    try:
        for module in ("mcp", "mcp_types"):
            import_module(module)
    except ImportError:
        raise MissingExtraError("loading tools from MCP servers", "mcp") from None


def _known_fields(tool: object) -> Any:
    fields = as_mapping(tool)
    return tool if fields is None else {name: fields[name] for name in _FIELDS if name in fields}


def _load_all(servers: Sequence[McpServer], timeout: float) -> list[LoadedTools]:
    require_mcp()

    async def load_in_parallel() -> list[LoadedTools]:
        return await asyncio.gather(*(_load(server, timeout) for server in servers))

    return run_sync(load_in_parallel())


async def _load(server: McpServer, timeout: float) -> LoadedTools:
    import anyio

    from contextune.tools.mcp.connection import connect

    try:
        with anyio.fail_after(timeout):
            async with connect(server, timeout) as connection:
                tools = await connection.list_tools()
                return await asyncio.to_thread(tools_from_listing, server, connection, tools)
    except Exception as error:  # a failing server must not stop the others
        return LoadedTools((), (RefusedTool(server.label, explain_error(error, server, timeout)),))
