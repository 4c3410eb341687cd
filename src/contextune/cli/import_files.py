"""`contextune import` and `watch`: import personal files into a store."""

import signal
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn
from zoneinfo import ZoneInfo

import typer
from rich.table import Table
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.options import StoreName, open_store, resolve_user, store_location
from contextune.errors import InvalidDataError, UnknownUserError

if TYPE_CHECKING:
    from contextune.importers import ImportReport
    from contextune.importers.reader import Reader
    from contextune.store import ServiceStore

# Copied from the library, because help and completion must not import it; tests/cli/test_options.py compares.
FORMATS = (
    "mbox", "calendar", "contacts", "browser", "calls", "activity", "spotify", "lastfm", "calls-csv", "mail",
    "keep", "notes",
)  # fmt: skip
DEFAULT_USER = "me"
_MAX_REASONS = 12
"""How many reasons for skipping are printed, the most frequent first."""

UserName = Annotated[
    str | None, typer.Option("--user", help="Whose files they are; default: the only user, or “me”.")
]
Zone = Annotated[
    str | None,
    typer.Option("--zone", help="The user's time zone, as Europe/Lisbon; default: this machine's."),
]
Name = Annotated[str | None, typer.Option("--name", help="The user's name, to recognise their own card.")]
Email = Annotated[
    list[str] | None,
    typer.Option("--email", help="The user's address, to recognise their own mails; may be repeated."),
]
Format = Annotated[
    str | None, typer.Option("--as", help=f"Read all files as this format: {', '.join(FORMATS)}.")
]
FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Import the files that symbolic links in folders lead to.")
]
Embed = Annotated[bool, typer.Option(help="Embed the items now instead of at the first request.")]


def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, folders and archives (.zip, .tgz).", metavar="PATH…")
    ],
    user: UserName = None,
    zone: Zone = None,
    name: Name = None,
    email: Email = None,
    format_: Format = None,
    embed: Embed = True,
    follow_links: FollowLinks = False,
    store: StoreName = None,
) -> None:
    """Import your files: mail, calendars, contacts, notes, searches, videos, music, calls.

    The format of each file is detected from its content. Importing a file again creates no duplicates.
    Exit status: 0 if a file was read, 1 if none could be read, 2 if an argument is invalid.
    """
    reader, clock = _validate(paths, format_, zone)
    with open_store(store) as opened:
        owner = _put_user(opened, user, clock, name, email)
        report = _import(opened, owner, paths, reader, follow_links=follow_links)
        if embed and report.items:
            _embed(opened, owner)
    _print_report(report, owner)
    if not report.files:
        raise typer.Exit(1)


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder to import.")],
    user: UserName = None,
    zone: Zone = None,
    name: Name = None,
    email: Email = None,
    embed: Embed = True,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two scans.")] = 5.0,
    follow_links: FollowLinks = False,
    store: StoreName = None,
) -> None:
    """Import a folder, then whatever changes in it, until Ctrl-C.

    Files deleted from the folder stay in the store.
    """
    if not folder.is_dir():
        raise InvalidDataError(f"{folder}: no such folder")
    from contextune.importers.watch import FolderWatcher

    _, clock = _validate([folder], None, zone)
    signal.signal(signal.SIGTERM, _interrupt)
    watcher = FolderWatcher(folder, exclude=_store_file(store))
    try:
        with open_store(store) as opened:
            owner = _put_user(opened, user, clock, name, email)
            tuner = None
            if embed:
                from contextune.tuner import Tuner

                tuner = Tuner(opened)
            output.out.print(
                f"Watching {neutralize(str(folder))}; Ctrl-C stops.", markup=False, soft_wrap=True
            )
            while True:
                if changed := watcher.changed_files():
                    report = _import(opened, owner, [folder], None, changed, follow_links=follow_links)
                    if tuner and report.items:
                        tuner.prepare(owner)
                    line = f"{datetime.now():%H:%M:%S}  {_summary(report)}"
                    output.out.print(line, markup=False, highlight=False, soft_wrap=True)
                time.sleep(every)
    except KeyboardInterrupt:
        output.out.print("Stopped. Imported items stay in the store.")


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _validate(
    paths: Sequence[Path], format_: str | None, zone: str | None
) -> "tuple[Reader | None, ZoneInfo | None]":
    """Check the arguments before a store is created; the reader and the time zone they name."""
    for path in paths:
        if not path.exists():
            raise InvalidDataError(f"{path}: no such file or folder")
    try:
        clock = ZoneInfo(zone) if zone else None
    except (ValueError, OSError, KeyError):
        raise InvalidDataError(f"there is no time zone {zone!r}: write it as Europe/Lisbon") from None
    if format_ is None:
        return None, clock
    from contextune.importers.registry import get_reader

    return get_reader(format_), clock


def _put_user(
    store: "ServiceStore",
    user: str | None,
    zone: ZoneInfo | None,
    name: str | None,
    email: Sequence[str] | None,
) -> str:
    """Create or update the user with the profile from the command line; their id."""
    from contextune.types import User

    owner = DEFAULT_USER if user is None and not store.users() else resolve_user(store, user)
    try:
        before = store.user(owner)
    except UnknownUserError:
        before = None
    current = before or User(owner)
    options: dict[str, Any] = {"name": name, "email": list(email) if email else None}
    profile = {**current.profile, **{key: value for key, value in options.items() if value}}
    updated = replace(current, profile=profile, zone=zone or current.zone)
    if updated != before:
        store.put_user(updated)
    return owner


def _import(
    store: "ServiceStore",
    user: str,
    paths: Sequence[Path],
    reader: "Reader | None",
    only: Container[Path] | None = None,
    *,
    follow_links: bool,
) -> "ImportReport":
    from contextune.importers import import_into

    with output.progress("Importing", sized=True) as update:
        return import_into(
            store, user, paths, reader=reader, only=only, follow_links=follow_links, progress=update
        )


def _embed(store: "ServiceStore", user: str) -> None:
    from contextune.tuner import Tuner

    with output.progress("Embedding") as update:
        Tuner(store, progress=update).prepare(user)


def _print_report(report: "ImportReport", user: str) -> None:
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
        for reason in report.skipped[:_MAX_REASONS]:
            # file names are untrusted: they must not move the cursor
            table.add_row(
                f"{reason.count:,}", Text(neutralize(reason.why)), Text(neutralize(reason.where[0]))
            )
        output.out.print(table)
        if len(report.skipped) > _MAX_REASONS:
            output.out.print(f"… and for {len(report.skipped) - _MAX_REASONS} other reasons.")
    output.out.print(
        f"{_summary(report)}. User: {neutralize(user)}.", markup=False, highlight=False, soft_wrap=True
    )


def _summary(report: "ImportReport") -> str:
    return ", ".join(_counts(report))


def _counts(report: "ImportReport") -> Iterator[str]:
    if files := sum(report.files.values()):
        yield f"{pluralize(files, 'file')} with {report.size / 2**20:,.1f} MB read"
        yield f"{pluralize(report.items, 'item')} ({report.new:,} new, {report.changed:,} changed)"
    else:
        yield "No file was read"
    if report.uses:
        yield f"{pluralize(report.uses, 'use')} ({report.new_uses:,} new)"
    if report.contacts:
        yield f"{pluralize(report.contacts, 'contact')} ({report.new_contacts:,} new)"
    if report.gone:
        yield f"{pluralize(report.gone, 'item')} moved or cancelled"
    if skipped := sum(reason.count for reason in report.skipped):
        yield f"{skipped:,} skipped"


def _store_file(store: str | None) -> Path | None:
    """The file of the store, if it is one."""
    location = store_location(store)
    return location if isinstance(location, Path) else None
