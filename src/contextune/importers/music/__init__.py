"""Music: plays and playlists. The item of a song is the same for every streaming service."""

from datetime import datetime

from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import iso_time, item_id
from contextune.types import Item

MIN_SECONDS = 30.0
"""Seconds after which a song counts as played, as the services count it."""


def song_item(name: str, artist: str, played: datetime, album: str = "") -> Item | None:
    """The item of a song that was played at this time; None if it has no name.

    Its id depends on name and artist alone, ignoring case, so that a song has one history.
    """
    name, artist, album = tidy(name), tidy(artist), tidy(album)
    if not name:
        return None
    fields = {"song_name": name, "artist": artist, "album_title": album, "played_time": iso_time(played)}
    present = {key: value for key, value in fields.items() if value}
    return Item(item_id("song", name.casefold(), artist.casefold()), "Music", present)
