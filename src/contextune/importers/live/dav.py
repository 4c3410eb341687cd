"""Calendars and contacts from CalDAV and CardDAV servers: only changed resources are fetched."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from contextune.importers.calendar.reader import CalendarReader
from contextune.importers.contacts.vcard import ContactsReader
from contextune.importers.live.accounts import SyncAccount, SyncState
from contextune.importers.live.dav_client import CALENDAR, DavClient, DavCollection
from contextune.importers.live.source import Batch, RemoteFile, ResourceKey, path_part, remote_file

_PER_REQUEST = 50
_REFRESH = timedelta(days=30)
"""After this time recurring events are read again, to expand them up to a year from now."""
_BEGIN = re.compile(rb"BEGIN:VCALENDAR\r?\n", re.IGNORECASE)


class DavSource:
    """The calendars and address books of an account."""

    def __init__(self, account: SyncAccount, password: str, state: SyncState, now: datetime) -> None:
        self._account = account
        self._state = state
        self._now = now
        self._client = DavClient(account, password)
        self._readers = {True: CalendarReader(), False: ContactsReader()}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def collection_count(self) -> int:
        """Number of calendars and address books."""
        return len(self._client.collections())

    def batches(self) -> Iterator[Batch]:
        """Everything that changed, in one batch: events of one UID may be in several resources."""
        name = self._account.name
        known_marks = self._state.collections(name)
        marks: dict[str, str] = {}
        files: list[RemoteFile] = []
        removed: set[ResourceKey] = set()
        collections = self._client.collections()
        for collection in collections:
            known = self._state.resources(name, collection.url)
            mark = _Mark.parse(known_marks.get(collection.url, ""))
            etags, gone, token = self._changes(collection, known, mark)
            marks[collection.url] = json.dumps({"ctag": collection.ctag, "token": token})
            removed.update((collection.url, url) for url in gone if url in known)
            changed = {url for url, etag in etags.items() if known.get(url) != etag or not etag}
            stale = (self._now - _REFRESH).date().isoformat()
            changed.update(set(self._state.stale_series(name, collection.url, stale)) - set(gone))
            files += self._files(collection, sorted(changed), {**known, **etags})
        for url in self._state.known_collections(name) - {collection.url for collection in collections}:
            removed.update((url, resource) for resource in self._state.resources(name, url))
        yield Batch(files=tuple(files), removed=frozenset(removed), marks=marks)

    def _changes(
        self, collection: DavCollection, known: Mapping[str, str], mark: "_Mark"
    ) -> tuple[Mapping[str, str], list[str], str]:
        """Etags of resources that may have changed, removed resources, and the next sync token."""
        if collection.ctag and collection.ctag == mark.ctag:
            return {}, [], mark.token
        if collection.sync_token:
            changes = self._client.changes(collection, mark.token if known else "")
            if changes and (mark.token and known):
                return changes.changed, list(changes.removed), changes.token
            if changes:  # everything that there is
                return changes.changed, [url for url in known if url not in changes.changed], changes.token
        etags = self._client.etags(collection)
        return etags, [url for url in known if url not in etags], collection.sync_token

    def _files(
        self, collection: DavCollection, urls: list[str], etags: Mapping[str, str]
    ) -> Iterator[RemoteFile]:
        is_calendar = collection.kind == CALENDAR
        for start in range(0, len(urls), _PER_REQUEST):
            for url, etag, content in self._client.contents(collection, urls[start : start + _PER_REQUEST]):
                title = path_part(collection.title)
                path = PurePosixPath(
                    path_part(self._account.name), f"{title}{'.ics' if is_calendar else '.vcf'}"
                )
                where = f"{self._account.name}: {collection.title}, {url.rpartition('/')[2]}"
                text = _with_name(content, collection.title) if is_calendar else content
                file = remote_file(where, path, text, self._now)
                version = etag or etags.get(url, "")
                yield RemoteFile(collection.url, url, version, self._readers[is_calendar], file)


class _Mark:
    """What is known of a collection: its ctag and its sync token."""

    def __init__(self, ctag: str = "", token: str = "") -> None:
        self.ctag, self.token = ctag, token

    @classmethod
    def parse(cls, text: str) -> "_Mark":
        return cls(**json.loads(text)) if text else cls()


def _with_name(content: bytes, title: str) -> bytes:
    """The calendar with its name, as in files that programs export."""
    if b"X-WR-CALNAME" in content:
        return content
    name = title.replace("\n", " ").replace("\r", "").replace(",", "\\,").replace(";", "\\;")
    return _BEGIN.sub(lambda match: match[0] + f"X-WR-CALNAME:{name}\r\n".encode(), content, count=1)
