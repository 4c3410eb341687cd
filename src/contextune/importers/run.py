"""People's files into a store, in batches: importing again changes nothing, doubles nothing."""

import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from zipfile import BadZipFile

from contextune.errors import InvalidDataError, MissingExtraError, UnknownUserError
from contextune.importers.address_book import AddressBook
from contextune.importers.calls import call_log as calls
from contextune.importers.files import SkippedEntry, SourceFile, files_in
from contextune.importers.reader import UNFORESEEN, Found, ImportContext, Reader, ReplacedSeries
from contextune.importers.registry import reader_for
from contextune.importers.report import ImportReport, ReportBuilder
from contextune.store import Store
from contextune.types import Contact, Item, Progress, UsageEvent, User

BATCH = 500
"""Things that are put into the store together."""


def import_into(
    store: Store,
    user: str,
    paths: Iterable[Path],
    *,
    reader: Reader | None = None,
    only: Container[Path] | None = None,
    now: datetime | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Read files, folders and archives, and put what they hold into the store.

    A user the store does not know is made. The format of each file is guessed, unless `reader` says
    it. Whatever cannot be read is in the report, with the place where it stands; the rest is imported.
    `only` names the files to read of those in the paths, where some are known to be unchanged.
    `progress` is told bytes.
    """
    given = list(paths)
    try:
        known = store.user(user)
    except UnknownUserError:
        known = User(user)
        store.put_user(known)
    total = sum(file.size for file in files_in(given, only) if isinstance(file, SourceFile))
    about = ImportContext(known, now or datetime.now().astimezone())
    into = _ImportRun(store, about)
    done = 0
    for file in files_in(given, only):
        if isinstance(file, SkippedEntry):
            into.tally.skip(file)
            continue
        for _ in into.read(file, reader):
            if progress:
                progress(done + min(file.done, file.size), total)
        done += file.size
        if progress:
            progress(done, total)
    return into.end()


class _ImportRun:
    """One import under way."""

    def __init__(self, store: Store, about: ImportContext) -> None:
        self.tally = ReportBuilder()
        self._store = store
        self._about = about
        self._book = AddressBook(about.user.contacts)
        self._seen: dict[str, str] = {}
        """What was read, and of when: a song comes up as often as it was played."""
        self._items: list[tuple[str, str, Item]] = []
        self._uses: list[UsageEvent] = []
        self._waiting: list[UsageEvent] = []
        self._series: dict[str, datetime] = {}
        self._nameless: set[str] = set()

    def read(self, file: SourceFile, reader: Reader | None) -> Iterator[None]:
        """All of a file; yields from time to time."""
        try:
            reader = reader or reader_for(file)
            if reader is None:
                self.tally.skip(SkippedEntry(file.where, "no format that is known" if file.size else "empty"))
                return
            self.tally.open(reader.name, file.size)
            for found in reader.read(file, self._about):
                self._take(reader, found, file)
                if len(self._items) + len(self._uses) >= BATCH:
                    self._put()
                    yield
        except (InvalidDataError, MissingExtraError) as error:
            self.tally.skip(SkippedEntry(file.where, str(error)))
        except (OSError, EOFError, BadZipFile, zlib.error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self.tally.skip(
                SkippedEntry(file.where, f"cannot be read to its end: {reason or 'it is damaged'}")
            )
        except UNFORESEEN as error:
            # a reader met what nobody foresaw: the other files are read all the same
            self.tally.skip(SkippedEntry(file.where, f"cannot be made out ({type(error).__name__})"))

    def _take(self, reader: Reader, found: Found, file: SourceFile) -> None:
        match found:
            case Item():
                self._items.append((reader.name, file.where, found))
                if calls.is_nameless(found):
                    self._nameless.add(found.id)
            case UsageEvent():
                self._uses.append(found)
                self.tally.uses += 1
            case Contact():
                self._book.add(found)
                self.tally.contacts += 1
            case ReplacedSeries():
                self._series[found.id] = found.since
            case SkippedEntry():
                self.tally.skip(found)

    def _put(self) -> None:
        batch, self._items = self._items, []
        ids = list({item.id for _, _, item in batch})
        kept = {item.id: item for item in self._store.items(self._id, ids)}
        changed: dict[str, Item] = {}
        for name, where, item in batch:
            old = changed.get(item.id) or kept.get(item.id)
            seen = self._seen.get(item.id)
            made = str(item.fields.get(item.schema.made or "", ""))
            if seen == made:
                self.tally.skip(SkippedEntry(where, "a copy of what was read before"))
                continue
            order = self._order(item, old) if old else 1
            newer = order >= 0 and item != old
            if newer:
                changed[item.id] = item
            if order >= 0 or seen is None:
                self._seen[item.id] = made
            if seen is None:
                self.tally.read(name, item.app, new=old is None, changed=newer and old is not None)
        self._put_items(list(changed.values()))
        self._put_uses()

    def _order(self, item: Item, old: Item) -> int:
        """Above zero where `item` was made after the one of its id that is known, below where before."""
        try:
            made, before = item.made, old.made
        except InvalidDataError:  # the store will say so
            return 1
        if made is None or before is None:
            return 0
        new_time, old_time = self._about.clock(made), self._about.clock(before)
        return (new_time > old_time) - (new_time < old_time)

    def _put_items(self, items: Sequence[Item]) -> None:
        try:
            self._store.put_items(self._id, items)
        except InvalidDataError:
            for item in items:  # one the store cannot hold does not keep out the others
                try:
                    self._store.put_items(self._id, [item])
                except InvalidDataError:
                    self.tally.skip(SkippedEntry(item.id, f"an item of {item.app} with a time that is none"))

    def _put_uses(self) -> None:
        """Those whose items are there; the others wait, as an item may come after its uses."""
        uses, self._uses = self._uses, []
        there = {item.id for item in self._store.items(self._id, list({use.item for use in uses}))}
        self._waiting += (use for use in uses if use.item not in there)
        ready = [use for use in uses if use.item in there]
        try:
            self.tally.new_uses += self._store.put_uses(self._id, ready)
        except InvalidDataError:
            for use in ready:
                try:
                    self.tally.new_uses += self._store.put_uses(self._id, [use])
                except InvalidDataError:
                    self.tally.skip(SkippedEntry(use.item, "a use at no possible time"))

    def end(self) -> ImportReport:
        """What is left is stored, what is gone is deleted."""
        self._put()
        self._uses, self._waiting = self._waiting, []
        self._put_uses()
        for use in self._waiting:
            self.tally.skip(SkippedEntry(use.item, "a use of something that is not among the files"))
        if self._series:
            self.tally.gone = self._store.delete_items(self._id, list(self._outdated()))
        if self._book.changed:
            # asked for again: somebody may have changed the user meanwhile
            user = self._book.of(self._store.user(self._id))
            self._store.put_user(user)
            # a call log may come before the address book that says who called
            self._put_items(calls.named(self._store.items(self._id, sorted(self._nameless)), user))
        self.tally.new_contacts = self._book.new
        return self.tally.report()

    def _outdated(self) -> Iterator[str]:
        for item in self._store.items(self._id):
            since = self._series.get(item.id) or self._series.get(item.id.rpartition("-")[0])
            if since is None or item.id in self._seen or item.time is None:
                continue
            if self._about.clock(item.time) >= self._about.clock(since):
                yield item.id

    @property
    def _id(self) -> str:
        return self._about.user.id
