"""Commands that run the service over HTTP, and say who may use it."""

import os
from pathlib import Path
from typing import Annotated

import platformdirs
import typer
from rich.table import Table
from rich.text import Text

from contextune.cli import output
from contextune.errors import InvalidRequestError
from contextune.serve.http.run import ListenOptions, run
from contextune.serve.http.settings import ServiceLimits, ServiceSettings
from contextune.serve.http.tokens import TokenFile

app = typer.Typer(help="Serve many users over HTTP.", invoke_without_command=True)
token = typer.Typer(help="Say who may use the service.", no_args_is_help=True)
app.add_typer(token, name="token")

TokensPath = Annotated[
    Path | None,
    typer.Option(
        "--tokens", envvar="CONTEXTUNE_TOKENS", help="The file of tokens; default: in your data folder."
    ),
]
_LIMITS, _LISTENING = ServiceLimits(), ListenOptions()


@app.callback()
def serve(
    context: typer.Context,
    store: output.StorePath = None,
    tokens: TokensPath = None,
    catalog: Annotated[
        Path | None,
        typer.Option(envvar="CONTEXTUNE_CATALOG", help="A catalogue of tools; default: the bundled toolbox."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 for everywhere.")] = _LISTENING.host,
    port: Annotated[int, typer.Option(help="Where to listen; 0 for any that is free.")] = _LISTENING.port,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each; default: as many as cores.")
    ] = None,
    rate: Annotated[float, typer.Option(help="Requests a second of one token.")] = _LIMITS.rate,
    burst: Annotated[int, typer.Option(help="Requests of one token at once.")] = _LIMITS.burst,
    body: Annotated[int, typer.Option(help="Bytes of a request's body.")] = _LIMITS.body,
    timeout: Annotated[float, typer.Option(help="Seconds of a request.")] = _LIMITS.timeout,
    waiting: Annotated[int, typer.Option(help="Requests that wait for a thread.")] = _LIMITS.waiting,
    items: Annotated[int, typer.Option(help="Items kept of one user.")] = _LIMITS.items,
    uses: Annotated[int, typer.Option(help="Uses kept of one user.")] = _LIMITS.uses,
    grace: Annotated[int, typer.Option(help="Seconds to end what is in flight.")] = _LISTENING.grace,
    certificate: Annotated[Path | None, typer.Option(help="For HTTPS: the certificate, as PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="For HTTPS: its private key, as PEM.")] = None,
) -> None:
    """Serve the data of many users over HTTP, to whoever shows a token of theirs."""
    if context.invoked_subcommand:
        return
    limits = ServiceLimits(rate, burst, body, timeout, waiting, items, uses)
    threads = threads or max(1, (os.cpu_count() or 1) // workers)
    settings = ServiceSettings(
        _in_data(store, "contextune.db"), _tokens_path(tokens), catalog, threads, limits
    )
    pair = (str(certificate), str(key)) if certificate and key else (None, None)
    if (certificate is None) != (key is None):
        raise InvalidRequestError("HTTPS takes both: give --certificate and --key")
    run(settings, ListenOptions(host, port, workers, *pair, grace))


@token.command()
def add(
    user: Annotated[str, typer.Argument(help="Whose token it will be.")], tokens: TokensPath = None
) -> None:
    """Make a token for a user, and print it: this is the only time it can be seen."""
    typer.echo(TokenFile(_tokens_path(tokens)).add(user))


@token.command(name="list")
def list_tokens(tokens: TokensPath = None) -> None:
    """Print whose tokens there are; not the tokens, which nobody can read."""
    table = Table("id", "user", "made")
    for one in TokenFile(_tokens_path(tokens)).all():
        table.add_row(one.id, Text(one.user), one.made)
    output.out.print(table)


@token.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="ID", help="The id of a token.")], tokens: TokensPath = None
) -> None:
    """Take a token back; the user's data stays."""
    gone = TokenFile(_tokens_path(tokens)).remove(name)
    output.out.print(f"{gone.user!r} can no longer use the token {gone.id}.", markup=False)


def _tokens_path(path: Path | None) -> Path:
    return _in_data(path, "tokens.json")


def _in_data(path: Path | None, name: str) -> Path:
    """The file that was named, or the one of this name in the user's data folder."""
    return path or platformdirs.user_data_path("contextune", appauthor=False, ensure_exists=True) / name
