"""`contextune store`: back up, restore, verify and copy a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.options import StoreName, open_store, store_path

if TYPE_CHECKING:
    from contextune.store.verify import StoreCheck

app = command_group(help="Back up, restore, verify and copy a store.")

Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="The file to write.")],
    store: StoreName = None,
    force: Force = False,
) -> None:
    """Copy the store, also while the service runs, and verify the copy."""
    from contextune.store.backup import backup

    with output.err.status("Copying and verifying"):
        check = backup(store_path(store), target, overwrite=force)
    output.out.print(f"{target}: {_contents(check)}, verified.", markup=False, highlight=False)


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="A file written by 'store backup'.")],
    store: StoreName = None,
    force: Force = False,
) -> None:
    """Verify a backup and put it in the place of the store; stop the service first.

    Users who were forgotten after the backup was made are back: forget them again.
    """
    from contextune.store.backup import restore

    path = store_path(store)
    with output.err.status("Verifying and copying"):
        check = restore(source, path, overwrite=force)
    output.out.print(f"{path}: {_contents(check)}, restored.", markup=False, highlight=False)


@app.command()
def verify(
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help="A backup; default: the store.")] = None,
    store: StoreName = None,
) -> None:
    """Read a store or backup completely and report damage.

    Exit status: 0 if it is sound, 1 otherwise.
    """
    from contextune.store.verify import verify

    file = path or store_path(store)
    with output.err.status("Verifying"):
        check = verify(file)
    if check.problems:
        for problem in check.problems:
            output.print_error(f"{file}: {problem}")
        output.print_error("damaged: restore it from a backup with 'contextune store restore BACKUP --force'")
        raise typer.Exit(1)
    note = "" if check.has_checksums else " (an earlier version, without checksums: only the structure)"
    output.out.print(f"{file}: {_contents(check)}, sound{note}.", markup=False, highlight=False)


@app.command("copy")
def copy_(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The store to read: a file or postgresql://….")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The store to write: a file or postgresql://….")
    ],
) -> None:
    """Copy all users into another store, of either kind, and verify the copy; repeat it to resume."""
    from contextune.store.copy_store import copy_store

    with (
        open_store(source) as original,
        open_store(target, create=True) as copy,
        output.progress("Copying") as update,
    ):
        result = copy_store(original, copy, progress=update)
    counts = ", ".join(f"{number:,} {kind}" for kind, number in result.rows.items())
    output.out.print(f"{counts}; verified ({result.skipped} skipped).", markup=False, highlight=False)


def _contents(check: "StoreCheck") -> str:
    from contextune._internal.plural import pluralize

    return f"{pluralize(check.users, 'user')}, {pluralize(check.items, 'item')}"
