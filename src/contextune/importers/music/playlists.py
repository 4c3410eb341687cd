"""Playlists: Spotify's Playlist1.json, and the table of YouTube's playlists in Google Takeout."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.parsing.charsets import decode_text
from contextune.importers.parsing.csv_rows import CsvRow, first_row, read_rows
from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import ImportContext, ImportRecord, item_id, read_each, shorten
from contextune.types import Item

_SPOTIFY = ('"playlists"', '"lastModifiedDate"')
_TITLES = ("Playlist Title (Original)", "Playlist Title", "Title")
_VIDEOS = {"Video ID", "Playlist Video Creation Timestamp"}
_MAX_SIZE = 64 * 2**20
_MAX_NAME, _MAX_SONGS = 300, 500


class PlaylistReader:
    """The user's playlists of Spotify and YouTube."""

    name = "playlists"
    apps = ("Music",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is Spotify's JSON of playlists, or a table of YouTube's playlists or of their videos."""
        if file.suffix == ".json":
            return all(key in file.start for key in _SPOTIFY)
        columns = set(first_row(file))
        return columns >= _VIDEOS or ("Playlist ID" in columns and not columns.isdisjoint(_TITLES))

    def read(self, file: SourceFile, _context: ImportContext) -> Iterator[ImportRecord]:
        """An item per playlist, without a time: a playlist is always there."""
        if file.suffix == ".json":
            yield from _spotify(file)
        elif set(first_row(file)) >= _VIDEOS:
            yield SkippedEntry(file.where, "videos of a playlist, without their titles")
        else:
            yield from _youtube(file)


def _spotify(file: SourceFile) -> Iterator[ImportRecord]:
    try:
        content: object = json.loads(decode_text(file.read_all(_MAX_SIZE)))
    except (ValueError, RecursionError):
        yield SkippedEntry(file.where, "invalid JSON")
        return
    playlists = enumerate(_dicts(_get(content, "playlists")), 1)

    def where(entry: tuple[int, Mapping[str, Any]]) -> str:
        return f"{file.where}, playlist {entry[0]}"

    def playlist(entry: tuple[int, Mapping[str, Any]]) -> Iterator[ImportRecord]:
        values = entry[1]
        songs = [_get(song, "track") or _get(song, "localTrack") for song in _dicts(values.get("items"))]
        names = [_song(cast("dict[str, Any]", song)) for song in songs if isinstance(song, dict)]
        name = _text(values.get("name"))
        yield _item(("spotify", name), name, where(entry), [name for name in names if name])

    yield from read_each(playlists, playlist, where)


def _youtube(file: SourceFile) -> Iterator[ImportRecord]:
    def where(row: CsvRow) -> str:
        return f"{file.where}, line {row.line}"

    def playlist(row: CsvRow) -> Iterator[ImportRecord]:
        values = row.values or {}
        name = next((values[title] for title in _TITLES if values.get(title)), "")
        yield _item(("youtube", values.get("Playlist ID") or name), name, where(row))

    with file.open() as stream:
        rows = read_rows(file, stream, first_row(file))
        next(rows, None)  # the names of the columns
        yield from read_each(rows, playlist, where)


def _item(identity: tuple[str, str], name: str, where: str, songs: list[str] | None = None) -> ImportRecord:
    name = shorten(tidy(name).replace("\n", " "), _MAX_NAME)
    if not name:
        return SkippedEntry(where, "playlist without a name")
    fields: dict[str, Any] = {"playlist": name, "songs": (songs or [])[:_MAX_SONGS], "service": identity[0]}
    return Item(
        item_id("playlist", *identity), "Music", {key: value for key, value in fields.items() if value}
    )


def _song(song: Mapping[str, Any]) -> str:
    name, artist = _text(song.get("trackName")), _text(song.get("artistName"))
    return f"{name} – {artist}" if name and artist else name


def _get(value: object, key: str) -> object:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    for entry in cast("list[object]", value) if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield cast("dict[str, Any]", entry)


def _text(value: object) -> str:
    return tidy(value) if isinstance(value, str) else ""
