"""`contextune store`: back up, restore, verify and copy a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune._internal.postgres_url import is_postgres
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.options import StoreName, open_store, store_path
from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.store.verify import StoreCheck

app = command_group(help="Back up, restore, verify and copy a store.")

_MAX_NAMES = 10

Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="The file to write.")],
    store: StoreName = None,
    force: Force = False,
) -> None:
    """Copy the store, also while the service runs, and verify the copy."""
    from contextune.store.backup import backup

    with output.progress("Copying and verifying") as update:
        check = backup(store_path(store), target, overwrite=force, progress=update)
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
    with output.progress("Verifying and copying") as update:
        check = restore(source, path, overwrite=force, progress=update)
    output.out.print(f"{path}: {_contents(check)}, restored.", markup=False, highlight=False)


@app.command()
def verify(
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help="A backup; default: the store.")] = None,
    store: StoreName = None,
) -> None:
    """Read a store or backup completely, with the snapshots of its indexes, and report damage.

    Exit status: 0 if it is sound, 1 otherwise.
    """
    from contextune._internal.plural import pluralize
    from contextune.store.verify import verify

    file = path or store_path(store)
    with output.progress("Verifying") as update:
        check = verify(file, progress=update)
    if check.problems:
        for problem in check.problems:
            output.print_error(f"{file}: {problem}")
        output.print_error("damaged: restore it from a backup with 'contextune store restore BACKUP --force'")
        raise typer.Exit(1)
    note = "" if check.has_checksums else " (an earlier version, without checksums: only the structure)"
    output.out.print(f"{file}: {_contents(check)}, sound{note}.", markup=False, highlight=False)
    snapshots = check.snapshots
    if snapshots.problems:
        for problem in snapshots.problems:
            output.print_error(problem)
        output.print_error(f"{len(snapshots.problems)} of {snapshots.count} damaged: {snapshots.remedy}")
        raise typer.Exit(1)
    if snapshots.count:
        output.out.print(f"{pluralize(snapshots.count, 'snapshot')} of indexes, sound.", highlight=False)


@app.command("copy")
def copy_(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The store to read: a file or postgresql://….")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The store to write: a file or postgresql://….")
    ],
    tokens: Annotated[
        Path | None,
        typer.Option("--tokens", help="File to copy the service's tokens to, from PostgreSQL into a file."),
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Forget users of TO that FROM does not have.")
    ] = False,
) -> None:
    """Copy all users into another store, of either kind, and verify the copy; repeat it to resume.

    Tokens and rate limits of the service are copied too, if they are in the store.

    Exit status: 0 if TO has the same users as FROM, 1 if it has more, such as users forgotten in FROM since
    an earlier copy.
    """
    from contextune.store.copy_store import copy_store

    if tokens and (not is_postgres(source) or is_postgres(target)):
        raise InvalidRequestError(
            "--tokens is for a copy from PostgreSQL into a file. Tokens in a file stay valid for any store: "
            "pass the file to 'contextune serve --tokens'. Between two stores in PostgreSQL they are copied "
            "without it"
        )
    with open_store(source) as original, open_store(target, create=True) as copy:
        if _is_same_store(source, target):
            raise InvalidRequestError("FROM and TO are the same store: name another one to copy it to")
        with output.progress("Copying") as update:
            result = copy_store(original, copy, delete=delete, progress=update)
    counts = ", ".join(f"{number:,} {kind}" for kind, number in result.rows.items())
    output.out.print(f"{counts}; verified ({result.skipped} skipped).", markup=False, highlight=False)
    if is_postgres(source):
        for line in _copy_tokens(source, target, tokens):
            output.out.print(line, markup=False, highlight=False)
    if result.surplus:
        _report_surplus(result.surplus, delete=delete)


def _report_surplus(users: tuple[str, ...], *, delete: bool) -> None:
    from contextune._internal.plural import pluralize

    names = ", ".join(map(repr, users[:_MAX_NAMES])) + (", …" if len(users) > _MAX_NAMES else "")
    if delete:
        output.out.print(
            f"{pluralize(len(users), 'user')} forgotten in the target, missing in the source: {names}.",
            markup=False,
            highlight=False,
        )
        return
    output.print_error(
        f"the target also has {pluralize(len(users), 'user')} missing in the source: {names}. If the source "
        "has forgotten them, repeat it with --delete to forget them in the target"
    )
    raise typer.Exit(1)


def _is_same_store(source: str, target: str) -> bool:
    """Whether both names mean one file or one database, which exist."""
    if is_postgres(source) and is_postgres(target):
        from contextune.store.postgres.service_tables import ServiceTables

        with ServiceTables(source) as one, ServiceTables(target) as other:
            return one.identity() == other.identity()
    if is_postgres(source) or is_postgres(target):
        return False
    return Path(source).expanduser().samefile(Path(target).expanduser())


def _copy_tokens(source: str, target: str, file: Path | None) -> list[str]:
    """Copy the service's tokens out of a store in PostgreSQL; returns what was done, if there are any."""
    from contextune._internal.plural import pluralize
    from contextune.store.postgres.service_tables import ServiceTables, copy_tokens

    with ServiceTables(source) as original:
        if is_postgres(target):
            with ServiceTables(target) as copy:
                count = copy_tokens(original, copy)
            if not count:
                return []
            return [
                f"{pluralize(count, 'token')} copied; services that run over the target must be restarted."
            ]
        from contextune.serve.http.tokens import ServiceToken, TokenFile

        entries = [ServiceToken(*row) for row in original.tokens()]
        if not entries:
            return []
        if not file:
            count = pluralize(len(entries), "token")
            remedy = "repeat it with --tokens FILE, and pass the file to 'contextune serve'."
            return [f"{count} not copied: a store in a file has none; {remedy}"]
        TokenFile(file).put(entries)
        return [f"{pluralize(len(entries), 'token')} copied to {file}; rate limits start anew."]


def _contents(check: "StoreCheck") -> str:
    from contextune._internal.plural import pluralize

    return f"{pluralize(check.users, 'user')}, {pluralize(check.items, 'item')}"
