"""All formats, in the order in which a file is held against them: what is told by more comes first."""

from contextune.errors import InvalidDataError
from contextune.importers.calendar.reader import CalendarReader
from contextune.importers.calls.csv_reader import CallsCsvReader
from contextune.importers.calls.sms_backup import SmsBackupReader
from contextune.importers.contacts.reader import ContactsReader
from contextune.importers.files import SourceFile
from contextune.importers.mail.reader import MailReader, MboxReader
from contextune.importers.music.lastfm import LastFmReader
from contextune.importers.music.spotify import SpotifyReader
from contextune.importers.notes.google_keep import GoogleKeepReader
from contextune.importers.notes.markdown import NotesReader
from contextune.importers.reader import Reader
from contextune.importers.web.browser_history import BrowserHistoryReader
from contextune.importers.web.google_activity import GoogleActivityReader

READERS: tuple[Reader, ...] = (
    MboxReader(),
    CalendarReader(),
    ContactsReader(),
    BrowserHistoryReader(),
    SmsBackupReader(),
    GoogleActivityReader(),
    SpotifyReader(),
    LastFmReader(),
    CallsCsvReader(),
    MailReader(),
    GoogleKeepReader(),
    NotesReader(),  # last: any text may be a note
)


def reader_for(file: SourceFile) -> Reader | None:
    """The reader of a file's format, or None where there is none."""
    return next((reader for reader in READERS if reader.reads(file)), None)


def reader_named(name: str) -> Reader:
    """The reader of this name."""
    for reader in READERS:
        if reader.name == name:
            return reader
    known = ", ".join(reader.name for reader in READERS)
    raise InvalidDataError(f"there is no format {name!r}: choose among {known}")
