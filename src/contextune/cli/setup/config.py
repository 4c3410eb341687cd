"""`contextune config`: show and change the configuration file."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from contextune._internal.postgres_url import hide_passwords
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.setup.settings import (
    SETTINGS,
    config_path,
    read_settings,
    remove_setting,
    variable,
    write_setting,
)

app = command_group(
    help="Show and change your settings; flags and environment variables override them.",
    invoke_without_command=True,
    no_args_is_help=False,
)

Name = Annotated[str, typer.Argument(help=f"One of: {', '.join(SETTINGS)}.", metavar="NAME")]


@app.callback()
def config(context: typer.Context) -> None:
    """Show and change your settings; flags and environment variables override them."""
    if context.invoked_subcommand is None:
        show()


@app.command()
def show() -> None:
    """Print every setting, its value and where the value comes from."""
    path = config_path()
    settings = read_settings(path)
    table = Table("setting", "value", "from", "what it is", header_style="dim")
    for name, setting in SETTINGS.items():
        value = os.environ.get(variable(name)) or settings.get(name, "")
        source = "environment" if os.environ.get(variable(name)) else "file" if name in settings else ""
        table.add_row(name, Text(neutralize(hide_passwords(value))), source, setting.help)
    output.out.print(table)
    output.print_line(f"[dim]file:[/] {path}{'' if path.exists() else ' (not written yet)'}")


@app.command(name="set")
def set_value(name: Name, value: Annotated[str, typer.Argument(help="The new value.")]) -> None:
    """Write a setting to the file."""
    checked = write_setting(name, value, Path.cwd())
    output.out.print(f"{name} = {hide_passwords(checked)}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def unset(name: Name) -> None:
    """Remove a setting from the file."""
    remove_setting(name)
    output.out.print(f"{name} is removed.", markup=False, highlight=False)


@app.command(name="path")
def print_path() -> None:
    """Print the path of the file."""
    typer.echo(config_path())
