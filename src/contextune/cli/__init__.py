"""The `contextune` command: parse arguments, call the library, print."""

import sys
from typing import Annotated, Any, ClassVar

import typer

from contextune import __version__
from contextune.cli.groups import (
    LazyCommand,
    LazyGroup,
    ResearchCommand,
    installed_command,
    installed_commands,
)
from contextune.errors import ContextuneError

_CLI = "contextune.cli"

COMMANDS: dict[str, LazyCommand | ResearchCommand] = {
    "init": LazyCommand(
        f"{_CLI}.setup.init",
        "init",
        "Set up: your name, addresses and time zone; find your files, import them, try questions.",
    ),
    "search": LazyCommand(
        f"{_CLI}.ask", "search", "Print the items that are relevant to a request, best first."
    ),
    "ask": LazyCommand(
        f"{_CLI}.ask",
        "ask",
        "Answer a question from your items, or plan the call for a request.",
    ),
    "chat": LazyCommand(
        f"{_CLI}.chat.command",
        "chat",
        'Answer requests in a conversation: "and the one before?" follows the last answer.',
    ),
    "feedback": LazyCommand(
        f"{_CLI}.ask",
        "feedback",
        "Say whether the answer to a request was right; it counts when the same is asked again.",
    ),
    "demo": LazyCommand(f"{_CLI}.demo", "demo", "Answer a few requests of the demo personas."),
    "import": LazyCommand(
        f"{_CLI}.import_files",
        "import_",
        "Import your files: mail, messages, calendars, contacts, notes, searches, videos, music, calls.",
    ),
    "watch": LazyCommand(
        f"{_CLI}.import_files", "watch", "Import a folder, then whatever changes in it, until Ctrl-C."
    ),
    "items": LazyCommand(
        f"{_CLI}.personal.items",
        "items",
        "List your items, newest first; filter by words, application and time.",
    ),
    "show": LazyCommand(f"{_CLI}.personal.items", "show", "Print an item: all fields, and when it was used."),
    "edit": LazyCommand(
        f"{_CLI}.personal.items",
        "edit",
        "Change fields of an item; importing a newer version of its source changes them back.",
    ),
    "delete": LazyCommand(
        f"{_CLI}.personal.items",
        "delete",
        "Delete items, with their uses and vectors; importing their source again brings them back.",
    ),
    "stats": LazyCommand(
        f"{_CLI}.personal.stats",
        "stats",
        "Print your data over time and by application, with what was used and found.",
    ),
    "place": LazyCommand(
        f"{_CLI}.personal.places", "app", "List, add and remove your places: home, work, the gym."
    ),
    "contact": LazyCommand(f"{_CLI}.personal.contacts", "app", "List, add and remove your contacts."),
    "config": LazyCommand(
        f"{_CLI}.setup.config",
        "app",
        "Show and change your settings; flags and environment variables override them.",
    ),
    "sync": LazyCommand(f"{_CLI}.sync", "app", "Read mail, calendars and contacts from servers."),
    "load": LazyCommand(f"{_CLI}.users", "load", "Load personas into a store."),
    "forget": LazyCommand(
        f"{_CLI}.users", "forget", "Erase a user: items, usage and vectors, down to the bytes in the file."
    ),
    "store": LazyCommand(f"{_CLI}.store", "app", "Back up, restore, verify and copy a store."),
    "fleet": LazyCommand(
        f"{_CLI}.fleet",
        "app",
        "Work on many users at once: embed, import, answer, train and evaluate on Ray.",
    ),
    "tools": LazyCommand(f"{_CLI}.tools", "app", "Manage and search a catalogue of tools."),
    "eval": LazyCommand(f"{_CLI}.evaluate", "app", "Evaluate on your own data, as a gate in CI."),
    "llm": LazyCommand(f"{_CLI}.llm", "app", "Check the configured language model, or set up a local one."),
    "serve": LazyCommand(f"{_CLI}.serve", "app", "Serve many users over HTTP, each with their own token."),
    "mcp": LazyCommand(
        f"{_CLI}.mcp.serve",
        "app",
        "Serve MCP: your data (--user), tools of other servers (--catalog), or both.",
    ),
    "doctor": LazyCommand(
        f"{_CLI}.doctor",
        "doctor",
        "Check the installation, settings, models, extras, time zone, store and speed.",
    ),
    "answer": ResearchCommand("Answer every query of persona files; gold fields are ignored."),
    "bench": ResearchCommand("Measure quality and speed."),
    "train": ResearchCommand("Train rankers."),
    "generate": ResearchCommand(
        "Generate personas, queries and toolboxes with a language model, and check them."
    ),
    "lab": ResearchCommand("Run a research command, as in 'contextune lab bench'."),
}


class ContextuneGroup(LazyGroup):
    """The commands of `contextune`."""

    lazy_commands: ClassVar[dict[str, LazyCommand | ResearchCommand]] = COMMANDS

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As the base class, after the settings of the configuration file are applied."""
        if args and args[0] != "config":  # which reads the file itself
            from contextune.cli.setup.settings import apply_settings

            try:
                apply_settings()
            except ContextuneError:
                if args[0] != "doctor":  # which reports it
                    raise
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command `cmd_name` of the table, or of any other distribution."""
        return super().get_command(ctx, cmd_name) or installed_command(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section each with the commands, the research commands and those of other distributions."""
        research = {
            name: self.commands[name]
            for name, command in COMMANDS.items()
            if isinstance(command, ResearchCommand)
        }
        own = {name: command for name, command in self.commands.items() if name not in research}
        self.write_section(formatter, "Commands", own)
        self.write_section(formatter, "Research commands (need contextune-lab)", research)
        others = [name for name in installed_commands() if name not in self.commands]
        if others:
            commands = {name: self.get_command(ctx, name) for name in others}
            self.write_section(formatter, "Commands of other packages", commands)


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
