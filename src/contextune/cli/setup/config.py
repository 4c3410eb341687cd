"""`contextune config`: show and change the configuration file."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.setup.settings import SETTINGS, check_setting, config_path, read_settings, variable
from contextune.errors import InvalidDataError

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
        table.add_row(name, Text(neutralize(value)), source, setting.help)
    output.out.print(table)
    output.print_line(f"[dim]file:[/] {path}{'' if path.exists() else ' (not written yet)'}")


@app.command(name="set")
def set_value(name: Name, value: Annotated[str, typer.Argument(help="The new value.")]) -> None:
    """Write a setting to the file."""
    import tomlkit

    path = config_path()
    checked = check_setting(name, value, Path.cwd())
    read_settings(path)  # raises for a file that must be corrected first
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    document[name] = checked
    _write(path, tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType]  # partly typed
    output.out.print(f"{name} = {checked}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def unset(name: Name) -> None:
    """Remove a setting from the file."""
    import tomlkit

    path = config_path()
    if name not in SETTINGS:
        raise InvalidDataError(f"unknown setting {name!r}: choose one of {', '.join(SETTINGS)}")
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    if name not in document:
        raise InvalidDataError(f"the setting {name!r} is not in {path}: there is nothing to remove")
    del document[name]
    _write(path, tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType]  # partly typed
    output.out.print(f"{name} is removed.", markup=False, highlight=False)


@app.command(name="path")
def print_path() -> None:
    """Print the path of the file."""
    typer.echo(config_path())


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise InvalidDataError(f"cannot write the configuration {path}: {error.strerror}") from error
