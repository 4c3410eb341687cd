"""All readers, most specific first, and the reason why none of them can read a file."""

import re

from contextune.errors import InvalidDataError
from contextune.importers.calendar.reader import CalendarReader
from contextune.importers.calls.csv_reader import CallsCsvReader
from contextune.importers.calls.sms_backup import SmsBackupReader
from contextune.importers.contacts.csv_reader import ContactsCsvReader
from contextune.importers.contacts.vcard import ContactsReader
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
from contextune.importers.notes.google_tasks import GoogleTasksReader
from contextune.importers.notes.markdown import BOOKMARKS, NotesReader
from contextune.importers.notes.org_mode import OrgReader
from contextune.importers.parsing.sqlite_file import WAL_MAGIC, is_sqlite, table_names
from contextune.importers.reader import Reader
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
    for reader in READERS:
        if reader.name == name:
            return reader
    names = ", ".join(reader.name for reader in READERS)
    raise InvalidDataError(f"unknown format {name!r}: choose one of {names}")


_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OUTLOOK = b"!BDN"
_ENCRYPTED_WHATSAPP = re.compile(r"\.crypt\d\d?$", re.IGNORECASE)


def refusal_reason(file: SourceFile) -> str:
    """Why no reader can read a file, and what to do instead."""
    if not file.size:
        return "empty"
    if file.head.startswith(_OUTLOOK):
        return "damaged Outlook data file, or an address book"
    if file.head.startswith(_COMPOUND_FILE) and file.suffix == ".msg":
        return "Outlook message: save it as .eml, or drag it into another mail program"
    if file.contains(BOOKMARKS):
        return "bookmarks of a browser, which are not imported"
    if _is_signal_database(file):
        return "Signal's database is encrypted: export the chats in Signal's settings (main.jsonl)"
    if _ENCRYPTED_WHATSAPP.search(file.name):
        return "WhatsApp's backup is encrypted: use 'Export chat' in each chat"
    if file.head.startswith(WAL_MAGIC):
        return "log of a database, which is read with the database beside it"
    if is_sqlite(file) and not table_names(file):
        return "database without tables: if it is a copy, copy the file that ends in -wal too"
    return "unknown format"


def _is_signal_database(file: SourceFile) -> bool:
    """Whether it is the database of Signal Desktop: an SQLite file that is encrypted as a whole."""
    named = file.name == "db.sqlite" and (file.folder == "sql" or "Signal" in file.path.parts)
    return named and not is_sqlite(file)
