"""Browser history of Chrome, Firefox and Safari: searches and videos among the visited pages.

Other pages are not kept. A page that was opened from search results is a usage event of that search.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from contextune.errors import InvalidDataError
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.json_stream import JsonEntry, json_entries
from contextune.importers.parsing.sqlite_file import column_names, open_copy, table_names
from contextune.importers.reader import (
    NO_TIME,
    ImportContext,
    ImportRecord,
    RepeatedItems,
    is_plausible_time,
    read_each,
)
from contextune.importers.web.urls import parse_search, parse_video_id, video_item
from contextune.types import UsageEvent

_TAKEOUT = "Browser History"
_SAFARI = ('"browser_name"', '"history"', '"time_usec"')
"""Keys of what Safari exports (File > Export Browsing Data), whose name is in the user's language."""
_SAFARI_START = datetime(2001, 1, 1, tzinfo=UTC)
_CHROME_START = datetime(1601, 1, 1, tzinfo=UTC)
_FIREFOX_START = datetime(1970, 1, 1, tzinfo=UTC)
_CHROME_KIND, _CHAIN_END = 0xFF, 0x20000000
_CHROME_AUTOMATIC = frozenset({3, 4, 8})  # frames and reloads
_FIREFOX_AUTOMATIC = frozenset({4, 7, 8, 9})  # frames, reloads and downloads
_TITLE_SUFFIXES = (" - YouTube Music", " - YouTube")


@dataclass(frozen=True, slots=True)
class _Visit:
    number: int
    time: datetime | None
    referrer: int
    is_redirect: bool
    """Whether it redirected to another URL."""
    automatic: bool
    """Whether the browser loaded it without an action of the user."""
    url: str
    title: str


class BrowserHistoryReader:
    """History databases of Chromium browsers, Firefox and Safari, and Takeout's JSON of Chrome."""

    name = "browser"
    apps = ("Google", "YouTube")

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a history database, by its tables, or Takeout's JSON."""
        if file.suffix == ".json":
            return f'"{_TAKEOUT}"' in file.start or _is_safari_export(file)
        tables = table_names(file)
        return any(schema.tables <= tables for schema in _SCHEMAS)

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The searches and videos in the history."""
        repeated = RepeatedItems(context)
        search_visits = _SearchVisits()

        def where(visit: _Visit) -> str:
            return f"{file.where}, visit {visit.number}"

        def records(visits: Iterable[_Visit]) -> Iterator[ImportRecord]:
            return read_each(
                visits, lambda visit: _records(visit, where(visit), context, repeated, search_visits), where
            )

        if file.suffix == ".json":
            with file.open() as stream:
                key = "history" if _is_safari_export(file) else _TAKEOUT
                yield from records(map(_from_json, json_entries(stream, key)))
        else:
            try:
                with open_copy(file) as database:
                    yield from records(_visits(database))
            except sqlite3.Error:
                yield SkippedEntry(file.where, "damaged database")
        yield from repeated.latest()


def _is_safari_export(file: SourceFile) -> bool:
    return all(key in file.start for key in _SAFARI)


class _SearchVisits:
    """Visits of search results, and redirects from them, with the search they belong to."""

    def __init__(self) -> None:
        self._searches: dict[int, str] = {}

    def set(self, visit: _Visit, search: str) -> None:
        """Record that the visit shows, or redirects from, the results of a search."""
        self._searches[visit.number] = search

    def search(self, visit: _Visit) -> str | None:
        """The search from whose results the visit came."""
        return self._searches.get(visit.referrer)


def _records(
    visit: _Visit, where: str, context: ImportContext, repeated: RepeatedItems, search_visits: _SearchVisits
) -> Iterator[ImportRecord]:
    search, video_id = parse_search(visit.url), parse_video_id(visit.url)
    if not visit.url:
        yield SkippedEntry(where, "broken or truncated entry")
    elif visit.is_redirect:
        if search_id := search_visits.search(visit):
            search_visits.set(visit, search_id)
        yield SkippedEntry(where, "redirect")
    elif visit.automatic:
        yield SkippedEntry(where, "loaded or reloaded by the browser")
    elif visit.time is None or not is_plausible_time(visit.time, context):
        yield SkippedEntry(where, NO_TIME)
    elif search:
        item = search.item(visit.time)
        search_visits.set(visit, item.id)
        yield from repeated.add(item, visit.time)
    elif video_id and (title := _title(visit.title)):
        yield from repeated.add(video_item(video_id, title, visit.time), visit.time)
    elif search_id := search_visits.search(visit):
        yield UsageEvent(search_id, visit.time.replace(microsecond=0))
    else:
        yield SkippedEntry(where, "page that is not a search, a video or opened from a search")


def _title(title: str) -> str:
    """The title of a video without the name of the site; empty for music, which lacks the artist."""
    music, plain = _TITLE_SUFFIXES
    return "" if title.endswith(music) or title == "YouTube" else title.removesuffix(plain)


_Row = tuple[int, float | None, int | None, int | None, str | None, str | None, int | None]


def _chrome(row: _Row) -> _Visit:
    number, time, referrer, kind, url, title, hidden = row
    kind = kind or 0
    return _Visit(
        number,
        _time(_CHROME_START, time),
        referrer or 0,
        not kind & _CHAIN_END,
        bool(hidden) or (kind & _CHROME_KIND) in _CHROME_AUTOMATIC,
        url or "",
        title or "",
    )


def _firefox(row: _Row) -> _Visit:
    number, time, referrer, kind, url, title, hidden = row
    automatic = kind in _FIREFOX_AUTOMATIC
    # Firefox hides redirects and what it loaded by itself
    is_redirect = bool(hidden) and not automatic
    return _Visit(
        number, _time(_FIREFOX_START, time), referrer or 0, is_redirect, automatic, url or "", title or ""
    )


def _safari(row: _Row) -> _Visit:
    number, time, referrer, is_redirect, url, title, is_loaded = row
    seconds = int(time * 1_000_000) if isinstance(time, int | float) else None
    # nothing tells from which page a visit came
    return _Visit(
        number,
        _time(_SAFARI_START, seconds),
        referrer or 0,
        is_redirect is not None,
        is_loaded == 0,
        url or "",
        title or "",
    )


@dataclass(frozen=True)
class _HistorySchema:
    """The tables of one browser, and the columns in the order of `_Row`."""

    visits: str
    places: str
    place: str
    """Column of a visit with the id of its place."""
    needed: tuple[str, str]
    """Columns with the time of a visit and the URL of a place."""
    columns: tuple[tuple[str, str], ...]
    """The other columns, each with the value to take if the table lacks it, as old and copied ones may."""
    to_visit: Callable[[_Row], _Visit]

    @property
    def tables(self) -> frozenset[str]:
        """Tables that the database has."""
        return frozenset({self.visits, self.places})

    def query(self, database: sqlite3.Connection) -> str:
        """A query for the visits; raises `InvalidDataError` if a needed column is missing."""
        visits, places = column_names(database, self.visits), column_names(database, self.places)
        time, url = self.needed
        missing = {self.place, time} - visits or {url} - places
        if missing:
            raise InvalidDataError(f"browser history without the column {min(missing)}")
        columns = (
            f"place.{name}" if name in places else f"visit.{name}" if name in visits else default
            for name, default in self.columns
        )
        referrer, kind, title, hidden = columns
        # a copy made by hand may lack an id, but always has a rowid
        visit_id, place_id = ("id" if "id" in names else "rowid" for names in (visits, places))
        return (
            f"SELECT visit.{visit_id}, visit.{time}, {referrer}, {kind}, place.{url}, {title}, {hidden}"  # noqa: S608
            f" FROM {self.visits} AS visit"
            f" JOIN {self.places} AS place ON place.{place_id} = visit.{self.place}"
            f" ORDER BY visit.{visit_id}"
        )


_SCHEMAS = (
    _HistorySchema(
        *("visits", "urls", "url", ("visit_time", "url")),
        (("from_visit", "0"), ("transition", str(_CHAIN_END)), ("title", "''"), ("hidden", "0")),
        _chrome,
    ),
    _HistorySchema(
        *("moz_historyvisits", "moz_places", "place_id", ("visit_date", "url")),
        (("from_visit", "0"), ("visit_type", "0"), ("title", "''"), ("hidden", "0")),
        _firefox,
    ),
    _HistorySchema(
        *("history_visits", "history_items", "history_item", ("visit_time", "url")),
        (("from_visit", "0"), ("redirect_destination", "NULL"), ("title", "''"), ("load_successful", "1")),
        _safari,
    ),
)


def _visits(database: sqlite3.Connection) -> Iterator[_Visit]:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for schema in _SCHEMAS:
        if schema.tables <= tables:
            return map(schema.to_visit, database.execute(schema.query(database)))
    raise InvalidDataError("not a browser history database")


def _from_json(entry: JsonEntry) -> _Visit:
    data = entry.values or {}
    kind = str(data.get("page_transition", ""))
    return _Visit(
        entry.number,
        _time(_FIREFOX_START, data.get("time_usec")),
        0,
        "destination_url" in data,
        kind in ("AUTO_SUBFRAME", "MANUAL_SUBFRAME", "RELOAD"),
        str(data.get("url") or ""),
        str(data.get("title") or ""),
    )


def _time(start: datetime, microseconds: object) -> datetime | None:
    if not isinstance(microseconds, int):
        return None
    try:
        return start + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
