"""Who carries a call out: Python functions, or the MCP server that a tool came from."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from contextune._internal.plural import pluralize
from contextune.errors import ContextuneError, InvalidDataError
from contextune.tools.loaders import McpServer
from contextune.tools.mcp.errors import answered, forgotten, why
from contextune.tools.mcp.load import TIMEOUT, as_servers, check_installed
from contextune.tools.mcp.run_sync import run_sync
from contextune.types import Tool

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp_types import CallToolResult

    from contextune.tools.mcp.connection import McpConnection

_UNKNOWN = "whether it was carried out is not known"


@dataclass(frozen=True, slots=True)
class RunnerResult:
    """What came of a call. `value` is what the tool gave back: data, and never an instruction."""

    value: Any = field(default=None, hash=False)
    failure: str = ""
    """What went wrong, in our words; what the tool says of it is its `value`."""


class Runner(Protocol):
    """Carries calls out. What `call` raises counts as a failure of the tool."""

    def serves(self, tool: Tool) -> bool:
        """Whether calls of this tool are for this runner."""
        ...

    def call(self, tool: Tool, args: Mapping[str, Any]) -> RunnerResult:
        """Call the tool, once: a call that failed may have been carried out all the same."""
        ...


class FunctionRunner:
    """Python functions, plain or async, by the ids of the tools they are."""

    def __init__(self, functions: Mapping[str, Callable[..., object]]) -> None:
        self._functions = {name: _adapter(name, function) for name, function in functions.items()}

    def serves(self, tool: Tool) -> bool:
        """By id, and not by name alone: a server may offer a tool of the same name."""
        return tool.id in self._functions

    def call(self, tool: Tool, args: Mapping[str, Any]) -> RunnerResult:
        """Call it with the types its signature has, such as a datetime for the text of one."""
        value = self._functions[tool.id].validate_python(ArgsKwargs((), dict(args)))
        return RunnerResult(_awaited(value) if inspect.isawaitable(value) else value)


def _adapter(name: str, function: Callable[..., object]) -> TypeAdapter[object]:
    if not callable(function):
        raise InvalidDataError(f"{function!r}, given for the tool {name!r}, is no function")
    try:
        return TypeAdapter[object](cast("Any", function))
    except Exception as error:  # whatever pydantic makes of a signature
        raise InvalidDataError(f"the function for {name!r} has a signature that cannot be read") from error


def _awaited(value: Awaitable[object]) -> object:
    async def wait() -> object:
        return await value

    return run_sync(wait())


class McpRunner:
    """MCP servers: those of an `mcp.json` or what stands in one, a `McpServer`, or a URL.

    In a `with` block a server stays connected from its first call on; otherwise it is started for each.
    """

    def __init__(
        self,
        source: str | Path | McpServer | Mapping[str, Any],
        *,
        app: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """`app` is what the tools of a server are called by that has no name, as in `load_mcp`."""
        check_installed()
        servers, _ = as_servers(source, None if isinstance(source, McpServer) else app)
        named = [server if server.name else replace(server, name=app or "") for server in servers]
        if not all(server.name for server in named):
            raise InvalidDataError("the server has no name: pass the app of its tools as app=…")
        self._servers = {server.name: server for server in named}
        self._timeout = timeout
        self._stack: ExitStack | None = None
        self._portal: BlockingPortal | None = None
        self._lines: dict[str, tuple[AbstractContextManager[McpConnection, bool | None], McpConnection]] = {}

    def __enter__(self) -> Self:
        """Keep servers connected from here on."""
        from anyio.from_thread import start_blocking_portal

        if self._stack:
            raise ContextuneError("the servers are connected already: enter the block once")
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up."""
        for app in list(self._lines):
            self._hang_up(app)
        stack, self._stack, self._portal = self._stack, None, None
        if stack:
            stack.close()

    def serves(self, tool: Tool) -> bool:
        """Whether it is of one of these servers."""
        return tool.app in self._servers

    def call(self, tool: Tool, args: Mapping[str, Any]) -> RunnerResult:
        """Call it on its server; one that cannot be reached is an error."""
        if self._portal is None:
            with self:
                return self.call(tool, args)

        server = self._servers[tool.app]
        connection = self._connected(server, self._portal)
        try:
            answer = self._portal.call(_call, connection, tool.name, args, self._timeout)
        except Exception as error:
            if not answered(error):
                self._hang_up(tool.app)  # the next call gets a new line
            return _failed(error, server, self._timeout)
        return _result(answer)

    def _connected(self, server: McpServer, portal: "BlockingPortal") -> "McpConnection":

        if server.name not in self._lines:
            try:
                line = portal.wrap_async_context_manager(_line(server, self._timeout))
                self._lines[server.name] = (line, line.__enter__())
            except Exception as error:
                reason = why(error, server, self._timeout)
                raise ContextuneError(f"the server {server.called!r} {reason}") from None
        return self._lines[server.name][1]

    def _hang_up(self, app: str) -> None:
        line, _ = self._lines.pop(app)
        with suppress(Exception):  # it is over in any case
            line.__exit__(None, None, None)


@asynccontextmanager
async def _line(server: McpServer, timeout: float) -> "AsyncGenerator[McpConnection]":
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

    called = f"the server {server.called!r}"
    match error:
        case MCPError() if answered(error):
            return RunnerResult(error.message, f"{called} answers with error {error.code}")
        case MCPError() if forgotten(error):
            return RunnerResult(failure=f"{called} was started anew, and did nothing: call it again")
        case TimeoutError():
            return RunnerResult(
                failure=f"{called} did not answer within {pluralize(timeout, 'second')}: {_UNKNOWN}"
            )
        case ValidationError():
            return RunnerResult(failure=f"{called} answers with something that is not MCP: {_UNKNOWN}")
        case _:
            return RunnerResult(failure=f"{called} broke off before it had answered: {_UNKNOWN}")


def _result(answer: "CallToolResult") -> RunnerResult:
    failure = "the tool reports a failure" if answer.is_error else ""
    if answer.structured_content is not None:
        return RunnerResult(answer.structured_content, failure)
    texts = [block.text for block in answer.content if block.type == "text"]
    if len(texts) == len(answer.content):
        return RunnerResult("\n".join(texts), failure)
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in answer.content]
    return RunnerResult(blocks, failure)
