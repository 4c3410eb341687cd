"""The command `contextune`: parses, calls, prints."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from contextune.cli import ask, doctor, evaluate, llm, mcp, output, serve, tools, users
from contextune.cli.lab import bench, generate, train
from contextune.errors import ContextuneError

app = typer.Typer(
    name="contextune",
    help="Completes what a person leaves out: context, tools and the call to make, on your own machine.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # a traceback must not print what somebody said
)
ask.add_to(app)
users.add_to(app)
doctor.add_to(app)
mcp.add_to(app)
app.add_typer(bench.app, name="bench")
app.add_typer(train.app, name="train")
app.add_typer(tools.app, name="tools")
app.add_typer(evaluate.app, name="eval")
app.add_typer(llm.app, name="llm")
app.add_typer(generate.app, name="generate")
app.add_typer(serve.app, name="serve")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("contextune"))
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What every command shares."""


def main() -> None:
    """Run the command line; a known error is one line and exit status 2, never a traceback."""
    try:
        app()
    except ContextuneError as error:
        output.error(str(error))
        sys.exit(2)
