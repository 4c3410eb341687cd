"""What was played, as Last.fm's listeners get it out: a table of artist, album, song and time."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.music.song import song
from contextune.importers.parsing.csv_rows import CsvRow, first_row, rows
from contextune.importers.reader import Found, ImportContext, each
from contextune.importers.repeated import NO_TIME, RepeatedItems, possible

_COLUMNS = {
    "artist": ("artist", "artist name", "artist_name"),
    "song": ("track", "song", "track name", "track_name", "title", "song name"),
    "album": ("album", "album name", "album_name"),
    "time": ("uts", "utc_time", "timestamp", "date", "time", "datetime", "played at", "played_at", "isodate"),
}
"""What each column is called by the many programs that fetch one's plays; of times the surest first."""
_WITHOUT_NAMES = ("artist", "album", "song", "time")
_USUAL = re.compile(r"(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}),? (\d\d):(\d\d)$", re.ASCII)
"""As Last.fm itself writes it: to try one pattern after the other takes ten times as long."""
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_WRITTEN = ("%d %b %Y %H:%M", "%d %b %Y, %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S")
_EPOCH = re.compile(r"\d{9,10}(?:\d{3})?(?:\.\d*)?$")


class LastFmReader:
    """Plays in a CSV file."""

    name = "lastfm"
    apps = ("Music",)

    def reads(self, file: SourceFile) -> bool:
        """Whether there are columns for an artist, a song and a time."""
        return bool(_names(first_row(file)))

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Every song that was listened to."""
        first = first_row(file)
        names = _names(first)
        songs = RepeatedItems(about)

        def where(row: CsvRow) -> str:
            return f"{file.where}, line {row.line}"

        def play(row: CsvRow) -> Iterator[Found]:
            if row.values is None:
                yield SkippedEntry(where(row), "a row that cannot be read")
            else:
                yield from _play(row.values, where(row), about, songs)

        with file.open() as stream:
            table = rows(file, stream, names)
            if not _time(first[-1]):  # where no time stands, the columns' names do
                next(table, None)
            yield from each(table, play, where)
        yield from songs.latest()


def _play(row: Mapping[str, str], where: str, about: ImportContext, songs: RepeatedItems) -> Iterator[Found]:
    played = _time(row.get("time", ""))
    if played is None or not possible(played, about):
        # "now playing" stands in the table without a time
        yield SkippedEntry(where, NO_TIME)
    elif found := song(row.get("song", ""), row.get("artist", ""), played, row.get("album", "")):
        yield from songs.met(found, played)
    else:
        yield SkippedEntry(where, "a play of no song")


def _names(first: Sequence[str]) -> tuple[str, ...]:
    """What each column is; nothing where this is no table of plays."""
    called = [name.strip().lower().partition("#")[0] for name in first]
    places: dict[int, str] = {}
    for role, known in _COLUMNS.items():
        place = next((called.index(name) for name in known if name in called), None)
        if place is not None:
            places[place] = role
    if {"artist", "song", "time"} <= set(places.values()):
        return tuple(places.get(place, "") for place in range(len(called)))
    return _WITHOUT_NAMES if len(first) == len(_WITHOUT_NAMES) and _time(first[-1]) else ()


def _time(text: str) -> datetime | None:
    """A play's time, which Last.fm keeps in universal time."""
    text = text.strip()
    if _EPOCH.match(text):
        number = float(text)
        return datetime.fromtimestamp(number / 1000 if number > 10**11 else number, UTC)
    try:
        time = _usual_time(text) or datetime.fromisoformat(text)
    except ValueError:
        return _written_time(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _usual_time(text: str) -> datetime | None:
    found = _USUAL.match(text)
    month = _MONTHS.get(found[2]) if found else None
    if not found or not month:
        return None
    return datetime(int(found[3]), month, int(found[1]), int(found[4]), int(found[5]), tzinfo=UTC)


def _written_time(text: str) -> datetime | None:
    for written in _WRITTEN:
        try:
            return datetime.strptime(text, written).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
