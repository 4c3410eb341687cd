"""Spotify streaming history: the extended one, and the short one of the last year."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.music import MIN_SECONDS, song_item
from contextune.importers.parsing.json_stream import json_entries
from contextune.importers.reader import (
    NO_TIME,
    ImportContext,
    ImportRecord,
    RepeatedItems,
    is_plausible_time,
    read_values,
)

_EXTENDED = ('"ts"', '"ms_played"')
_SHORT = ('"endTime"', '"msPlayed"')


class SpotifyReader:
    """Spotify plays (Streaming_History_Audio_….json)."""

    name = "spotify"
    apps = ("Music",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is an extended or a short streaming history."""
        start = file.start
        return start.lstrip().startswith("[") and any(
            all(key in start for key in keys) for keys in (_EXTENDED, _SHORT)
        )

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The songs, with a usage event per play of at least 30 seconds."""
        songs = RepeatedItems(context)

        def play(values: Mapping[str, Any], where: str) -> Iterator[ImportRecord]:
            return _play(values, where, context, songs)

        with file.open() as stream:
            yield from read_values(json_entries(stream), play, f"{file.where}, entry")
        yield from songs.latest()


def _play(
    entry: Mapping[str, Any], where: str, context: ImportContext, songs: RepeatedItems
) -> Iterator[ImportRecord]:
    seconds = (entry.get("ms_played", entry.get("msPlayed")) or 0) / 1000
    stopped = _time(entry.get("ts") or entry.get("endTime"))
    if entry.get("episode_name") or entry.get("episodeName"):
        yield SkippedEntry(where, "podcast episode")
    elif entry.get("audiobook_title") or entry.get("audiobook_chapter_title") or entry.get("audiobookName"):
        yield SkippedEntry(where, "audiobook chapter")
    elif entry.get("incognito_mode"):
        yield SkippedEntry(where, "private session")
    elif seconds < MIN_SECONDS and entry.get("reason_end") != "trackdone":
        yield SkippedEntry(where, "played for less than 30 seconds")
    elif stopped is None or not is_plausible_time(stopped, context):
        yield SkippedEntry(where, NO_TIME)
    else:
        # the recorded time is the end of the play
        started = (stopped - timedelta(seconds=seconds)).replace(microsecond=0)
        item = song_item(
            str(entry.get("master_metadata_track_name") or entry.get("trackName") or ""),
            str(entry.get("master_metadata_album_artist_name") or entry.get("artistName") or ""),
            started,
            str(entry.get("master_metadata_album_album_name") or ""),
        )
        if item:
            yield from songs.add(item, started)
        else:
            yield SkippedEntry(where, "song without a name (removed from the service)")


def _time(value: object) -> datetime | None:
    """Both histories are in UTC, although the short one does not state it."""
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
