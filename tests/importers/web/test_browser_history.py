"""History databases of Chrome and Firefox, also while they are in use."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from tests.importers.reading_files import INES, NOW, items_in, only_file, read_path, skipped_in, utc

from contextune.importers import import_into
from contextune.importers.parsing.sqlite_file import table_names
from contextune.importers.registry import detect_reader
from contextune.store import SQLiteStore
from contextune.types import UsageEvent

LINK, TYPED, FRAME, RELOAD = 0, 1, 3, 8
END = 0x30000000
"""A visit without redirects."""
BEGIN = 0x10000000
CHROME = """
    CREATE TABLE urls(id INTEGER PRIMARY KEY AUTOINCREMENT, url LONGVARCHAR, title LONGVARCHAR,
    visit_count INTEGER DEFAULT 0 NOT NULL, typed_count INTEGER DEFAULT 0 NOT NULL,
    last_visit_time INTEGER NOT NULL, hidden INTEGER DEFAULT 0 NOT NULL);
    CREATE TABLE visits(id INTEGER PRIMARY KEY AUTOINCREMENT, url INTEGER NOT NULL,
    visit_time INTEGER NOT NULL, from_visit INTEGER, external_referrer_url TEXT,
    transition INTEGER DEFAULT 0 NOT NULL, segment_id INTEGER, visit_duration INTEGER DEFAULT 0 NOT NULL);"""
FIREFOX = """
    CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR,
    rev_host LONGVARCHAR, visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL,
    typed INTEGER DEFAULT 0 NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER);
    CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER,
    visit_date INTEGER, visit_type INTEGER, session INTEGER);"""
SEARCH = "https://www.google.com/search?q=celadon+crazing+why"
VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
GLAZE = "https://glaze.example.com/crazing"
NIGHT = utc(2024, 5, 14, 21, 10)


def chrome_time(time: datetime) -> int:
    return int((time - utc(1601, 1, 1)).total_seconds()) * 1_000_000


class Chrome:
    """A Chrome history database."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path)
        self.database.execute("PRAGMA synchronous = OFF")
        self.database.executescript(CHROME)

    def visit(
        self,
        url: str | None,
        title: str = "",
        time: datetime = NIGHT,
        came_from: int = 0,
        kind: int = LINK | END,
        hidden: int = 0,
    ) -> int:
        """Add a visit; returns its number."""
        stamp = chrome_time(time)
        place = self.database.execute(
            "INSERT INTO urls (url, title, last_visit_time, hidden) VALUES (?, ?, ?, ?)",
            (url, title, stamp, hidden),
        ).lastrowid
        number = self.database.execute(
            "INSERT INTO visits (url, visit_time, from_visit, transition) VALUES (?, ?, ?, ?)",
            (place, stamp, came_from, kind),
        ).lastrowid
        self.database.commit()
        assert number
        return number


@pytest.fixture
def chrome(tmp_path: Path) -> Iterator[Chrome]:
    made = Chrome(tmp_path / "History")
    with closing(made.database):
        yield made


def uses_in(path: Path) -> list[UsageEvent]:
    return [record for record in read_path(path) if isinstance(record, UsageEvent)]


def test_searches_videos_and_pages_opened_from_a_search(tmp_path: Path, chrome: Chrome) -> None:
    search = chrome.visit(SEARCH, "celadon crazing why - Google Search", kind=5 | END)
    passing = chrome.visit(
        "https://www.google.com/url?q=x", time=utc(2024, 5, 14, 21, 11), came_from=search, kind=BEGIN
    )
    chrome.visit(GLAZE, "Crazing", utc(2024, 5, 14, 21, 11, 1), came_from=passing)
    chrome.visit(VIDEO, "Throwing a tall vase - YouTube", utc(2024, 5, 14, 22), kind=TYPED | END)
    chrome.visit(GLAZE, "Crazing", kind=TYPED | END)
    chrome.visit("https://frame.example.com/", kind=FRAME | END)
    chrome.visit(SEARCH, "celadon crazing why - Google Search", kind=RELOAD | END)
    chrome.visit("https://hidden.example.com/", hidden=1)
    chrome.visit("chrome://settings/", "Settings")
    chrome.visit(SEARCH, time=utc(1601, 1, 1))
    chrome.visit(None)
    path = tmp_path / "History"
    assert [(item.app, item.fields) for item in items_in(path)] == [
        ("Google", {"query": "celadon crazing why", "date": "2024-05-14T21:10+00:00"}),
        ("YouTube", {"title": "Throwing a tall vase", "date": "2024-05-14T22:00+00:00"}),
    ]
    search_item, video_item = items_in(path)
    assert uses_in(path) == [
        UsageEvent(search_item.id, NIGHT),
        UsageEvent(search_item.id, utc(2024, 5, 14, 21, 11, 1)),  # a page that was found and opened
        UsageEvent(video_item.id, utc(2024, 5, 14, 22)),
    ]
    page = "page that is not a search, a video or opened from a search"
    assert skipped_in(path) == [
        "redirect",
        page,
        *["loaded or reloaded by the browser"] * 3,
        page,
        "no valid time",
        "broken or truncated entry",
    ]


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A running Firefox: its places.sqlite is locked, and the latest changes are in another file."""
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as firefox:
        firefox.execute("PRAGMA page_size = 32768")
        firefox.execute("PRAGMA journal_mode = WAL")
        firefox.execute("PRAGMA locking_mode = EXCLUSIVE")
        firefox.executescript(FIREFOX)
        stamp = int(NIGHT.timestamp() * 1_000_000)
        for number, (url, title, kind, hidden) in enumerate(
            [
                (SEARCH, "celadon crazing why", 2, 0),
                ("https://t.example.com/", "", 1, 1),  # led on
                (GLAZE, "Crazing", 6, 0),
                (f"{GLAZE}/kiln.pdf", "", 7, 0),
                (SEARCH, "celadon crazing why", 9, 0),
                ("about:home", "", 1, 0),
            ],
            1,
        ):
            place = (number, url, title, hidden)
            firefox.execute("INSERT INTO moz_places (id, url, title, hidden) VALUES (?, ?, ?, ?)", place)
            visit = (number, number - 1, number, stamp + number * 1_000_000, kind)
            firefox.execute(
                "INSERT INTO moz_historyvisits (id, from_visit, place_id, visit_date, visit_type)"
                " VALUES (?, ?, ?, ?, ?)",
                visit,
            )
        with (
            pytest.raises(sqlite3.OperationalError, match="locked"),
            closing(sqlite3.connect(path, 0)) as other,
        ):
            other.execute("SELECT count(*) FROM moz_places")
        yield firefox


@pytest.mark.usefixtures("firefox")
def test_history_in_use_is_read_with_its_latest_changes(tmp_path: Path, store: SQLiteStore) -> None:
    store.put_user(INES)
    report = import_into(store, "ines", [tmp_path / "places.sqlite"], now=NOW)
    (item,) = store.items("ines")
    assert item.title == "celadon crazing why"
    assert [use.time.second for use in store.uses("ines")] == [1, 3]
    assert report.files == {"browser": 1}
    assert {reason.why: reason.count for reason in report.skipped} == {
        "redirect": 1,
        "loaded or reloaded by the browser": 2,
        "page that is not a search, a video or opened from a search": 1,
    }


@pytest.mark.usefixtures("firefox")
def test_no_file_is_written_beside_a_history_in_use(tmp_path: Path, store: SQLiteStore) -> None:
    beside = sorted(file.name for file in tmp_path.glob("places*"))
    store.put_user(INES)
    import_into(store, "ines", [tmp_path / "places.sqlite"], now=NOW)
    assert sorted(file.name for file in tmp_path.glob("places*")) == beside


def test_closed_history_has_the_same_uses(
    firefox: sqlite3.Connection, tmp_path: Path, store: SQLiteStore
) -> None:
    store.put_user(INES)
    assert import_into(store, "ines", [tmp_path / "places.sqlite"], now=NOW).new_uses == 2
    firefox.close()
    assert import_into(store, "ines", [tmp_path / "places.sqlite"], now=NOW).new_uses == 0


def test_takeout_history_of_chrome(tmp_path: Path) -> None:
    stamp = int(NIGHT.timestamp() * 1_000_000)
    visits = [
        {"page_transition": "GENERATED", "title": "x", "url": SEARCH, "client_id": "c", "time_usec": stamp},
        {"page_transition": "LINK", "title": "Vase - YouTube", "url": VIDEO, "time_usec": stamp},
        {"page_transition": "LINK", "title": "Fado - YouTube Music", "url": VIDEO, "time_usec": stamp},
        {"page_transition": "RELOAD", "title": "x", "url": SEARCH, "time_usec": stamp},
        {"page_transition": "LINK", "url": SEARCH, "time_usec": "late"},
    ]
    path = tmp_path / "History.json"
    path.write_text(json.dumps({"Browser History": visits}))
    assert [item.title for item in items_in(path)] == ["celadon crazing why", "Vase"]
    assert len(skipped_in(path)) == 3


def test_damaged_and_foreign_databases_are_reported(tmp_path: Path, chrome: Chrome) -> None:
    for _ in range(150):
        chrome.visit(SEARCH, "x" * 500)
    content = (tmp_path / "History").read_bytes()
    broken = tmp_path / "History-broken"
    broken.write_bytes(content[:8192] + b"\xff" * 40_000 + content[48_192:])
    assert "damaged database" in skipped_in(broken)
    foreign = tmp_path / "places.db"
    with closing(sqlite3.connect(foreign)) as database:
        database.executescript(
            "CREATE TABLE a (b); CREATE VIEW visits AS SELECT 1; CREATE VIEW urls AS SELECT 1"
        )
    assert skipped_in(foreign) == ["unknown format"]
    other = tmp_path / "store.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE a (b)")
    assert detect_reader(only_file(other)) is None


def test_invalid_utf8_in_titles_is_replaced(tmp_path: Path, chrome: Chrome) -> None:
    chrome.visit(VIDEO, "x")
    chrome.database.execute("UPDATE urls SET title = CAST(x'ff41' AS TEXT)")
    chrome.database.commit()
    assert [item.title for item in items_in(tmp_path / "History")] == ["\ufffdA"]


def test_firefox_database_is_recognised_by_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "firefox.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA page_size = 32768")  # as Firefox: the schema is beyond the first 8 KB
        for number in range(300):  # and so long that it takes several pages
            database.execute(f"CREATE TABLE extra_{number} (a INTEGER, {'b' * 100} TEXT)")
        database.execute(
            "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, title TEXT, hidden INTEGER)"
        )
        database.execute(
            "CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER,"
            " visit_date INTEGER, visit_type INTEGER)"
        )
        database.execute("INSERT INTO moz_places VALUES (1, ?, 'x', 0)", (SEARCH,))
        database.execute("INSERT INTO moz_historyvisits VALUES (1, 0, 1, 1715721000000000, 1)")
        database.commit()
    assert [item.fields["query"] for item in items_in(path)] == ["celadon crazing why"]


FIREFOX_COPIES = {
    "2024": "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host"
    " LONGVARCHAR, visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0"
    " NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER, guid TEXT, foreign_count"
    " INTEGER DEFAULT 0 NOT NULL, url_hash INTEGER DEFAULT 0 NOT NULL, description TEXT, preview_image_url"
    " TEXT, site_name TEXT, origin_id INTEGER REFERENCES moz_origins(id), recalc_frecency INTEGER NOT NULL"
    " DEFAULT 0);"
    " CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER,"
    " visit_date INTEGER, visit_type INTEGER, session INTEGER, source INTEGER DEFAULT 0 NOT NULL,"
    " triggeringPlaceId INTEGER)",
    "2012, without description and origin_id": FIREFOX,
    "without visit_type, from_visit and hidden": "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT,"
    " title TEXT); CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, place_id INTEGER,"
    " visit_date INTEGER)",
    "without ids of visits": "CREATE TABLE moz_places (title TEXT, URL TEXT, id INTEGER);"
    " CREATE TABLE moz_historyvisits (place_id INTEGER, visit_date INTEGER, title TEXT)",
}


@pytest.mark.parametrize("mode", ["rollback", "wal, closed", "wal, in use"])
@pytest.mark.parametrize("schema", FIREFOX_COPIES.values(), ids=FIREFOX_COPIES)
def test_copy_of_firefox_history_under_another_name(tmp_path: Path, schema: str, mode: str) -> None:
    (tmp_path / "profile").mkdir()
    path = tmp_path / "profile" / "places.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as firefox:
        if mode != "rollback":
            firefox.execute("PRAGMA journal_mode = WAL")
        firefox.executescript(schema)
        stamp = int(NIGHT.timestamp() * 1_000_000)
        for number, (url, title) in enumerate([(SEARCH, "celadon"), (VIDEO, "Vase - YouTube")], 1):
            firefox.execute("INSERT INTO moz_places (id, url, title) VALUES (?, ?, ?)", (number, url, title))
            visit = (number, stamp + number)
            firefox.execute("INSERT INTO moz_historyvisits (place_id, visit_date) VALUES (?, ?)", visit)
        copied = tmp_path / "firefox.sqlite"
        if mode == "wal, in use":
            shutil.copy(f"{path}-wal", f"{copied}-wal")
            shutil.copy(path, copied)
    if mode != "wal, in use":
        shutil.copy(path, copied)
    assert [item.title for item in items_in(copied)] == ["celadon crazing why", "Vase"]


def test_history_without_urls_names_the_missing_column(tmp_path: Path, store: SQLiteStore) -> None:
    path = tmp_path / "firefox.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, title TEXT);"
            " CREATE TABLE moz_historyvisits (place_id INTEGER, visit_date INTEGER)"
        )
    (reason,) = import_into(store, "ines", [path], now=NOW).skipped
    assert reason.why == "browser history without the column url"


def test_pages_left_in_an_emptied_log_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA secure_delete = ON")
        database.executescript(FIREFOX)
        for number in range(10):
            database.execute(f"CREATE TABLE notes_{number} (text TEXT)")
            database.execute(f"DROP TABLE notes_{number}")
        database.execute("PRAGMA wal_checkpoint(RESTART)")
        database.execute("DROP TABLE moz_places")
        assert b"TABLE moz_places" in Path(f"{path}-wal").read_bytes()
        assert table_names(only_file(path)) == {"moz_historyvisits"}


def test_safari_history(tmp_path: Path) -> None:
    path = tmp_path / "History.db"
    seconds = (NIGHT - utc(2001, 1, 1)).total_seconds()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE history_items (id INTEGER PRIMARY KEY, url TEXT UNIQUE, visit_count INTEGER)"
        )
        database.execute(
            "CREATE TABLE history_visits (id INTEGER PRIMARY KEY, history_item INTEGER, visit_time REAL,"
            " title TEXT, load_successful BOOLEAN DEFAULT 1, redirect_source INTEGER,"
            " redirect_destination INTEGER)"
        )
        for number, url in enumerate((SEARCH, VIDEO, GLAZE, "https://failed.example.com/"), 1):
            database.execute("INSERT INTO history_items VALUES (?, ?, 1)", (number, url))
        for visit in (
            (1, 1, seconds, "celadon - Google Search", 1, None, None),
            (2, 2, seconds + 60.5, "Throwing a tall vase - YouTube", 1, None, None),
            (3, 3, seconds + 90, "Crazing", 1, None, 4),
            (4, 4, seconds + 91, None, 0, 3, None),
            (5, 1, seconds + 3600, "celadon - Google Search", 1, None, None),
            (6, 1, None, None, 1, None, None),
        ):
            database.execute("INSERT INTO history_visits VALUES (?, ?, ?, ?, ?, ?, ?)", visit)
        database.commit()
    search, video, latest = items_in(path)
    assert (search.id, latest.fields["date"]) == (latest.id, "2024-05-14T22:10+00:00")
    assert video.fields == {"title": "Throwing a tall vase", "date": "2024-05-14T21:11+00:00"}
    assert len(uses_in(path)) == 3
    assert skipped_in(path) == ["redirect", "loaded or reloaded by the browser", "no valid time"]


def test_export_of_safari_in_any_language(tmp_path: Path) -> None:
    visits = [
        {"url": SEARCH, "time_usec": 1715720400000000, "visits_count": 1},
        {"url": VIDEO, "title": "Throwing a tall vase - YouTube", "time_usec": 1715720460000000},
        {"url": "https://short.example.com/1", "time_usec": 1715720470000000, "destination_url": GLAZE},
        {
            "url": GLAZE,
            "title": "Crazing",
            "time_usec": 1715720480000000,
            "latest_visit_was_load_failure": False,
        },
    ]
    metadata = {
        "browser_name": "Safari",
        "browser_version": "18.2",
        "data_type": "history",
        "export_time_usec": 1715800000000000,
        "schema_version": 1,
    }
    path = tmp_path / "historique.json"
    path.write_text(json.dumps({"metadata": metadata, "history": visits}, indent=2))
    search, video = items_in(path)
    assert (search.title, search.fields["date"]) == ("celadon crazing why", "2024-05-14T21:00+00:00")
    assert video.title == "Throwing a tall vase"
    assert skipped_in(path) == [
        "redirect",
        "page that is not a search, a video or opened from a search",
    ]
