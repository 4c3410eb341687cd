"""What it means when something goes wrong between Contextune and an MCP server."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from contextune._internal.plural import pluralize
from contextune.errors import ContextuneError
from contextune.tools.mcp.config import McpServer

if TYPE_CHECKING:
    from mcp import MCPError


def why(error: BaseException, server: McpServer, timeout: float) -> str:
    """What went wrong with a server and what to do, in our words: its own are data, and may hold anything."""
    import httpx2
    import mcp_types
    from mcp import MCPError

    error = innermost(error)
    match error:
        case ContextuneError():
            return str(error)
        case TimeoutError() | MCPError(code=mcp_types.REQUEST_TIMEOUT) | httpx2.TimeoutException():
            return (
                f"did not answer within {pluralize(timeout, 'second')}: try again, or with a longer timeout"
            )
        case FileNotFoundError() | NotADirectoryError() | PermissionError() if server.command:
            if server.cwd and not Path(server.cwd).is_dir():
                return f"cannot be started in {server.cwd!r}: there is no such folder"
            reason = error.strerror or type(error).__name__
            return f"cannot be started by {server.command!r}: {reason}; install it, or write its whole path"
        case httpx2.TransportError() | httpx2.InvalidURL() | OSError():
            return f"cannot be reached ({type(error).__name__}): check the address, and that it runs"
        case MCPError():
            if _closed(error) and server.command:
                return "ended before it had answered: run its command by hand to see why"
            return f"answers with error {error.code}: check that it is an MCP server"
        case ValidationError():
            return "answers with something that is not MCP"
        case _:
            return f"fails with {type(error).__name__}"


def answered(error: Exception) -> bool:
    """Whether the server itself said something, if only no; otherwise its line is dead, or it is silent."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    if isinstance(error, ValidationError):
        return True
    return (
        isinstance(error, MCPError)
        and error.code != REQUEST_TIMEOUT
        and not forgotten(error)
        and not _closed(error)
        and not (error.code == CONNECTION_CLOSED and error.message.startswith("SSE stream"))
    )


def forgotten(error: Exception) -> bool:
    """Whether a server turned a call down because it does not know the session, as after a restart."""
    from mcp import MCPError
    from mcp_types import INVALID_REQUEST

    return isinstance(error, MCPError) and (error.code, error.message) == (
        INVALID_REQUEST,
        "Session terminated",
    )


def innermost(error: BaseException) -> BaseException:
    """The SDK's tasks fail in groups, and groups of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _closed(error: "MCPError") -> bool:
    """By its message too: servers use this code for all sorts of errors."""
    from mcp_types import CONNECTION_CLOSED

    return (error.code, error.message) == (CONNECTION_CLOSED, "Connection closed")
