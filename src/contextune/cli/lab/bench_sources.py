"""The command that measures imports."""

from typing import Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.errors import InvalidRequestError
from contextune.lab.bench.speed import import_mail as bench


def add_to(app: typer.Typer) -> None:
    """Hang this module's command on the group."""
    app.command("import")(import_)


def import_(
    megabytes: Annotated[int, typer.Option(min=1, help="Size of the mailbox that is made.")] = 1000,
    kind: Annotated[
        str | None,
        typer.Option(help=f"Only mails of this kind: {', '.join(bench.SHARES)}; default: as mailboxes are."),
    ] = None,
) -> None:
    """Time the import of a large mailbox, and tell the memory it takes."""
    if kind is not None and kind not in bench.SHARES:
        raise InvalidRequestError(f"there is no kind {kind!r}: choose among {', '.join(bench.SHARES)}")
    with output.progress("Making a mailbox") as update:
        speed = bench.measure(megabytes, progress=update, shares=bench.SHARES if kind is None else {kind: 1})
    table = Table("what", "figure", title=f"Import of {speed.mails:,} mails in {speed.megabytes:,.0f} MB")
    table.add_row("reading, MB/s", f"{speed.megabytes / speed.parsing:.1f}")
    table.add_row("reading, mails/s", f"{speed.mails / speed.parsing:,.0f}")
    table.add_row("into a store, MB/s", f"{speed.megabytes / speed.importing:.1f}")
    table.add_row("once more, MB/s", f"{speed.megabytes / speed.again:.1f}")
    table.add_row("memory at most, MB", f"{speed.memory:.0f}")
    output.out.print(table)
