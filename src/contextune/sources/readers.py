"""All formats, in the order in which a file is held against them: what is told by more comes first."""

from contextune.errors import InvalidDataError
from contextune.sources.activity import Activity
from contextune.sources.browser import Browser
from contextune.sources.calendars import Calendar
from contextune.sources.calls_csv import CallsCsv
from contextune.sources.calls_xml import CallsXml
from contextune.sources.contacts import Contacts
from contextune.sources.files import File
from contextune.sources.mail import Mail, Mbox
from contextune.sources.music_lastfm import LastFm
from contextune.sources.music_spotify import Spotify
from contextune.sources.notes import Notes
from contextune.sources.notes_keep import Keep
from contextune.sources.reading import Reader

READERS: tuple[Reader, ...] = (
    Mbox(),
    Calendar(),
    Contacts(),
    Browser(),
    CallsXml(),
    Activity(),
    Spotify(),
    LastFm(),
    CallsCsv(),
    Mail(),
    Keep(),
    Notes(),  # last: any text may be a note
)


def reader_for(file: File) -> Reader | None:
    """The reader of a file's format, or None where there is none."""
    return next((reader for reader in READERS if reader.reads(file)), None)


def reader_named(name: str) -> Reader:
    """The reader of this name."""
    for reader in READERS:
        if reader.name == name:
            return reader
    known = ", ".join(reader.name for reader in READERS)
    raise InvalidDataError(f"there is no format {name!r}: choose among {known}")
