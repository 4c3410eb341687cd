"""Browser history of Chrome, Firefox and Safari: searches and videos among the visited pages.

Other pages are not kept. A page that was opened from search results is a usage event of that search.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.json_stream import JsonEntry, json_entries
from contextune.importers.parsing.sqlite_file import is_sqlite, open_copy, table_names
from contextune.importers.reader import ImportContext, ImportRecord, read_each
from contextune.importers.repeated import NO_TIME, RepeatedItems, is_plausible_time
from contextune.importers.web.urls import parse_search, parse_video_id, video_item
from contextune.types import UsageEvent

_TAKEOUT = "Browser History"
_CHROME = """
    SELECT visits.id, visit_time, from_visit, transition, urls.url, title, hidden
    FROM visits JOIN urls ON urls.id = visits.url ORDER BY visits.id"""
_FIREFOX = """
    SELECT visits.id, visit_date, from_visit, visit_type, url, title, hidden
    FROM moz_historyvisits AS visits JOIN moz_places ON moz_places.id = place_id ORDER BY visits.id"""
_SAFARI = """
    SELECT visits.id, visit_time, 0, redirect_destination IS NOT NULL, url, title, load_successful
    FROM history_visits AS visits JOIN history_items ON history_items.id = history_item
    ORDER BY visits.id"""
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
        """Whether it is a history database, by its name or its tables, or Takeout's JSON."""
        if file.suffix == ".json":
            return f'"{_TAKEOUT}"' in file.start
        # the tables of a new database may still be in its log
        if is_sqlite(file) and file.name.lower().startswith(("history", "places")):
            return True
        tables = table_names(file)
        return any(needed <= tables for needed in _QUERIES)

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
                yield from records(map(_from_takeout, json_entries(stream, _TAKEOUT)))
        else:
            try:
                with open_copy(file) as database:
                    visits = _visits(database)
                    if visits is None:
                        yield SkippedEntry(file.where, "not a browser history database")
                    else:
                        yield from records(visits)
            except sqlite3.Error:
                yield SkippedEntry(file.where, "damaged database")
        yield from repeated.latest()


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


def _visits(database: sqlite3.Connection) -> Iterator[_Visit] | None:
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for needed, (query, visit) in _QUERIES.items():
        if needed <= tables:
            return map(visit, database.execute(query))
    return None


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
        bool(is_redirect),
        is_loaded == 0,
        url or "",
        title or "",
    )


_QUERIES: Mapping[frozenset[str], tuple[str, Callable[[_Row], _Visit]]] = {
    frozenset({"visits", "urls"}): (_CHROME, _chrome),
    frozenset({"moz_historyvisits", "moz_places"}): (_FIREFOX, _firefox),
    frozenset({"history_visits", "history_items"}): (_SAFARI, _safari),
}
"""Query and conversion of the rows, by the tables of the database."""


def _from_takeout(entry: JsonEntry) -> _Visit:
    data = entry.values or {}
    kind = str(data.get("page_transition", ""))
    return _Visit(
        entry.number,
        _time(_FIREFOX_START, data.get("time_usec")),
        0,
        False,
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
