"""The command that serves MCP: one's own data, other servers behind a gateway, or both."""

import secrets
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import platformdirs
import typer

from contextune.cli import output
from contextune.errors import ContextuneError, InvalidDataError
from contextune.store import Store
from contextune.tools import ToolRetriever, bundled_toolbox
from contextune.tools.catalog_file import CatalogFile
from contextune.tuner import Tuner
from contextune.types import Progress

if TYPE_CHECKING:
    from mcp.server import Server

    from contextune.serve.mcp.gateway import Gateway


def add_to(app: typer.Typer) -> None:
    """Hang this module's commands on the program."""
    app.command()(mcp)


def mcp(
    user: Annotated[str | None, typer.Option(help="Whose data to search, for as long as it runs.")] = None,
    store: output.StorePath = None,
    catalog: Annotated[
        Path | None, typer.Option(help="An mcp.json: the servers to put behind search_tools and call_tool.")
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(
            envvar="CONTEXTUNE_CATALOG",
            help="Without a gateway: the catalogue (contextune tools add …) that calls are planned for;"
            " default: the bundled toolbox.",
        ),
    ] = None,
    shelf: Annotated[
        Path | None,
        typer.Option(help="Where a gateway keeps what servers offer; default: in your cache folder."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds for a server to start, and to answer a call.")
    ] = 30.0,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="Where to listen, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="On which port, with --http; 0 takes a free one.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="CONTEXTUNE_MCP_TOKEN",
            help="What clients have to send over HTTP, best set as the variable, which no process list shows;"
            " default: one made for this run, and printed.",
        ),
    ] = None,
) -> None:
    """Serve MCP: your own data (--user), the tools of other servers (--catalog), or both.

    Over stdio it is started by your assistant; what it says of itself goes to standard error.
    """
    if user is None and catalog is None:
        raise ContextuneError("there is nothing to serve: say --user, --catalog, or both")
    if timeout <= 0:
        raise ContextuneError(f"--timeout {timeout:g} leaves no time: give seconds above 0")
    from contextune.serve.mcp.lazy_tuner import LazyTuner
    from contextune.serve.mcp.server import mcp_server  # what it needs is an extra

    with ExitStack() as stack:
        opened = stack.enter_context(output.open_store(store)) if user else None
        if opened and user:
            opened.user(user)
        gateway = _gateway(stack, catalog, shelf, opened, user, timeout) if catalog else None
        ready = None
        if opened and gateway is None:
            choose = _tools(stack, tools)
            ready = LazyTuner(partial(_tuner, opened, choose))
        server = mcp_server(user, ready, gateway)
        if http:
            _serve_http(server, token, host, port)
        else:
            _serve_stdio(server)


def _gateway(
    stack: ExitStack, catalog: Path, shelf: Path | None, store: Store | None, user: str | None, timeout: float
) -> "Gateway":
    from contextune.serve.mcp.gateway import Gateway, GatewayUser

    if not catalog.is_file():
        raise InvalidDataError(f"there is no file {str(catalog)!r}: name an mcp.json with the servers")
    gateway = Gateway(
        catalog,
        person=GatewayUser(store, user) if store and user else None,
        shelf=stack.enter_context(CatalogFile(shelf or _own_shelf(catalog))),
        timeout=timeout,
    )
    for one in gateway.refused:
        output.err.print(f"left out {one.name}: {one.reason}", markup=False, soft_wrap=True)
    return gateway


def _own_shelf(catalog: Path) -> Path:
    """A file for each mcp.json: servers of one name in two of them may be different ones."""
    folder = platformdirs.user_cache_path("contextune", appauthor=False, ensure_exists=True)
    digest = blake2b(str(catalog.resolve()).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return folder / f"gateway-{digest}.db"


def _tools(stack: ExitStack, path: Path | None) -> Callable[[Progress], ToolRetriever]:
    if path is None:
        return lambda progress: ToolRetriever(bundled_toolbox(), progress=progress)
    if not path.is_file():
        raise InvalidDataError(f"there is no catalogue at {str(path)!r}: contextune tools add … makes one")
    shelf = stack.enter_context(CatalogFile(path))
    return lambda progress: ToolRetriever(shelf.catalog(), shelf=shelf, progress=progress)


def _tuner(store: Store, choose: Callable[[Progress], ToolRetriever], progress: Progress) -> Tuner:
    return Tuner(store, tools=choose(progress), progress=progress)


def _serve_stdio(server: "Server[Any]") -> None:
    import anyio

    from contextune.serve.mcp.server import serve_stdio

    anyio.run(serve_stdio, server)


def _serve_http(server: "Server[Any]", token: str | None, host: str, port: int) -> None:
    import anyio

    from contextune.serve.mcp.http_transport import address, listen, serve_http

    given = token or secrets.token_urlsafe(24)
    with listen(host, port) as listening:
        output.err.print(f"Serving MCP at {address(host, listening)}", markup=False, highlight=False)
        if not token:
            output.err.print(f"Authorization: Bearer {given}", markup=False, highlight=False, soft_wrap=True)
        anyio.run(serve_http, server, given, host, listening)
