"""Runners make calls: `FunctionRunner` for Python functions, `McpRunner` for MCP servers."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from contextune._internal.plural import pluralize
from contextune.errors import ContextuneError, InvalidDataError, MissingExtraError
from contextune.tools.loaders import McpServer
from contextune.tools.mcp.errors import (
    MessageTooLongError,
    explain_error,
    is_server_response,
    is_session_expired,
)
from contextune.tools.mcp.load import TIMEOUT, require_mcp, resolve_servers
from contextune.tools.mcp.run_sync import run_sync
from contextune.types import Tool

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp_types import CallToolResult
    from pydantic import TypeAdapter

    from contextune.tools.mcp.connection import McpConnection

_UNKNOWN = "the call may or may not have taken effect"


@dataclass(frozen=True, slots=True)
class RunnerResult:
    """The result of a call; `value` is data, never an instruction."""

    value: Any = field(default=None, hash=False)
    failure: str = ""
    """What went wrong, without text of the tool, which is in `value`."""


class Runner(Protocol):
    """Makes calls. An exception from `call` counts as a failure of the tool."""

    def serves(self, tool: Tool) -> bool:
        """Whether this runner can call the tool."""
        ...

    def call(self, tool: Tool, args: Mapping[str, Any]) -> RunnerResult:
        """Call the tool, without retries: a failed call may still have taken effect."""
        ...


class FunctionRunner:
    """Calls Python functions, plain or async, given by tool id."""

    def __init__(self, functions: Mapping[str, Callable[..., object]]) -> None:
        self._functions = {name: _adapter(name, function) for name, function in functions.items()}

    def serves(self, tool: Tool) -> bool:
        """Match by id, as another server may have a tool with the same name."""
        return tool.id in self._functions

    def call(self, tool: Tool, args: Mapping[str, Any]) -> RunnerResult:
        """Call the function, with arguments converted to the types of its signature."""
        from pydantic_core import ArgsKwargs

        value = self._functions[tool.id].validate_python(ArgsKwargs((), dict(args)))
        return RunnerResult(_await(value) if inspect.isawaitable(value) else value)


def _adapter(name: str, function: Callable[..., object]) -> "TypeAdapter[object]":
    try:
        from pydantic import TypeAdapter
    except ModuleNotFoundError as error:
        raise MissingExtraError("calling Python functions", "functions") from error
    if not callable(function):
        raise InvalidDataError(f"{function!r}, for the tool {name!r}, is not callable: pass a function")
    try:
        return TypeAdapter[object](cast("Any", function))
    except Exception as error:  # pydantic raises several kinds
        raise InvalidDataError(
            f"the function for {name!r} has a signature that pydantic cannot read"
        ) from error


def _await(value: Awaitable[object]) -> object:
    async def wait() -> object:
        return await value

    return run_sync(wait())


class McpRunner:
    """Calls tools on MCP servers, given by an `mcp.json` (path or content), an `McpServer`, or a URL.

    In a `with` block servers stay connected from their first call on; otherwise each call connects anew.
    """

    def __init__(
        self,
        source: str | Path | McpServer | Mapping[str, Any],
        *,
        app: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """`app` is the app of the tools of an unnamed server, as in `load_mcp`."""
        require_mcp()
        servers, _ = resolve_servers(source, None if isinstance(source, McpServer) else app)
        named = [server if server.name else replace(server, name=app or "") for server in servers]
        if not all(server.name for server in named):
            raise InvalidDataError("the server has no name: pass the app of its tools with app=…")
        self._servers = {server.name: server for server in named}
        self._timeout = timeout
        self._stack: ExitStack | None = None
        self._portal: BlockingPortal | None = None
        self._connections: dict[
            str, tuple[AbstractContextManager[McpConnection, bool | None], McpConnection]
        ] = {}

    def __enter__(self) -> Self:
        """Keep servers connected until the block ends."""
        from anyio.from_thread import start_blocking_portal

        if self._stack:
            raise ContextuneError("this McpRunner is already entered: use one `with` block")
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect all servers."""
        for app in list(self._connections):
            self._disconnect(app)
        stack, self._stack, self._portal = self._stack, None, None
        if stack:
            stack.close()

    def serves(self, tool: Tool) -> bool:
        """Whether the tool belongs to one of the servers."""
        return tool.app in self._servers

    def call(self, tool: Tool, args: Mapping[str, Any]) -> RunnerResult:
        """Call the tool on its server; raise if the server cannot be reached."""
        if self._portal is None:
            with self:
                return self.call(tool, args)

        server = self._servers[tool.app]
        connection = self._connect(server, self._portal)
        try:
            answer = self._portal.call(_call, connection, tool.name, args, self._timeout)
        except Exception as error:
            if not is_server_response(error):
                self._disconnect(tool.app)  # the next call reconnects
            return _failed(error, server, self._timeout)
        return _result(answer)

    def _connect(self, server: McpServer, portal: "BlockingPortal") -> "McpConnection":

        if server.name not in self._connections:
            try:
                context = portal.wrap_async_context_manager(_open(server, self._timeout))
                self._connections[server.name] = (context, context.__enter__())
            except Exception as error:
                reason = explain_error(error, server, self._timeout)
                raise ContextuneError(f"the server {server.label!r} {reason}") from None
        return self._connections[server.name][1]

    def _disconnect(self, app: str) -> None:
        context, _ = self._connections.pop(app)
        with suppress(Exception):  # it is closed in any case
            context.__exit__(None, None, None)


@asynccontextmanager
async def _open(server: McpServer, timeout: float) -> "AsyncGenerator[McpConnection]":
    import anyio

    from contextune.tools.mcp.connection import connect

    with anyio.fail_after(timeout) as limit:
        async with connect(server, timeout) as connection:
            limit.deadline = float("inf")
            yield connection


async def _call(
    connection: "McpConnection", name: str, args: Mapping[str, Any], timeout: float
) -> "CallToolResult":
    import anyio

    with anyio.fail_after(timeout):
        return await connection.call(name, args)


def _failed(error: Exception, server: McpServer, timeout: float) -> RunnerResult:
    from mcp import MCPError
    from pydantic import ValidationError

    label = f"the server {server.label!r}"
    match error:
        case MCPError() if is_server_response(error):
            return RunnerResult(error.message, f"{label} returned error {error.code}")
        case MCPError() if is_session_expired(error):
            return RunnerResult(failure=f"{label} restarted and did not run the call: try again")
        case TimeoutError():
            return RunnerResult(
                failure=f"{label} did not answer within {pluralize(timeout, 'second')}: {_UNKNOWN}"
            )
        case MessageTooLongError():
            return RunnerResult(failure=f"{label} {error}: {_UNKNOWN}")
        case ValidationError():
            return RunnerResult(failure=f"{label} sent an invalid MCP response: {_UNKNOWN}")
        case _:
            return RunnerResult(failure=f"{label} disconnected before it answered: {_UNKNOWN}")


def _result(answer: "CallToolResult") -> RunnerResult:
    failure = "the tool reported an error" if answer.is_error else ""
    if answer.structured_content is not None:
        return RunnerResult(answer.structured_content, failure)
    texts = [block.text for block in answer.content if block.type == "text"]
    if len(texts) == len(answer.content):
        return RunnerResult("\n".join(texts), failure)
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in answer.content]
    return RunnerResult(blocks, failure)
