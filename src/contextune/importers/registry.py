"""All readers, in the order in which they are tried: the most specific first."""

from contextune.errors import InvalidDataError
from contextune.importers.calendar.reader import CalendarReader
from contextune.importers.calls.csv_reader import CallsCsvReader
from contextune.importers.calls.sms_backup import SmsBackupReader
from contextune.importers.contacts.csv_reader import ContactsCsvReader
from contextune.importers.contacts.reader import ContactsReader
from contextune.importers.files import SourceFile
from contextune.importers.mail.outlook import OutlookReader
from contextune.importers.mail.reader import MailReader, MboxReader
from contextune.importers.messages.imessage import IMessageReader
from contextune.importers.messages.signal import SignalReader
from contextune.importers.messages.sms import SmsReader
from contextune.importers.messages.telegram import TelegramReader
from contextune.importers.messages.whatsapp import WhatsAppReader
from contextune.importers.music.lastfm import LastFmReader
from contextune.importers.music.playlists import PlaylistReader
from contextune.importers.music.spotify import SpotifyReader
from contextune.importers.notes.google_keep import GoogleKeepReader
from contextune.importers.notes.markdown import NotesReader
from contextune.importers.notes.org_mode import OrgReader
from contextune.importers.reader import Reader
from contextune.importers.tasks.google_tasks import GoogleTasksReader
from contextune.importers.web.browser_history import BrowserHistoryReader
from contextune.importers.web.google_activity import GoogleActivityReader

READERS: tuple[Reader, ...] = (
    MboxReader(),
    MailReader(),  # before calendars: a mail may contain an invitation
    OutlookReader(),
    CalendarReader(),
    ContactsReader(),
    BrowserHistoryReader(),
    IMessageReader(),
    SmsBackupReader(),
    SmsReader(),
    WhatsAppReader(),
    TelegramReader(),
    SignalReader(),
    GoogleActivityReader(),
    SpotifyReader(),
    PlaylistReader(),
    LastFmReader(),
    ContactsCsvReader(),
    CallsCsvReader(),
    GoogleTasksReader(),
    GoogleKeepReader(),
    OrgReader(),
    NotesReader(),  # last, because any text may be a note
)


def detect_reader(file: SourceFile) -> Reader | None:
    """The reader for a file, or None if no reader can read it."""
    return next((reader for reader in READERS if reader.can_read(file)), None)


def get_reader(name: str) -> Reader:
    """The reader with this name."""
    for reader in READERS:
        if reader.name == name:
            return reader
    names = ", ".join(reader.name for reader in READERS)
    raise InvalidDataError(f"unknown format {name!r}: choose one of {names}")
