"""Classify and explain errors of MCP connections."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from contextune._internal.plural import pluralize
from contextune.errors import ContextuneError
from contextune.tools.mcp.config import McpServer

if TYPE_CHECKING:
    from mcp import MCPError


class MessageTooLongError(ContextuneError):
    """A server sent a message over the size limit; the message follows "the server …"."""


def explain_error(error: BaseException, server: McpServer, timeout: float) -> str:
    """What went wrong and what to do, to follow "the server …"; does not quote the untrusted server."""
    import httpx2
    import mcp_types
    from mcp import MCPError
    from pydantic import ValidationError

    error = innermost_error(error)
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
            return f"cannot be started by {server.command!r}: {reason}; install it, or use its full path"
        case httpx2.TransportError() | httpx2.InvalidURL() | OSError():
            return f"cannot be reached ({type(error).__name__}): check its address, and that it is running"
        case MCPError():
            if _is_closed(error) and server.command:
                return "exited before it answered: run its command in a terminal to see why"
            return f"answered with error {error.code}: check that it is an MCP server"
        case ValidationError():
            return "sent an answer that is not MCP"
        case _:
            return f"failed with {type(error).__name__}"


def is_server_response(error: Exception) -> bool:
    """Whether the server answered, if only with an error; False if the connection is lost or it is silent."""
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return True
    return (
        isinstance(error, MCPError)
        and error.code != REQUEST_TIMEOUT
        and not is_session_expired(error)
        and not _is_closed(error)
        and not (error.code == CONNECTION_CLOSED and error.message.startswith("SSE stream"))
    )


def is_session_expired(error: Exception) -> bool:
    """Whether the server no longer knows the session, for example after a restart."""
    from mcp import MCPError
    from mcp_types import INVALID_REQUEST

    return isinstance(error, MCPError) and (error.code, error.message) == (
        INVALID_REQUEST,
        "Session terminated",
    )


def innermost_error(error: BaseException) -> BaseException:
    """Unwrap exception groups, which the SDK's task groups nest."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _is_closed(error: "MCPError") -> bool:
    """Checks the message too, as servers use this code for other errors."""
    from mcp_types import CONNECTION_CLOSED

    return (error.code, error.message) == (CONNECTION_CLOSED, "Connection closed")
