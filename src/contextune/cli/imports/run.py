"""Steps that `import`, `watch` and `init` share: the user, the import, embedding, and the printed report."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.options import DEFAULT_EMBEDDER, resolve_user, select_embedder
from contextune.errors import InvalidDataError, UnknownUserError

if TYPE_CHECKING:
    from contextune.cli.imports.dry_run import DryRunStore
    from contextune.importers import ImportReport
    from contextune.importers.files import SkippedEntry
    from contextune.importers.reader import Reader
    from contextune.store import ServiceStore

DEFAULT_USER = "me"

_MAX_REASONS = 12
"""How many reasons for skipping are printed, the most frequent first."""


def parse_zone(name: str | None) -> ZoneInfo | None:
    """The time zone of a name, a city or an offset; None for None."""
    from contextune.cli.setup.zones import find_zone

    if not name:
        return None
    zone = find_zone(name)
    if zone is None:
        raise InvalidDataError(
            f"there is no time zone {name!r}: write it as Europe/Lisbon, as a city with an airport, "
            "as a country, or as GMT+1"
        )
    return zone


def parse_moment(text: str | None, zone: ZoneInfo | None) -> datetime | None:
    """The moment of an import, such as 2026-11-30 or 2026-11-30T17:40; None for None.

    Without an offset it is the time of the zone, or of the machine.
    """
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidDataError(
            f"not a moment: {text!r} (write it as 2026-11-30 or 2026-11-30T17:40)"
        ) from None
    if moment.tzinfo:
        return moment
    return moment.replace(tzinfo=zone) if zone else moment.astimezone()


def put_user(
    store: "ServiceStore | DryRunStore",
    user: str | None,
    zone: ZoneInfo | None,
    name: str | None,
    email: Sequence[str] | None,
) -> str:
    """Create or update the user with the profile from the command line; their id."""
    from contextune.types import User

    users = store.users()
    owner = user or (DEFAULT_USER if not users else resolve_user(store, None))
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


def import_paths(
    store: "ServiceStore | DryRunStore",
    user: str,
    paths: Sequence[Path],
    *,
    reader: "Reader | None" = None,
    only: Container[Path] | None = None,
    follow_links: bool = False,
    archived: bool = False,
    attachments: bool = False,
    now: datetime | None = None,
    on_skip: "Callable[[SkippedEntry], None] | None" = None,
) -> "ImportReport":
    """Import files with a progress bar."""
    from contextune.importers import import_into

    with output.progress("Importing", sized=True) as update:
        return import_into(
            store,
            user,
            paths,
            reader=reader,
            only=only,
            follow_links=follow_links,
            archived=archived,
            attachments=attachments,
            now=now,
            progress=update,
            on_skip=on_skip,
        )


def embed_items(store: "ServiceStore", user: str, embedder: str = DEFAULT_EMBEDDER) -> None:
    """Embed the items of a user with a progress bar."""
    from contextune.tuner import Tuner

    with output.progress("Embedding") as update:
        Tuner(store, embedder=select_embedder(embedder), progress=update).prepare(user)


def print_report(
    report: "ImportReport",
    user: str,
    *,
    dry_run: bool = False,
    skipped: "Sequence[SkippedEntry] | None" = None,
) -> None:
    """Print the report; with `skipped`, every skipped entry instead of an example per reason."""
    if report.rows:
        table = Table("format", "application", header_style="dim")
        for column in ("items", "new", "changed"):
            table.add_column(column, justify="right")
        for row in report.rows:
            table.add_row(
                row.format, row.app, *(f"{number:,}" for number in (row.items, row.new, row.changed))
            )
        output.out.print(table)
    if skipped is not None:
        for entry in skipped:
            # file names are untrusted: they must not move the cursor
            line = f"skipped {neutralize(entry.where)}: {neutralize(entry.why)}"
            output.out.print(line, markup=False, highlight=False, soft_wrap=True)
    elif report.skipped:
        _print_reasons(report)
    for unread in report.unread_times:
        output.out.print(
            neutralize(str(unread)), style="yellow", markup=False, highlight=False, soft_wrap=True
        )
    if report.later:
        verb = "is" if report.later == 1 else "are"
        output.out.print(
            f"{pluralize(report.later, 'item')} {verb} dated later than the moment of the import, and kept: "
            "check this machine's clock, or pass --as-of.",
            style="yellow",
            highlight=False,
            soft_wrap=True,
        )
    prefix = "Dry run, nothing is written: " if dry_run else ""
    output.out.print(
        f"{prefix}{summarize(report)}. User: {neutralize(user)}.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _print_reasons(report: "ImportReport") -> None:
    table = Table(title="Skipped", title_justify="left", header_style="dim")
    table.add_column("times", justify="right")
    table.add_column("why", overflow="fold")
    table.add_column("such as", overflow="fold")
    for reason in report.skipped[:_MAX_REASONS]:
        table.add_row(f"{reason.count:,}", Text(neutralize(reason.why)), Text(neutralize(reason.where[0])))
    output.out.print(table)
    others = len(report.skipped) - _MAX_REASONS
    rest = f"… and for {pluralize(others, 'other reason')}. " if others > 0 else ""
    output.out.print(f"{rest}import --verbose lists every skipped entry.", style="dim", highlight=False)


def summarize(report: "ImportReport") -> str:
    """The counts of an import in one line."""
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
    if unread := sum(unread.count for unread in report.unread_times):
        yield f"{pluralize(unread, 'time')} not readable"
    if skipped := sum(reason.count for reason in report.skipped):
        yield f"{skipped:,} skipped"
