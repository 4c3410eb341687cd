"""Steps that `import`, `watch` and `init` share: the user, the import and embedding, with progress."""

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

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
