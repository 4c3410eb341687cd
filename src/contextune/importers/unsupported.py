"""Formats that cannot be read, each with the way to convert it."""

import re

from contextune.importers.files import SourceFile
from contextune.importers.parsing.sqlite_file import WAL_MAGIC, is_sqlite, table_names

_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OUTLOOK = b"!BDN"
BOOKMARKS = "<!DOCTYPE NETSCAPE-Bookmark-file-1>"
"""How the bookmarks begin that browsers export."""
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
