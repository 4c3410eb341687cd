"""`contextune serve`: run the HTTP service and manage its tokens."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune._internal.postgres_url import is_postgres
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.options import (
    AllowedHostNames,
    PolicySettings,
    RankerPath,
    StoreName,
    ToolCatalog,
    data_path,
    split_names,
    store_location,
)
from contextune.errors import InvalidRequestError
from contextune.serve.http.settings import ServiceLimits, ServiceSettings

if TYPE_CHECKING:
    from contextune.serve.http.tokens import TokenFile, TokenTable

app = command_group(invoke_without_command=True, no_args_is_help=False)
token = command_group(help="Manage the tokens of the service.")
app.add_typer(token, name="token")

TokensPath = Annotated[
    Path | None,
    typer.Option(
        "--tokens",
        envvar="CONTEXTUNE_TOKENS",
        help="File of tokens; default: in a store in PostgreSQL, else in your data folder.",
    ),
]
_LIMITS = ServiceLimits()


@app.callback()
def serve(
    context: typer.Context,
    store: StoreName = None,
    tokens: TokensPath = None,
    catalog: ToolCatalog = None,
    policy: PolicySettings = "",
    ranker: RankerPath = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 8765,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads per process; default: one per core.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests per second and token.")] = _LIMITS.rate,
    burst: Annotated[int, typer.Option(help="Requests of one token at once.")] = _LIMITS.burst,
    cpu: Annotated[
        float, typer.Option(help="Seconds of CPU per second that a user's requests may take.")
    ] = _LIMITS.cpu,
    cpu_burst: Annotated[
        float, typer.Option(help="Seconds of CPU that a user's requests may take at once.")
    ] = _LIMITS.cpu_burst,
    body: Annotated[int, typer.Option(help="Maximum size of a request body, in bytes.")] = _LIMITS.body,
    timeout: Annotated[float, typer.Option(help="Maximum seconds per request.")] = _LIMITS.timeout,
    waiting: Annotated[int, typer.Option(help="Maximum requests waiting for a thread.")] = _LIMITS.waiting,
    max_wait: Annotated[
        float, typer.Option(help="Maximum seconds a request waits for a thread.")
    ] = _LIMITS.max_wait,
    connections: Annotated[
        int, typer.Option(help="Maximum open connections per process.")
    ] = _LIMITS.connections,
    connections_per_address: Annotated[
        int, typer.Option(help="Maximum open connections per client address and process.")
    ] = _LIMITS.connections_per_address,
    head_timeout: Annotated[
        float, typer.Option(help="Maximum seconds until the head of a request has arrived.")
    ] = _LIMITS.head_timeout,
    items: Annotated[int, typer.Option(help="Maximum items per user.")] = _LIMITS.items,
    uses: Annotated[int, typer.Option(help="Maximum usage events per user.")] = _LIMITS.uses,
    item_bytes: Annotated[int, typer.Option(help="Maximum bytes of one item.")] = _LIMITS.item_bytes,
    total_bytes: Annotated[
        int, typer.Option(help="Maximum bytes of items, usage events and feedback per user.")
    ] = _LIMITS.total_bytes,
    feedback_bytes: Annotated[
        int, typer.Option(help="Maximum bytes of feedback per user.")
    ] = _LIMITS.feedback_bytes,
    reply_bytes: Annotated[
        int, typer.Option(help="Maximum bytes of items in one reply.")
    ] = _LIMITS.reply_bytes,
    grace: Annotated[int, typer.Option(help="Seconds to finish open requests on shutdown.")] = 30,
    start_timeout: Annotated[
        int, typer.Option(min=1, help="Seconds in which each process of --workers must start.")
    ] = 120,
    wait: Annotated[
        bool,
        typer.Option(
            help="Let requests wait for the vectors of new items; --no-wait answers by words until then."
        ),
    ] = True,
    allowed_hosts: AllowedHostNames = "",
    certificate: Annotated[Path | None, typer.Option(help="Certificate for HTTPS (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
) -> None:
    """Serve many users over HTTP, each with their own token."""
    if context.invoked_subcommand:
        return
    from contextune.plan import Policy
    from contextune.serve.http.run import ListenOptions, run

    Policy.parse(policy)  # report a mistake before the service starts

    limits = ServiceLimits(
        rate=rate,
        burst=burst,
        cpu=cpu,
        cpu_burst=cpu_burst,
        body=body,
        timeout=timeout,
        waiting=waiting,
        max_wait=max_wait,
        connections=connections,
        connections_per_address=connections_per_address,
        head_timeout=head_timeout,
        items=items,
        uses=uses,
        item_bytes=item_bytes,
        total_bytes=total_bytes,
        feedback_bytes=feedback_bytes,
        reply_bytes=reply_bytes,
    )
    threads = threads or max(1, (os.cpu_count() or 1) // workers)
    settings = ServiceSettings(
        store_location(store),
        _tokens_path(tokens, store),
        catalog if catalog is None or is_postgres(catalog) else Path(catalog).expanduser(),
        threads,
        limits,
        policy,
        split_names(allowed_hosts),
        ranker,
        wait,
    )
    pair = (str(certificate), str(key)) if certificate and key else (None, None)
    if (certificate is None) != (key is None):
        raise InvalidRequestError("HTTPS needs both --certificate and --key; only one was given")
    run(settings, ListenOptions(host, port, workers, *pair, grace, start_timeout))


@token.command()
def add(
    user: Annotated[str, typer.Argument(help="The user the token is for.")],
    tokens: TokensPath = None,
    store: StoreName = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse requests that store, change or delete something.")
    ] = False,
) -> None:
    """Create a token for a user and print it; it cannot be shown again."""
    with _open_tokens(tokens, store) as opened:
        typer.echo(opened.add(user, read_only=read_only))


@token.command(name="list")
def list_tokens(tokens: TokensPath = None, store: StoreName = None) -> None:
    """Print the id and user of every token; the tokens themselves are not stored."""
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "user", "made", "may")
    with _open_tokens(tokens, store) as opened:
        entries = opened.all()
    for entry in entries:
        table.add_row(entry.id, Text(entry.user), entry.made, "read" if entry.read_only else "read and write")
    output.out.print(table)


@token.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="ID", help="The id of the token.")],
    tokens: TokensPath = None,
    store: StoreName = None,
) -> None:
    """Revoke a token; the user's data stays."""
    with _open_tokens(tokens, store) as opened:
        removed = opened.remove(name)
    output.out.print(f"Token {removed.id} of {removed.user!r} is revoked.", markup=False)


def _tokens_path(path: Path | None, store: str | None) -> Path | None:
    """The file of tokens; None if they are in the store."""
    return None if path is None and is_postgres(store) else data_path(path, "tokens.json")


@contextmanager
def _open_tokens(path: Path | None, store: str | None) -> "Generator[TokenFile | TokenTable]":
    """The tokens in a file, or in a store in PostgreSQL."""
    file = _tokens_path(path, store)
    if file is not None:
        from contextune.serve.http.tokens import TokenFile

        yield TokenFile(file)
        return
    from contextune.serve.http.tokens import TokenTable
    from contextune.store.postgres.service_tables import ServiceTables

    with ServiceTables(str(store)) as tables:
        yield TokenTable(tables)
