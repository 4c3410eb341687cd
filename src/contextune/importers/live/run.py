"""Read an account into the store: new and changed items are written, those gone from the server deleted."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from contextune.errors import UnknownUserError
from contextune.importers.files import SourceFile
from contextune.importers.live.accounts import DAV, SyncAccount, SyncState
from contextune.importers.live.dav import DavSource
from contextune.importers.live.imap import ImapSource
from contextune.importers.live.source import Batch, RemoteFile, ResourceKey, SyncError
from contextune.importers.reader import ImportContext, ImportRecord, Reader
from contextune.importers.report import ImportReport
from contextune.importers.run import ImportRun
from contextune.store import Store
from contextune.types import Contact, Item

_CONTACT = "contact "
"""Precedes the id of a card among the items of a resource."""


@dataclass(slots=True)
class SyncReport:
    """What a sync changed."""

    fetched: int = 0
    """Resources that were fetched."""
    new: int = 0
    changed: int = 0
    deleted: int = 0
    """Items that are gone from the server."""
    contacts: int = 0
    """New contacts."""
    deleted_contacts: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])

    def add(self, report: ImportReport) -> None:
        """Add the result of importing some resources."""
        self.new += report.new
        self.changed += report.changed
        self.deleted += report.gone
        self.contacts += report.new_contacts
        self.skipped.update({reason.why: reason.count for reason in report.skipped})


def sync_account(
    store: Store,
    state: SyncState,
    account: SyncAccount,
    password: str,
    *,
    now: datetime | None = None,
    progress: Callable[[int], None] | None = None,
) -> SyncReport:
    """Read what changed in an account since the last time.

    After an interruption the next run continues: what was read is known. `progress` is called with the number
    of resources fetched so far.
    """
    now = now or datetime.now().astimezone()
    report = SyncReport()
    try:
        store.user(account.user)
    except UnknownUserError:
        raise SyncError(
            f"{account.name}: the store has no user {account.user!r}: 'contextune sync remove {account.name}'"
        ) from None
    source = open_source(account, password, state, now)
    try:
        for batch in source.batches():
            _apply(store, state, account, batch, now, report)
            if progress:
                progress(report.fetched)
    finally:
        source.close()
    state.set_last_run(account.name, now.isoformat(timespec="seconds"))
    return report


def open_source(
    account: SyncAccount, password: str, state: SyncState, now: datetime
) -> ImapSource | DavSource:
    """Connect to the server of an account."""
    account.check()
    return (DavSource if account.kind == DAV else ImapSource)(account, password, state, now)


def _apply(
    store: Store, state: SyncState, account: SyncAccount, batch: Batch, now: datetime, report: SyncReport
) -> None:
    """Write a batch to the store, then to the state: after an interruption it is read once more."""
    items: dict[ResourceKey, Sequence[str]] = {key: [item] for key, item in batch.duplicates.items()}
    versions = dict.fromkeys(batch.duplicates, "1") | {file.key: file.version for file in batch.files}
    if batch.files:
        recorder = _Recorder()
        run = ImportRun(store, ImportContext(store.user(account.user), now))
        for remote in batch.files:
            for _ in run.read(remote.file, recorder.wrap(remote)):
                pass
        report.add(run.finish())
        report.fetched += len(batch.files)
        items.update(recorder.items)
    gone = state.put_resources(account.name, versions, items, now.date().isoformat()) if versions else []
    if batch.removed:
        gone += state.remove_resources(account.name, batch.removed)
    _delete(store, account.user, gone, report)
    if batch.marks is not None:
        state.put_collections(account.name, batch.marks)


def _delete(store: Store, user: str, gone: Iterable[str], report: SyncReport) -> None:
    """Delete items and contacts."""
    items: list[str] = []
    cards: set[str] = set()
    for entry in gone:
        if entry.startswith(_CONTACT):
            cards.add(entry.removeprefix(_CONTACT))
        else:
            items.append(entry)
    if items:
        report.deleted += store.delete_items(user, items)
    if cards:
        owner = store.user(user)
        left = tuple(contact for contact in owner.contacts if contact.more.get("uid") not in cards)
        report.deleted_contacts += len(owner.contacts) - len(left)
        if len(left) < len(owner.contacts):
            store.put_user(replace(owner, contacts=left))


def delete_items(store: Store, user: str, gone: Iterable[str]) -> SyncReport:
    """Delete what came from an account that was removed."""
    report = SyncReport()
    _delete(store, user, gone, report)
    return report


class _Recorder:
    """Records which items and contacts each resource has."""

    def __init__(self) -> None:
        self.items: dict[ResourceKey, list[str]] = {}

    def wrap(self, remote: RemoteFile) -> Reader:
        """The reader of a resource, which records what it yields."""
        return _RecordingReader(remote.reader, self.items.setdefault(remote.key, []))


class _RecordingReader:
    """Reads as another reader."""

    def __init__(self, reader: Reader, items: list[str]) -> None:
        self._reader = reader
        self._items = items

    @property
    def name(self) -> str:
        """As the other's."""
        return self._reader.name

    @property
    def apps(self) -> tuple[str, ...]:
        """As the other's."""
        return self._reader.apps

    def can_read(self, file: SourceFile) -> bool:
        """As the other's."""
        return self._reader.can_read(file)

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The records of the other, whose ids are recorded.

        An event in two calendars belongs to both resources, so that it is not skipped as a copy.
        """
        for record in self._reader.read(file, replace(context)):
            if isinstance(record, Item):
                self._items.append(record.id)
            elif isinstance(record, Contact) and (uid := record.more.get("uid")):
                self._items.append(f"{_CONTACT}{uid}")
            yield record
