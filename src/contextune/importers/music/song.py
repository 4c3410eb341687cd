"""Music listened to: one item a song, whichever service it was heard on, and a use for every play."""

from datetime import datetime

from contextune.importers.parsing.html_text import tidy
from contextune.importers.reader import iso, item_id
from contextune.types import Item

SHORTEST = 30.0
"""Seconds after which a song counts as played, as the services themselves count."""


def song(name: str, artist: str, played: datetime, album: str = "") -> Item | None:
    """A song as it was last played; None where it has no name.

    Letters large or small, the album and the service make no difference: one song has one history.
    """
    name, artist, album = tidy(name), tidy(artist), tidy(album)
    if not name:
        return None
    fields = {"song_name": name, "artist": artist, "album_title": album, "played_time": iso(played)}
    kept = {key: value for key, value in fields.items() if value}
    return Item(item_id("song", name.casefold(), artist.casefold()), "Music", kept)
