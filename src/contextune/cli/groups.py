"""Typer groups with plain help (which needs no rich), and one that imports its commands on demand."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from contextune.errors import ContextuneError

ENTRY_POINTS = "contextune.commands"
"""The group of entry points by which other distributions add commands: functions or `typer.Typer` objects."""


class CommandGroup(TyperGroup):
    """A group whose help prints the whole first paragraph of each command's help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # as in the base class
        """Write the section with the commands."""
        self.write_section(formatter, "Commands", self.commands)

    def write_section(self, formatter: Any, title: str, commands: Mapping[str, Any]) -> None:
        """Write a section with the name and the help of each command."""
        rows = [(name, help_line(command)) for name, command in commands.items()]
        with formatter.section(title):
            formatter.write_dl(rows)


def help_line(command: Any) -> str:
    """The first paragraph of a command's help, in one line."""
    return " ".join((command.help or "").split("\n\n")[0].split())


class LazyCommand(NamedTuple):
    """Where a command is defined, and its line in the help of the group."""

    module: str
    attribute: str
    """A function (one command) or a `typer.Typer` (a group) of the module."""
    help: str


class ResearchCommand(NamedTuple):
    """The line in the help of a command of `contextune-lab`, which registers it as an entry point."""

    help: str


class LazyGroup(CommandGroup):
    """A group whose help and completion come from a table; running a command imports its module."""

    lazy_commands: ClassVar[dict[str, LazyCommand | ResearchCommand]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, lazy in self.lazy_commands.items():
            self.commands[name] = TyperCommand(name, help=lazy.help, rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command named by the first argument, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in self.lazy_commands:
            command = load_command(name, self.lazy_commands[name])
        return name, command, rest


def command_group(**settings: Any) -> typer.Typer:
    """A `typer.Typer` for a group of commands."""
    defaults: dict[str, Any] = {"cls": CommandGroup, "no_args_is_help": True}
    return typer.Typer(**(defaults | settings), add_completion=False, rich_markup_mode=None)


def load_command(name: str, lazy: LazyCommand | ResearchCommand) -> Any:
    """Import the command `name` and build it, as typer does for commands that are registered eagerly."""
    if isinstance(lazy, LazyCommand):
        return _build_command(name, getattr(import_module(lazy.module), lazy.attribute))
    command = installed_command(name)
    if command is None:
        raise ContextuneError(
            f"contextune {name} needs the research package: pip install contextune-lab "
            "(in a checkout: pip install -e packages/lab)"
        )
    return command


def installed_command(name: str) -> Any:
    """The command `name` of another distribution; None if none registers it."""
    from importlib.metadata import entry_points  # takes longer to import than the rest of the help

    points = list(entry_points(group=ENTRY_POINTS, name=name))
    return _build_command(name, points[0].load()) if points else None


def installed_commands() -> list[str]:
    """The names of the commands that other distributions register."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=ENTRY_POINTS).names)


def _build_command(name: str, app: Any) -> Any:
    if not isinstance(app, typer.Typer):
        function, app = app, typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(function)
    command = typer.main.get_command(app)
    command.name = name
    return command
