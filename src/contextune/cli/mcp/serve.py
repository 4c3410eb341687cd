"""`contextune mcp`: serve the user's data, a gateway to other servers, or both over MCP."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextune.cli.groups import command_group
from contextune.cli.mcp.install import install
from contextune.cli.options import (
    AllowedHostNames,
    ApprovalsPath,
    MinFit,
    PolicySettings,
    ServersFile,
    StoreName,
    open_approvals,
    open_store,
    split_names,
    tool_retriever,
)
from contextune.errors import ContextuneError, InvalidDataError

if TYPE_CHECKING:
    from mcp.server import Server

    from contextune.plan import Policy
    from contextune.serve.mcp.gateway import Gateway
    from contextune.store import Store
    from contextune.tools import ToolRetriever
    from contextune.tools.catalog_file import CatalogFile
    from contextune.tools.mcp.approvals import ApprovalFile
    from contextune.tuner import Tuner
    from contextune.types import Progress


app = command_group(no_args_is_help=False)


@app.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    user: Annotated[str | None, typer.Option(help="The user whose data to serve.")] = None,
    store: StoreName = None,
    catalog: ServersFile = None,
    tools: Annotated[
        Path | None,
        typer.Option(
            envvar="CONTEXTUNE_CATALOG",
            help="Without --catalog: catalogue of tools that the client has too, to find and to plan calls of"
            " (see contextune tools add).",
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Serve plan for the tools that the client passes with a request.")
    ] = False,
    shelf: Annotated[
        Path | None,
        typer.Option(help="With --catalog: cache of the servers' tools; default: in your cache folder."),
    ] = None,
    approvals: ApprovalsPath = None,
    policy: PolicySettings = "",
    min_fit: MinFit = None,
    timeout: Annotated[float, typer.Option(help="Seconds for a server to start, and for each call.")] = 30.0,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="With --http: address to listen on.")] = "127.0.0.1",
    allowed_hosts: AllowedHostNames = "",
    port: Annotated[int, typer.Option(help="With --http: port to listen on; 0 for any free one.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="CONTEXTUNE_MCP_TOKEN",
            help="With --http: the bearer token of clients; the variable keeps it out of process lists;"
            " default: a random one, printed at start.",
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="With --http, instead of --token: JSON file of tokens and the tools each may use."),
    ] = None,
) -> None:
    """Serve MCP: your data (--user), tools of other servers (--catalog), or both.

    Over stdio, your assistant starts it; messages go to standard error.
    """
    if context.invoked_subcommand:
        return
    if user is None and catalog is None:
        raise ContextuneError("there is nothing to serve: pass --user, --catalog, or both")
    if timeout <= 0:
        raise ContextuneError(f"--timeout {timeout:g} leaves no time: give seconds above 0")
    if tokens and (token or not http):
        raise ContextuneError("--tokens goes with --http, and without --token: a token in the file is enough")
    if plan and (user is None or catalog):
        raise ContextuneError("--plan goes with --user, and without --catalog, which serves plan anyway")
    decisions = _parse_policy(policy)
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store)) if user else None
        if opened and user:
            opened.user(user)
        gateway = None
        if catalog:
            if not catalog.is_file():
                raise InvalidDataError(
                    f"there is no file {str(catalog)!r}: pass an mcp.json with the servers"
                )
            cache = partial(_open_cache, stack, catalog, shelf)
            pins = stack.enter_context(open_approvals(approvals))
            gateway = _gateway(catalog, cache, pins, opened, user, timeout, decisions, min_fit)
        tuner = None
        if opened and gateway is None:
            from contextune.serve.mcp.lazy_tuner import LazyTuner

            load_retriever = tool_retriever(stack, str(tools)) if tools else None
            tuner = LazyTuner(partial(_tuner, opened, load_retriever, decisions, min_fit))
            tuner.start(user)  # models load while the SDK is imported and the client connects
            stack.callback(tuner.close)
        from contextune.serve.mcp.server import mcp_server

        planned = "gateway" if gateway else "passed" if plan else "catalog" if tools else "none"
        server = mcp_server(user, tuner, gateway, planned_tools=planned, per_token=tokens is not None)
        if http:
            _serve_http(server, token, tokens, host, port, split_names(allowed_hosts))
        else:
            _serve_stdio(server)


app.command()(install)


def _parse_policy(settings: str) -> "Policy | None":
    """The policy, or None for the default one, which needs no import before the client connects."""
    if not settings:
        return None
    from contextune.plan import Policy

    return Policy.parse(settings)


def _gateway(
    catalog: Path,
    open_cache: "Callable[[], CatalogFile]",
    approvals: "ApprovalFile",
    store: "Store | None",
    user: str | None,
    timeout: float,
    policy: "Policy | None",
    min_fit: float | None,
) -> "Gateway":
    from contextune.cli import output
    from contextune.plan import Policy
    from contextune.serve.mcp.gateway import Gateway, GatewayUser

    policy = policy or Policy()
    gateway = Gateway(
        catalog,
        user=GatewayUser(store, user, policy) if store and user else None,
        cache=open_cache(),
        approvals=approvals,
        policy=policy,
        min_fit=min_fit,
        timeout=timeout,
    )
    for refused in gateway.refused:
        output.err.print(f"left out {refused.name}: {refused.reason}", markup=False, soft_wrap=True)
    return gateway


def _open_cache(stack: ExitStack, catalog: Path, shelf: Path | None) -> "CatalogFile":
    from contextune.tools.catalog_file import CatalogFile

    return stack.enter_context(CatalogFile(shelf or _default_cache(catalog)))


def _default_cache(catalog: Path) -> Path:
    """A file per mcp.json, because two of them may give one name to different servers."""
    import platformdirs

    folder = platformdirs.user_cache_path("contextune", appauthor=False, ensure_exists=True)
    digest = blake2b(str(catalog.resolve()).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return folder / f"gateway-{digest}.db"


def _tuner(
    store: "Store",
    load_retriever: "Callable[[Progress], ToolRetriever] | None",
    policy: "Policy | None",
    min_fit: float | None,
    progress: "Progress",
) -> "Tuner":
    from contextune.embed import default_embedder

    default_embedder()  # first, since its library works while the main thread holds the interpreter

    from contextune.tuner import Tuner

    retriever = load_retriever(progress) if load_retriever else None
    return Tuner(store, tools=retriever, policy=policy, min_fit=min_fit, progress=progress)


def _serve_stdio(server: "Server[Any]") -> None:
    import anyio

    from contextune.serve.mcp.server import serve_stdio

    anyio.run(serve_stdio, server)


def _serve_http(
    server: "Server[Any]",
    token: str | None,
    tokens: Path | None,
    host: str,
    port: int,
    allowed: Sequence[str],
) -> None:
    import anyio

    from contextune.cli import output
    from contextune.serve.hosts import allowed_hosts
    from contextune.serve.mcp.http_transport import address, listen, serve_http
    from contextune.serve.mcp.permissions import read_permissions

    bearer = token or secrets.token_urlsafe(24)
    permitted = read_permissions(tokens) if tokens else bearer
    with listen(host, port) as listening:
        output.err.print(f"Serving MCP at {address(host, listening)}", markup=False, highlight=False)
        if not token and not tokens:
            output.err.print(f"Authorization: Bearer {bearer}", markup=False, highlight=False, soft_wrap=True)
        anyio.run(serve_http, server, permitted, allowed_hosts(host, allowed), listening)
