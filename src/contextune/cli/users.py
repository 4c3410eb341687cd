"""`contextune load` and `forget`: add and erase users."""

from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.options import StoreName, open_store, store_location

load = command_group(help="Load personas into a store.")


@load.callback()
def load_group() -> None:
    """Load personas into a store."""


@load.command("personas")
def load_personas(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Folder of persona files (*.json); default: the demo personas."),
    ] = None,
    store: StoreName = None,
    embed: Annotated[bool, typer.Option(help="Embed the items now instead of at the first request.")] = True,
) -> None:
    """Load every persona of a folder; loading one again changes nothing."""
    from contextune._internal.plural import pluralize
    from contextune.datasets import demo_personas, load_persona, read_personas
    from contextune.tuner import Tuner

    personas = (
        list(read_personas(folder)) if folder else demo_personas()
    )  # validates all before the first is stored
    with open_store(store, create=True) as opened, output.progress("Loading", len(personas)) as update:
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
    store: StoreName = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Erase a user: items, usage and vectors, down to the bytes in the file."""
    from contextune.importers.live.accounts import forget_accounts
    from contextune.store import SQLiteStore

    with open_store(store) as opened:
        opened.user(user)
        if not yes:
            typer.confirm(f"Erase all data of {user!r}? This cannot be undone.", abort=True)
        with output.progress("Erasing", sized=True) as update:
            if isinstance(opened, SQLiteStore):
                opened.forget(user, progress=update)
            else:
                opened.forget(user)
    location = store_location(store)
    if isinstance(location, Path):  # accounts on servers are kept beside the file
        forget_accounts(location, user)
    output.out.print(f"All data of {user!r} is erased.", markup=False)
