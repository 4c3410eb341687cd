"""What was played on Spotify: the extended streaming history, and the short one of the last year."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.music.song import SHORTEST, song
from contextune.importers.parsing.json_stream import JsonEntry, entries
from contextune.importers.reader import Found, ImportContext, each
from contextune.importers.repeated import NO_TIME, RepeatedItems, possible

_LONG = ('"ts"', '"ms_played"')
_SHORT = ('"endTime"', '"msPlayed"')


class SpotifyReader:
    """Plays, as Spotify's export of personal data has them (Streaming_History_Audio_….json)."""

    name = "spotify"
    apps = ("Music",)

    def reads(self, file: SourceFile) -> bool:
        """Whether it is a list of plays, of the long or the short kind."""
        start = file.start
        return start.lstrip().startswith("[") and any(
            all(sign in start for sign in signs) for signs in (_LONG, _SHORT)
        )

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Every song that was listened to; what was skipped at once is none."""
        songs = RepeatedItems(about)

        def where(entry: JsonEntry) -> str:
            return f"{file.where}, entry {entry.number}"

        def play(entry: JsonEntry) -> Iterator[Found]:
            if entry.values is None:
                yield SkippedEntry(where(entry), "an entry that is broken or cut off")
            else:
                yield from _play(entry.values, where(entry), about, songs)

        with file.open() as stream:
            yield from each(entries(stream), play, where)
        yield from songs.latest()


def _play(
    entry: Mapping[str, Any], where: str, about: ImportContext, songs: RepeatedItems
) -> Iterator[Found]:
    seconds = (entry.get("ms_played", entry.get("msPlayed")) or 0) / 1000
    stopped = _time(entry.get("ts") or entry.get("endTime"))
    if entry.get("episode_name") or entry.get("episodeName"):
        yield SkippedEntry(where, "an episode of a podcast")
    elif entry.get("audiobook_title") or entry.get("audiobook_chapter_title"):
        yield SkippedEntry(where, "a chapter of a book")
    elif entry.get("incognito_mode"):
        yield SkippedEntry(where, "listened to in a private session")
    elif seconds < SHORTEST and entry.get("reason_end") != "trackdone":
        yield SkippedEntry(where, "skipped within half a minute")
    elif stopped is None or not possible(stopped, about):
        yield SkippedEntry(where, NO_TIME)
    else:
        # what is on record is when it ended
        started = (stopped - timedelta(seconds=seconds)).replace(microsecond=0)
        found = song(
            str(entry.get("master_metadata_track_name") or entry.get("trackName") or ""),
            str(entry.get("master_metadata_album_artist_name") or entry.get("artistName") or ""),
            started,
            str(entry.get("master_metadata_album_album_name") or ""),
        )
        if found:
            yield from songs.met(found, started)
        else:
            yield SkippedEntry(where, "a song without a name, as those have that are gone")


def _time(value: object) -> datetime | None:
    """Both kinds of history are in universal time, though the short one does not say so."""
    try:
        time = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
