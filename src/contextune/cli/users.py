"""Commands that put data in and take it out."""

from pathlib import Path
from typing import Annotated

import typer

from contextune._internal.plural import pluralize
from contextune.cli import import_files as imports
from contextune.cli import output
from contextune.datasets import load_persona, read_personas
from contextune.tuner import Tuner

load = typer.Typer(help="Put data into a store.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Hang this module's commands on the program."""
    imports.add_to(app)
    app.add_typer(load, name="load")
    app.command()(forget)


@load.command("personas")
def load_personas(
    folder: Annotated[Path, typer.Argument(help="Folder of persona files (*.json).")],
    store: output.StorePath = None,
    embed: Annotated[bool, typer.Option(help="Embed the items now, not at the first request.")] = True,
) -> None:
    """Load every persona of a folder; loading one again changes nothing."""
    personas = list(read_personas(folder))  # all are checked before the first is stored
    with output.open_store(store) as opened, output.progress("Loading", len(personas)) as update:
        tuner = Tuner(opened) if embed else None
        for number, persona in enumerate(personas, 1):
            load_persona(opened, persona)
            if tuner:
                tuner.prepare(persona.id)
            update(number, len(personas))
    items = sum(len(persona.items) for persona in personas)
    loaded = f"{pluralize(len(personas), 'persona')} with {pluralize(items, 'item')}"
    output.out.print(f"In the store: {loaded}.", highlight=False)


def forget(
    user: Annotated[str, typer.Argument(help="The user to erase.")],
    store: output.StorePath = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Erase a user: items, uses, vectors, down to the bytes in the file."""
    with output.open_store(store) as opened:
        opened.user(user)
        if not yes:
            typer.confirm(f"Erase everything of {user!r}? This cannot be undone.", abort=True)
        opened.forget(user)
    output.out.print(f"Nothing of {user!r} is left.", markup=False)
