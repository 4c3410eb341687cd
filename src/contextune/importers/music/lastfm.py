"""Last.fm listening history: a table or JSON with artist, album, song and time."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from contextune._internal.phrases import phrases
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.music import song_item
from contextune.importers.parsing.csv_rows import first_row, read_rows
from contextune.importers.parsing.json_stream import json_entries
from contextune.importers.reader import (
    NO_TIME,
    ImportContext,
    ImportRecord,
    RepeatedItems,
    is_plausible_time,
    read_values,
)

_COLUMNS = {
    "artist": ("artist", "artist name", "artist_name", "artistname"),
    "song": ("track", "song", "track name", "track_name", "trackname", "title", "song name", "name"),
    "album": ("album", "album name", "album_name", "albumname"),
    "time": phrases("""
        uts, utc_time, timestamp, timestamp_utc, date, datetime, played at, played_at, isodate
        scrobble time, date_uts, time, utc time, scrobbled at, listened_at
    """),
    "clock": ("time",),
}
"""Column names in the exports of several programs; time columns with the most reliable first."""
_JSON_KEYS = ('"scrobbles"', '"track"', '"artist"', '"date"')
_WITHOUT_NAMES = ("artist", "album", "song", "time")
_LASTFM_TIME = re.compile(r"(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}),? (\d\d):(\d\d)$", re.ASCII)
"""Last.fm's own format; trying `_TIME_FORMATS` one by one takes ten times as long."""
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_TIME_FORMATS = (
    "%d %b %Y %H:%M",
    "%d %b %Y, %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S",
)
_EPOCH = re.compile(r"\d{9,10}(?:\d{3})?(?:\.\d*)?$")


class LastFmReader:
    """Last.fm plays in CSV and JSON files."""

    name = "lastfm"
    apps = ("Music",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether there are columns for artist, song and time."""
        if file.suffix == ".json":
            return all(key in file.start for key in _JSON_KEYS)
        return bool(_names(first_row(file)))

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The songs, with a usage event per play."""
        if file.suffix == ".json":
            yield from _read_json(file, context)
            return
        first = first_row(file)
        names = _names(first)
        songs = RepeatedItems(context)

        def play(row: Mapping[str, str], where: str) -> Iterator[ImportRecord]:
            return _play(row, where, context, songs)

        with file.open() as stream:
            table = read_rows(file, stream, names)
            if not _time(first[-1]):  # the first row is a header
                next(table, None)
            yield from read_values(table, play, f"{file.where}, line", "unreadable row")
        yield from songs.latest()


def _read_json(file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
    """The plays of lastfmstats.com's JSON."""
    songs = RepeatedItems(context)

    def play(values: Mapping[str, Any], where: str) -> Iterator[ImportRecord]:
        roles = {"song": "track", "artist": "artist", "album": "album", "time": "date"}
        row = {role: str(values.get(key) or "") for role, key in roles.items()}
        return _play(row, where, context, songs)

    with file.open() as stream:
        yield from read_values(json_entries(stream, "scrobbles"), play, f"{file.where}, entry")
    yield from songs.latest()


def _play(
    row: Mapping[str, str], where: str, context: ImportContext, songs: RepeatedItems
) -> Iterator[ImportRecord]:
    # some tables have the day and the time of day in two columns
    played = _time(f"{row.get('time', '')} {row['clock']}" if row.get("clock") else row.get("time", ""))
    played = played or _time(row.get("time", ""))
    if played is None or not is_plausible_time(played, context):
        # a track that is playing now has no time
        yield SkippedEntry(where, NO_TIME)
    elif item := song_item(row.get("song", ""), row.get("artist", ""), played, row.get("album", "")):
        yield from songs.add(item, played)
    else:
        yield SkippedEntry(where, "play without a song name")


def _names(first: Sequence[str]) -> tuple[str, ...]:
    """The role of each column; empty if the file is not a table of plays."""
    headers = [name.strip().lower().partition("#")[0] for name in first]
    roles: dict[int, str] = {}
    for role, aliases in _COLUMNS.items():
        free = [headers.index(name) for name in aliases if name in headers]
        position = next((number for number in free if number not in roles), None)
        if position is not None:
            roles[position] = role
    if {"artist", "song", "time"} <= set(roles.values()):
        return tuple(roles.get(position, "") for position in range(len(headers)))
    return _WITHOUT_NAMES if len(first) == len(_WITHOUT_NAMES) and _time(first[-1]) else ()


def _time(text: str) -> datetime | None:
    """The time of a play, which Last.fm records in UTC."""
    text = text.strip()
    if _EPOCH.match(text):
        number = float(text)
        return datetime.fromtimestamp(number / 1000 if number > 10**11 else number, UTC)
    try:
        time = _parse_lastfm_time(text) or datetime.fromisoformat(text)
    except ValueError:
        return _parse_other_time(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _parse_lastfm_time(text: str) -> datetime | None:
    match = _LASTFM_TIME.match(text)
    month = _MONTHS.get(match[2]) if match else None
    if not match or not month:
        return None
    return datetime(int(match[3]), month, int(match[1]), int(match[4]), int(match[5]), tzinfo=UTC)


def _parse_other_time(text: str) -> datetime | None:
    for time_format in _TIME_FORMATS:
        try:
            return datetime.strptime(text, time_format).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
