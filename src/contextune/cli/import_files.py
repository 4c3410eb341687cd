"""`contextune import` and `watch`: import personal files into a store."""

import os
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn
from zoneinfo import ZoneInfo

import typer

from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.imports.run import (
    embed_items,
    import_paths,
    parse_moment,
    parse_zone,
    print_report,
    put_user,
    summarize,
)
from contextune.cli.options import (
    DEFAULT_EMBEDDER,
    EmbedderName,
    StoreName,
    open_store,
    select_embedder,
    store_location,
)
from contextune.errors import InvalidDataError

if TYPE_CHECKING:
    from contextune.cli.imports.dry_run import DryRunStore
    from contextune.importers.files import SkippedEntry
    from contextune.importers.reader import Reader
    from contextune.store import ServiceStore

# Copied from the library, because help and completion must not import it; tests/cli/test_options.py compares.
FORMATS = (
    "mbox", "mail", "outlook", "calendar", "contacts", "browser", "imessage", "calls", "sms", "whatsapp",
    "telegram", "signal", "activity", "spotify", "playlists", "lastfm", "contacts-csv", "calls-csv",
    "google-tasks", "keep", "org", "notes",
)  # fmt: skip
UserName = Annotated[
    str | None,
    typer.Option(
        "--user", envvar="CONTEXTUNE_USER", help="Whose files they are; default: the only user, or “me”."
    ),
]
Zone = Annotated[
    str | None,
    typer.Option(
        "--zone",
        envvar="CONTEXTUNE_ZONE",
        help="The user's time zone, as Europe/Lisbon, New York or GMT+1; default: this machine's.",
    ),
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
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="The moment of the import, around which recurring events are expanded, as 2026-11-30T17:40; "
        "default: this machine's clock.",
    ),
]
Embed = Annotated[bool, typer.Option(help="Embed the items now instead of at the first request.")]


class _FileStamp(NamedTuple):
    """Identifies one version of a file."""

    size: int
    modified_ns: int
    inode: int


class FolderWatcher:
    """Polls a folder for files that are new or have changed."""

    def __init__(self, folder: Path, *, exclude: Path | None = None) -> None:
        """`exclude` is a file to ignore: the store, if it lies in the folder."""
        self._folder = folder.resolve()
        self._exclude = str(exclude.resolve()) if exclude else None
        self._reported: dict[Path, _FileStamp] = {}
        self._previous: dict[Path, _FileStamp] | None = None

    def changed_files(self) -> frozenset[Path]:
        """The files that changed since the last call and are complete.

        A file that differs from the previous poll may still be written to, and is left for the next poll. The
        first poll returns all files.
        """
        current = dict(self._scan())
        previous = current if self._previous is None else self._previous
        self._previous = current
        ready = {
            path: stamp
            for path, stamp in current.items()
            if previous.get(path) == stamp and self._reported.get(path) != stamp
        }
        self._reported = {path: stamp for path, stamp in self._reported.items() if path in current} | ready
        return frozenset(ready)

    def _scan(self) -> list[tuple[Path, _FileStamp]]:
        stamps: list[tuple[Path, _FileStamp]] = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder, name)
                if self._exclude and str(path).startswith(self._exclude):  # and its journal
                    continue
                try:
                    status = path.stat()
                except OSError:  # deleted meanwhile, or a broken link
                    continue
                stamps.append((path, _FileStamp(status.st_size, status.st_mtime_ns, status.st_ino)))
        return stamps


def import_(
    paths: Annotated[
        list[Path], typer.Argument(help="Files, folders and archives (.zip, .tgz).", metavar="PATH…")
    ],
    user: UserName = None,
    zone: Zone = None,
    name: Name = None,
    email: Email = None,
    format_: Format = None,
    as_of: AsOf = None,
    archived: Annotated[bool, typer.Option("--archived", help="Import archived notes, too.")] = False,
    attachments: Annotated[
        bool,
        typer.Option("--attachments", help="Read the text of PDF, DOCX and text files attached to mails."),
    ] = False,
    embed: Embed = True,
    follow_links: FollowLinks = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="List every skipped file and entry with its reason.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read everything and print the report, but write nothing.")
    ] = False,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    store: StoreName = None,
) -> None:
    """Import your files: mail, messages, calendars, contacts, notes, searches, videos, music, calls.

    The format of each file is detected from its content. Importing a file again creates no duplicates.
    Exit status: 0 if something was imported, 1 if nothing was, or if files need an optional dependency that
    is not installed, 2 if an argument is invalid.
    """
    reader, clock = _validate(paths, format_, zone)
    parse_moment(as_of, clock)
    skipped: list[SkippedEntry] = []
    on_skip = skipped.append if verbose else None
    with _open_target(store, dry_run=dry_run) as (target, written):
        owner = put_user(target, user, clock, name, email)
        now = parse_moment(as_of, target.user(owner).zone)
        report = import_paths(
            target,
            owner,
            paths,
            reader=reader,
            follow_links=follow_links,
            archived=archived,
            attachments=attachments,
            now=now,
            on_skip=on_skip,
        )
        if embed and report.items and written:
            embed_items(written, owner, embedder)
    print_report(report, owner, dry_run=dry_run, skipped=skipped if verbose else None)
    for message in report.missing_extras:
        output.print_error(message)
    if report.missing_extras or not (report.items or report.contacts or report.uses):
        raise typer.Exit(1)


@contextmanager
def _open_target(
    name: str | None, *, dry_run: bool
) -> "Generator[tuple[ServiceStore | DryRunStore, ServiceStore | None]]":
    """What to import into, and the store that is written; None in a dry run, which changes memory only."""
    from contextune.cli.imports.dry_run import DryRunStore

    if not dry_run:
        with open_store(name, create=True) as store:
            yield store, store
        return
    location = store_location(name)
    if isinstance(location, Path) and not location.exists():
        yield DryRunStore(None), None
        return
    with open_store(name) as store:
        yield DryRunStore(store), None


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder to import.")],
    user: UserName = None,
    zone: Zone = None,
    name: Name = None,
    email: Email = None,
    embed: Embed = True,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two scans.")] = 5.0,
    follow_links: FollowLinks = False,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    store: StoreName = None,
) -> None:
    """Import a folder, then whatever changes in it, until Ctrl-C.

    Files deleted from the folder stay in the store.
    """
    if not folder.is_dir():
        raise InvalidDataError(f"{folder}: no such folder")

    _, clock = _validate([folder], None, zone)
    signal.signal(signal.SIGTERM, _interrupt)
    location = store_location(store)
    watcher = FolderWatcher(folder, exclude=location if isinstance(location, Path) else None)
    try:
        with open_store(store, create=True) as opened:
            owner = put_user(opened, user, clock, name, email)
            tuner = None
            if embed:
                from contextune.tuner import Tuner

                tuner = Tuner(opened, embedder=select_embedder(embedder))
            output.out.print(
                f"Watching {neutralize(str(folder))}; Ctrl-C stops.", markup=False, soft_wrap=True
            )
            while True:
                if changed := watcher.changed_files():
                    report = import_paths(opened, owner, [folder], only=changed, follow_links=follow_links)
                    if tuner and report.items:
                        tuner.prepare(owner)
                    line = f"{datetime.now():%H:%M:%S}  {summarize(report)}"
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
    clock = parse_zone(zone)
    if format_ is None:
        return None, clock
    from contextune.importers.registry import get_reader

    return get_reader(format_), clock
