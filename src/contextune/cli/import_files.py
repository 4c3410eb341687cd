"""Commands that bring people's own files into a store, and keep it current."""

import signal
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn
from zoneinfo import ZoneInfo

import typer
from rich.table import Table
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.errors import InvalidDataError, UnknownUserError
from contextune.importers import READERS, ImportReport, import_into
from contextune.importers.reader import Reader
from contextune.importers.registry import reader_named
from contextune.importers.watch import FolderWatcher
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import User

ME = "me"
"""What the user of a new store is called who gave no name."""
_REASONS = 12
"""Reasons that are shown, the most frequent first."""

UserName = Annotated[
    str | None, typer.Option("--user", help="Whose files they are; default: the only user's, or “me”.")
]
Zone = Annotated[
    str | None,
    typer.Option("--zone", help="Zone of the user's clock, as Europe/Lisbon; default: this machine's."),
]
Name = Annotated[str | None, typer.Option("--name", help="The user's name, to know their own card.")]
Email = Annotated[
    list[str] | None,
    typer.Option("--email", help="An address of the user's, to know their own mails; may be repeated."),
]
As = Annotated[
    str | None,
    typer.Option("--as", help=f"Read all files as this format: {', '.join(one.name for one in READERS)}."),
]
Embed = Annotated[bool, typer.Option(help="Embed the items now, not at the first request.")]


def add_to(app: typer.Typer) -> None:
    """Hang this module's commands on the program."""
    app.command("import")(import_)
    app.command()(watch)


def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, folders and archives (.zip, .tgz).", metavar="PATH…")
    ],
    user: UserName = None,
    zone: Zone = None,
    name: Name = None,
    email: Email = None,
    format_: As = None,
    embed: Embed = True,
    store: output.StorePath = None,
) -> None:
    """Import your own files: mail, calendars, contacts, notes, searches, videos, music, calls.

    Each file's format is told by what it holds. Importing again changes nothing and doubles nothing.
    Exit status: 0 if something was read, 1 if nothing could be, 2 if something given is of no use.
    """
    reader, clock = _checked(paths, format_, zone)
    with output.open_store(store) as opened:
        whose = _user(opened, user, clock, name, email)
        report = _import(opened, whose, paths, reader)
        if embed and report.items:
            _embed(opened, whose)
    _print(report, whose)
    if not report.files:
        raise typer.Exit(1)


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder whose files to import whenever they change.")],
    user: UserName = None,
    zone: Zone = None,
    name: Name = None,
    email: Email = None,
    embed: Embed = True,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 5.0,
    store: output.StorePath = None,
) -> None:
    """Import a folder, and from then on whatever changes in it, until Ctrl-C.

    What is deleted from the folder stays in the store.
    """
    if not folder.is_dir():
        raise InvalidDataError(f"{folder}: no such folder")
    _, clock = _checked([folder], None, zone)
    signal.signal(signal.SIGTERM, _stop)
    changes = FolderWatcher(folder, apart=output.store_path(store))
    try:
        with output.open_store(store) as opened:
            whose = _user(opened, user, clock, name, email)
            tuner = Tuner(opened) if embed else None
            output.out.print(
                f"Watching {neutralize(str(folder))}; Ctrl-C ends it.", markup=False, soft_wrap=True
            )
            while True:
                if changed := changes.settled():
                    report = _import(opened, whose, [folder], None, changed)
                    if tuner and report.items:
                        tuner.prepare(whose)
                    output.out.print(_line(report), markup=False, highlight=False, soft_wrap=True)
                time.sleep(every)
    except KeyboardInterrupt:
        output.out.print("Stopped. What was imported is kept.")


def _stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _checked(
    paths: Sequence[Path], format_: str | None, zone: str | None
) -> tuple[Reader | None, ZoneInfo | None]:
    """What is wrong is said before a store is made."""
    for path in paths:
        if not path.exists():
            raise InvalidDataError(f"{path}: no such file or folder")
    try:
        clock = ZoneInfo(zone) if zone else None
    except (ValueError, OSError, KeyError):
        raise InvalidDataError(f"there is no zone {zone!r}: write it as Europe/Lisbon") from None
    return reader_named(format_) if format_ else None, clock


def _user(
    store: SQLiteStore, user: str | None, zone: ZoneInfo | None, name: str | None, email: Sequence[str] | None
) -> str:
    """Whose files they are, with what is said of them on the command line put down."""
    whose = ME if user is None and not store.users() else output.whose(store, user)
    try:
        before = store.user(whose)
    except UnknownUserError:
        before = None
    known = before or User(whose)
    said: dict[str, Any] = {"name": name, "email": list(email) if email else None}
    profile = {**known.profile, **{key: value for key, value in said.items() if value}}
    said_now = replace(known, profile=profile, zone=zone or known.zone)
    if said_now != before:
        store.put_user(said_now)
    return whose


def _import(
    store: SQLiteStore,
    user: str,
    paths: Sequence[Path],
    reader: Reader | None,
    only: Container[Path] | None = None,
) -> ImportReport:
    with output.progress("Importing", sized=True) as update:
        return import_into(store, user, paths, reader=reader, only=only, progress=update)


def _embed(store: SQLiteStore, user: str) -> None:
    with output.progress("Embedding") as update:
        Tuner(store, progress=update).prepare(user)


def _print(report: ImportReport, user: str) -> None:
    if report.rows:
        table = Table("format", "application", header_style="dim")
        for column in ("items", "new", "changed"):
            table.add_column(column, justify="right")
        for row in report.rows:
            table.add_row(
                row.format, row.app, *(f"{number:,}" for number in (row.items, row.new, row.changed))
            )
        output.out.print(table)
    if report.skipped:
        table = Table(title="Skipped", title_justify="left", header_style="dim")
        table.add_column("times", justify="right")
        table.add_column("why", overflow="fold")
        table.add_column("such as", overflow="fold")
        for reason in report.skipped[:_REASONS]:
            # names of files are anybody's: nothing in them is to move the cursor
            table.add_row(
                f"{reason.count:,}", Text(neutralize(reason.why)), Text(neutralize(reason.where[0]))
            )
        output.out.print(table)
        if len(report.skipped) > _REASONS:
            output.out.print(f"… and for {len(report.skipped) - _REASONS} other reasons.")
    output.out.print(
        f"{_said(report)}. User: {neutralize(user)}.", markup=False, highlight=False, soft_wrap=True
    )


def _line(report: ImportReport) -> str:
    return f"{datetime.now():%H:%M:%S}  {_said(report)}"


def _said(report: ImportReport) -> str:
    return ", ".join(_counts(report))


def _counts(report: ImportReport) -> Iterator[str]:
    if files := sum(report.files.values()):
        yield f"{pluralize(files, 'file')} with {report.size / 2**20:,.1f} MB read"
        yield f"{pluralize(report.items, 'item')} ({report.new:,} new, {report.changed:,} changed)"
    else:
        yield "Nothing was read"
    if report.uses:
        yield f"{pluralize(report.uses, 'use')} ({report.new_uses:,} new)"
    if report.contacts:
        yield f"{pluralize(report.contacts, 'contact')} ({report.new_contacts:,} new)"
    if report.gone:
        yield f"{pluralize(report.gone, 'item')} moved or called off"
    if skipped := sum(reason.count for reason in report.skipped):
        yield f"{skipped:,} skipped"
