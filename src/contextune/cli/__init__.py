"""The `contextune` command: parse arguments, call the library, print."""

import sys
from typing import Annotated, ClassVar

import typer

from contextune import __version__
from contextune.cli.groups import LazyCommand, LazyGroup
from contextune.errors import ContextuneError

_CLI, _LAB = "contextune.cli", "contextune.cli.lab"

COMMANDS = {
    "search": LazyCommand(f"{_CLI}.ask", "search", "Print the items that a request needs, best first."),
    "ask": LazyCommand(
        f"{_CLI}.ask", "ask", "Print the items, the tools and the call for a request, and whether to make it."
    ),
    "demo": LazyCommand(f"{_CLI}.ask", "demo", "Answer a few requests of the demo personas."),
    "import": LazyCommand(
        f"{_CLI}.import_files",
        "import_",
        "Import your files: mail, messages, calendars, contacts, notes, searches, videos, music, calls.",
    ),
    "watch": LazyCommand(
        f"{_CLI}.import_files", "watch", "Import a folder, then whatever changes in it, until Ctrl-C."
    ),
    "sync": LazyCommand(f"{_CLI}.sync", "app", "Read mail, calendars and contacts from servers."),
    "load": LazyCommand(f"{_CLI}.users", "load", "Load personas into a store."),
    "forget": LazyCommand(
        f"{_CLI}.users", "forget", "Erase a user: items, usage and vectors, down to the bytes in the file."
    ),
    "store": LazyCommand(f"{_CLI}.store", "app", "Back up, restore and verify a store."),
    "tools": LazyCommand(f"{_CLI}.tools", "app", "Manage and search a catalogue of tools."),
    "eval": LazyCommand(f"{_CLI}.evaluate", "app", "Evaluate on your own data, as a gate in CI."),
    "llm": LazyCommand(
        f"{_CLI}.llm", "app", "Check the configured language model, or prepare the local one."
    ),
    "serve": LazyCommand(f"{_CLI}.serve", "app", "Serve many users over HTTP, each with their own token."),
    "mcp": LazyCommand(
        f"{_CLI}.mcp",
        "mcp",
        "Serve MCP: your data (--user), tools of other servers (--catalog), or both.",
    ),
    "doctor": LazyCommand(
        f"{_CLI}.doctor", "doctor", "Check the installation, models, extras, time zone, store and speed."
    ),
    "answer": LazyCommand(
        f"{_LAB}.answers", "answer", "Answer every query of persona files; gold fields are ignored.", True
    ),
    "bench": LazyCommand(f"{_LAB}.bench", "app", "Measure quality and speed.", True),
    "train": LazyCommand(f"{_LAB}.train", "app", "Train rankers and the planner.", True),
    "generate": LazyCommand(
        f"{_LAB}.generate",
        "app",
        "Generate personas, queries and toolboxes with a language model, and check them.",
        True,
    ),
}


class ContextuneGroup(LazyGroup):
    """The commands of `contextune`."""

    lazy_commands: ClassVar[dict[str, LazyCommand]] = COMMANDS


app = typer.Typer(
    name="contextune",
    cls=ContextuneGroup,
    help="Find the items, the tools and the call that an implicit request needs, on your own machine.",
    no_args_is_help=True,
    rich_markup_mode=None,  # importing rich would double the time of --help
    pretty_exceptions_show_locals=False,  # locals may hold personal data
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Run the command line. A `ContextuneError` is printed as one line, with exit status 2."""
    try:
        app()
    except ContextuneError as error:
        from contextune.cli import output

        output.print_error(str(error))
        sys.exit(2)
