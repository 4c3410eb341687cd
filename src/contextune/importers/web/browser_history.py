"""What a browser remembers: the searches and videos among the pages visited, of Chrome and Firefox.

Pages themselves are not kept. One that was opened out of a search is a use of that search.
"""

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copyfile

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.json_stream import JsonEntry, entries
from contextune.importers.reader import Found, ImportContext, each
from contextune.importers.repeated import NO_TIME, RepeatedItems, possible
from contextune.importers.web.urls import search_in, video, video_in
from contextune.types import UsageEvent

_MAGIC = b"SQLite format 3\0"
_SIDES = ("-wal", "-journal")
"""What a database has beside it while it is in use: the newest changes, or how to undo half-made ones."""
_TAKEOUT = "Browser History"
_CHROME = """
    SELECT visits.id, visit_time, from_visit, transition, urls.url, title, hidden
    FROM visits JOIN urls ON urls.id = visits.url ORDER BY visits.id"""
_FIREFOX = """
    SELECT visits.id, visit_date, from_visit, visit_type, url, title, hidden
    FROM moz_historyvisits AS visits JOIN moz_places ON moz_places.id = place_id ORDER BY visits.id"""
_CHROME_START = datetime(1601, 1, 1, tzinfo=UTC)
_FIREFOX_START = datetime(1970, 1, 1, tzinfo=UTC)
_CHROME_KIND, _CHAIN_END = 0xFF, 0x20000000
_CHROME_ITSELF = frozenset({3, 4, 8})  # frames within a page, and loading it again
_FIREFOX_ITSELF = frozenset({4, 7, 8, 9})  # the same, and downloads
_TITLE_ENDS = (" - YouTube Music", " - YouTube")


@dataclass(frozen=True, slots=True)
class _Visit:
    number: int
    time: datetime | None
    came_from: int
    passing: bool
    """Whether it led on to another address at once."""
    itself: bool
    """Whether the browser loaded it without being asked to."""
    url: str
    title: str


class BrowserHistoryReader:
    """The history of Chrome, its kin, and Firefox: the database in the profile, or Takeout's of Chrome."""

    name = "browser"
    apps = ("Google", "YouTube")

    def reads(self, file: SourceFile) -> bool:
        """Whether it is a database that is called or built like a history, or Takeout's list."""
        if file.suffix == ".json":
            return f'"{_TAKEOUT}"' in file.start
        if not file.head.startswith(_MAGIC):
            return False
        named = file.name.lower().startswith(("history", "places"))
        return named or b"moz_historyvisits" in file.head or b"CREATE TABLE visits(" in file.head

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """The searches and videos in it."""
        known = RepeatedItems(about)
        led = _Redirects()

        def where(visit: _Visit) -> str:
            return f"{file.where}, visit {visit.number}"

        def found(visits: Iterable[_Visit]) -> Iterator[Found]:
            return each(visits, lambda visit: _found(visit, where(visit), about, known, led), where)

        if file.suffix == ".json":
            with file.open() as stream:
                yield from found(map(_from_takeout, entries(stream, _TAKEOUT)))
        else:
            try:
                with _copy(file) as database:
                    visits = _visits(database)
                    if visits is None:
                        yield SkippedEntry(file.where, "a database that is no history of a browser")
                    else:
                        yield from found(visits)
            except sqlite3.Error:
                yield SkippedEntry(file.where, "a database that cannot be read to its end")
        yield from known.latest()


class _Redirects:
    """Which visits are to pages of search results, or came by way of them."""

    def __init__(self) -> None:
        self._searches: dict[int, str] = {}

    def note(self, visit: _Visit, search: str) -> None:
        """The visit showed, or led on from, the results of this search."""
        self._searches[visit.number] = search

    def search(self, visit: _Visit) -> str | None:
        """The search whose results the visit came from."""
        return self._searches.get(visit.came_from)


def _found(
    visit: _Visit, where: str, about: ImportContext, known: RepeatedItems, led: _Redirects
) -> Iterator[Found]:
    search, name = search_in(visit.url), video_in(visit.url)
    if not visit.url:
        yield SkippedEntry(where, "an entry that is broken or cut off")
    elif visit.passing:
        if before := led.search(visit):
            led.note(visit, before)
        yield SkippedEntry(where, "an address that led on to another")
    elif visit.itself:
        yield SkippedEntry(where, "loaded by the browser itself, or loaded again")
    elif visit.time is None or not possible(visit.time, about):
        yield SkippedEntry(where, NO_TIME)
    elif search:
        item = search.item(visit.time)
        led.note(visit, item.id)
        yield from known.met(item, visit.time)
    elif name and (title := _title(visit.title)):
        yield from known.met(video(name, title, visit.time), visit.time)
    elif before := led.search(visit):
        yield UsageEvent(before, visit.time.replace(microsecond=0))
    else:
        yield SkippedEntry(where, "a page that is neither a search nor a video, nor opened from a search")


def _title(title: str) -> str:
    """A video's title without the site's name; pages of music do not say who plays."""
    music, plain = _TITLE_ENDS
    return "" if title.endswith(music) or title == "YouTube" else title.removesuffix(plain)


@contextmanager
def _copy(file: SourceFile) -> Generator[sqlite3.Connection]:
    """The database as it is now. A copy is read: a browser that is running keeps its own locked."""
    with file.on_disk() as copy:
        for side in _SIDES:
            beside = file.beside and file.beside.with_name(file.beside.name + side)
            if beside and beside.is_file():
                copyfile(beside, copy.with_name(copy.name + side))
        with closing(_opened(copy)) as database:
            yield database


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    # what claims to be a history may be made by anybody: nothing in it is run
    database.execute("PRAGMA trusted_schema = OFF")
    database.text_factory = _text
    return database


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _visits(database: sqlite3.Connection) -> Iterator[_Visit] | None:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if {"visits", "urls"} <= tables:
        return map(_chrome, database.execute(_CHROME))
    if {"moz_historyvisits", "moz_places"} <= tables:
        return map(_firefox, database.execute(_FIREFOX))
    return None


_Row = tuple[int, int | None, int | None, int | None, str | None, str | None, int | None]


def _chrome(row: _Row) -> _Visit:
    number, time, came_from, kind, url, title, hidden = row
    kind = kind or 0
    return _Visit(
        number,
        _time(_CHROME_START, time),
        came_from or 0,
        not kind & _CHAIN_END,
        bool(hidden) or (kind & _CHROME_KIND) in _CHROME_ITSELF,
        url or "",
        title or "",
    )


def _firefox(row: _Row) -> _Visit:
    number, time, came_from, kind, url, title, hidden = row
    itself = kind in _FIREFOX_ITSELF
    # Firefox hides what led on to another address, and what it loaded itself
    passing = bool(hidden) and not itself
    return _Visit(
        number, _time(_FIREFOX_START, time), came_from or 0, passing, itself, url or "", title or ""
    )


def _from_takeout(entry: JsonEntry) -> _Visit:
    given = entry.values or {}
    kind = str(given.get("page_transition", ""))
    return _Visit(
        entry.number,
        _time(_FIREFOX_START, given.get("time_usec")),
        0,
        False,
        kind in ("AUTO_SUBFRAME", "MANUAL_SUBFRAME", "RELOAD"),
        str(given.get("url") or ""),
        str(given.get("title") or ""),
    )


def _time(start: datetime, microseconds: object) -> datetime | None:
    if not isinstance(microseconds, int):
        return None
    try:
        return start + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
