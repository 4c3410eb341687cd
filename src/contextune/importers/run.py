"""Import files into a store, in batches; importing again changes nothing."""

import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

from contextune.errors import InvalidDataError, MissingExtraError, UnknownUserError
from contextune.importers.address_book import AddressBook
from contextune.importers.calls.call_log import with_history
from contextune.importers.files import SkippedEntry, SourceFile, iter_files
from contextune.importers.mail.attachments import check_reader
from contextune.importers.messages.message_log import as_known, is_in_group, with_own_name
from contextune.importers.phone_numbers import lacks_contact_name, with_contact_names
from contextune.importers.reader import (
    PARSE_ERRORS,
    ImportContext,
    ImportRecord,
    Reader,
    ReplacedSeries,
    read_file,
)
from contextune.importers.registry import detect_reader, refusal_reason
from contextune.importers.report import ImportReport, ReportBuilder
from contextune.types import Contact, Item, Progress, UsageEvent, User


class ImportTarget(Protocol):
    """A `Store`, or anything that takes the users, items and uses of an import in its place."""

    def user(self, user: str) -> User:
        """The user; raise `UnknownUserError` if there is none."""
        ...

    def put_user(self, user: User) -> None:
        """Add or replace the user."""
        ...

    def items(self, user: str, ids: Sequence[str] | None = None) -> list[Item]:
        """The user's items, or those of `ids` that exist."""
        ...

    def put_items(self, user: str, items: Iterable[Item]) -> int:
        """Add or replace items; return the number written."""
        ...

    def delete_items(self, user: str, ids: Iterable[str]) -> int:
        """Delete items; return the number deleted."""
        ...

    def put_uses(self, user: str, uses: Iterable[UsageEvent]) -> int:
        """Record uses; return the number of new ones."""
        ...


BATCH = 500
"""Items and usage events that are written to the store together."""
_TOLERANCE = timedelta(days=1)
"""By which clocks may differ before an item counts as made after the moment of the import."""
_UNREPEATED = frozenset(("Mail", "Messages"))
"""Applications whose entries occur once; a song or a search is read again with every use."""


def import_into(
    store: ImportTarget,
    user: str,
    paths: Iterable[Path],
    *,
    reader: Reader | None = None,
    only: Container[Path] | None = None,
    follow_links: bool = False,
    archived: bool = False,
    attachments: bool = False,
    now: datetime | None = None,
    progress: Progress | None = None,
    on_skip: Callable[[SkippedEntry], None] | None = None,
) -> ImportReport:
    """Read files, folders and archives into the store.

    An unknown user is created. The format of each file is detected, unless `reader` is given. The report
    lists what could not be read, with its location; the rest is imported. `only` restricts the import to
    these files, for example to those that changed. Links in folders are skipped; with `follow_links`, those
    to files are read. With `archived`, archived notes are read, with `attachments` the text of documents
    attached to mails. `now` is the moment of the import, by default the machine's clock: recurring events are
    expanded around it, and the report counts what was made later. `progress` is called with bytes read and
    total bytes, `on_skip` with every entry that is skipped, of which the report lists some.
    """
    if attachments:
        check_reader()
    paths = list(paths)
    try:
        owner = store.user(user)
    except UnknownUserError:
        owner = User(user)
        store.put_user(owner)
    files = partial(iter_files, paths, only, follow_links=follow_links)
    total = sum(file.size for file in files() if isinstance(file, SourceFile))
    run = ImportRun(
        store, ImportContext(owner, now or datetime.now().astimezone(), archived, attachments), on_skip
    )
    done = 0
    for file in files():
        if isinstance(file, SkippedEntry):
            run.report.add_skipped(file)
            continue
        for _ in run.read(file, reader):
            if progress:
                progress(done + min(file.bytes_read, file.size), total)
        done += file.size
        if progress:
            progress(done, total)
    return run.finish()


class ImportRun:
    """An import in progress."""

    def __init__(
        self,
        store: ImportTarget,
        context: ImportContext,
        on_skip: Callable[[SkippedEntry], None] | None = None,
    ) -> None:
        self.report = ReportBuilder(on_skip)
        self._store = store
        self._context = context
        self._address_book = AddressBook(context.user.contacts)
        self._versions: dict[str, str] = {}
        """Item id -> time of the version read last: a song occurs as often as it was played."""
        self._items: list[tuple[str, str, Item]] = []
        self._uses: list[UsageEvent] = []
        self._pending_uses: list[UsageEvent] = []
        self._series: dict[str, datetime] = {}
        self._superseded: set[str] = set()
        """Items of an older version of their series; counted already."""
        self._unnamed_people: set[str] = set()
        self._in_groups: set[str] = set()
        """Messages of WhatsApp groups, of which some may be the user's own."""

    def read(self, file: SourceFile, reader: Reader | None) -> Iterator[None]:
        """Import a file; yields after every batch."""
        try:
            reader = reader or detect_reader(file)
            if reader is None:
                self.report.add_skipped(SkippedEntry(file.where, refusal_reason(file)))
                return
            self.report.add_file(reader.name, file.size)
            for record in read_file(reader, file, self._context):
                self._collect(reader, record, file)
                if len(self._items) + len(self._uses) >= BATCH:
                    self._flush()
                    yield
        except InvalidDataError as error:
            self.report.add_skipped(SkippedEntry(file.where, str(error)))
        except MissingExtraError as error:
            self.report.add_missing_extra(SkippedEntry(file.where, str(error)))
        except (OSError, EOFError, BadZipFile, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self.report.add_skipped(
                SkippedEntry(file.where, f"cannot be read completely: {reason or 'damaged file'}")
            )
        except PARSE_ERRORS as error:  # one file must not stop the others
            self.report.add_skipped(SkippedEntry(file.where, f"cannot be parsed ({type(error).__name__})"))

    def _collect(self, reader: Reader, record: ImportRecord, file: SourceFile) -> None:
        match record:
            case Item():
                self._items.append((reader.name, file.where, record))
                if lacks_contact_name(record):
                    self._unnamed_people.add(record.id)
                if is_in_group(record):
                    self._in_groups.add(record.id)
            case UsageEvent():
                self._uses.append(record)
                self.report.uses += 1
            case Contact():
                self._address_book.add(record)
                self._context.add_contact(record)
                self.report.contacts += 1
            case ReplacedSeries():
                if record.id in self._series:
                    self._supersede(record.id)
                self._series[record.id] = record.since
            case SkippedEntry():
                self.report.add_skipped(record)

    def _flush(self) -> None:
        batch, self._items = self._items, []
        ids = list({item.id for _, _, item in batch})
        stored = {item.id: item for item in self._store.items(self._user_id, ids)}
        changed: dict[str, Item] = {}
        for name, where, item in batch:
            old = changed.get(item.id) or stored.get(item.id)
            version = self._versions.get(item.id)
            made = str(item.fields.get(item.schema.made or "", ""))
            if self._is_later(item):
                self.report.add_later(item)
            if version == made:
                self.report.add_skipped(SkippedEntry(where, "duplicate of an entry already read"))
                continue
            if version is not None and item.app in _UNREPEATED:
                self.report.add_skipped(SkippedEntry(where, "another version of an entry already read"))
            order = self._compare_age(item, old) if old else 1
            if old:
                item = as_known(item, old, self._context)
            if old and item.app == "PhoneCall":
                latest, other = (item, old) if order >= 0 else (old, item)
                item, order = with_history(latest, [other], self._context), max(order, 0)
            is_update = order >= 0 and item != old
            if is_update:
                changed[item.id] = item
            if order >= 0 or version is None:
                self._versions[item.id] = made
            if version is None and item.id not in self._superseded:
                self.report.add_item(name, item.app, new=old is None, changed=is_update and old is not None)
        for item in changed.values():
            self.report.add_unread_times(item)
        self._put_items(list(changed.values()))
        self._put_uses()

    def _supersede(self, series: str) -> None:
        """Let the items that follow replace those of an older version, which was read before."""
        self._flush()
        older = [item for item in self._versions if series in (item, item.rpartition("-")[0])]
        self._superseded.update(older)
        for item in older:
            del self._versions[item]

    def _compare_age(self, item: Item, old: Item) -> int:
        """Positive if `item` was made after `old`, negative if before."""
        try:
            made, old_made = item.made, old.made
        except InvalidDataError:  # reported when the store rejects the item
            return 1
        if made is None or old_made is None:
            return 0
        new_time, old_time = self._context.to_local(made), self._context.to_local(old_made)
        return (new_time > old_time) - (new_time < old_time)

    def _is_later(self, item: Item) -> bool:
        """Whether an item was made after the moment of the import."""
        try:
            made = item.made
        except InvalidDataError:  # reported when the store rejects the item
            return False
        limit = self._context.to_local(self._context.now) + _TOLERANCE
        return made is not None and self._context.to_local(made) > limit

    def _put_items(self, items: Sequence[Item]) -> None:
        try:
            self._store.put_items(self._user_id, items)
        except InvalidDataError:
            for item in items:  # one invalid item must not keep out the others
                try:
                    self._store.put_items(self._user_id, [item])
                except InvalidDataError:
                    self.report.add_skipped(SkippedEntry(item.id, f"{item.app} item with an invalid time"))

    def _put_uses(self) -> None:
        """Store the usage events whose items exist; the others wait, because an item may follow its uses."""
        uses, self._uses = self._uses, []
        ids = {item.id for item in self._store.items(self._user_id, list({use.item for use in uses}))}
        self._pending_uses += (use for use in uses if use.item not in ids)
        ready = [use for use in uses if use.item in ids]
        try:
            self.report.new_uses += self._store.put_uses(self._user_id, ready)
        except InvalidDataError:
            for use in ready:
                try:
                    self.report.new_uses += self._store.put_uses(self._user_id, [use])
                except InvalidDataError:
                    self.report.add_skipped(SkippedEntry(use.item, "usage event with an invalid time"))

    def finish(self) -> ImportReport:
        """Store what is left, delete outdated occurrences, and return the report."""
        self._flush()
        self._uses, self._pending_uses = self._pending_uses, []
        self._put_uses()
        for use in self._pending_uses:
            self.report.add_skipped(SkippedEntry(use.item, "usage event of an unknown item"))
        if self._series:
            self.report.gone = self._store.delete_items(self._user_id, list(self._outdated()))
        if self._address_book.changed:
            # read again, because the user may have changed during the import
            user = self._address_book.apply_to(self._store.user(self._user_id))
            self._store.put_user(user)
            # calls and messages may have been read before the contacts that name their people
            unnamed = self._store.items(self._user_id, sorted(self._unnamed_people))
            self._put_items(with_contact_names(unnamed, user))
        if self._context.own_names:
            # a group may have been read before the chat that shows under which name the user writes
            in_groups = self._store.items(self._user_id, sorted(self._in_groups))
            self._put_items(with_own_name(in_groups, self._context))
        self.report.new_contacts = self._address_book.new
        return self.report.build()

    def _outdated(self) -> Iterator[str]:
        """Items of completely read series that were not among what was read."""
        for item in self._store.items(self._user_id):
            since = self._series.get(item.id) or self._series.get(item.id.rpartition("-")[0])
            if since is None or item.id in self._versions or item.time is None:
                continue
            if self._context.to_local(item.time) >= self._context.to_local(since):
                yield item.id

    @property
    def _user_id(self) -> str:
        return self._context.user.id
