"""Outlook data files (.pst, .ost): mails and single appointments. Needs the extra `outlook`."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.mail import headers as fields
from contextune.importers.mail import outlook_file as outlook
from contextune.importers.mail.mime import MimeParts, parse_mail
from contextune.importers.mail.outlook_file import OutlookEntry, OutlookFile, Properties, text_value
from contextune.importers.mail.records import mail_records
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import (
    MAX_TEXT,
    ImportContext,
    ImportRecord,
    iso_time,
    item_id,
    read_each,
    shorten,
)
from contextune.types import Item

_MAGIC = b"!BDN"
_KINDS = (b"SM", b"SO")
"""Personal folders and offline folders."""
_HEADERS = ("to", "cc", "bcc")
_READ, _UNSENT = 0x1, 0x8
_MAX_NOTES = 4000
_MAX_PLAIN, _MAX_HTML = 12 * MAX_TEXT, 40 * MAX_TEXT
_SUBJECT_MARK = re.compile(r"^\x01.", re.DOTALL)
"""Before a subject: the length of its prefix, such as "Re: "."""


class OutlookReader:
    """Data files of Outlook."""

    name = "outlook"
    apps = ("Mail", "Calendar")

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a data file, by its first bytes."""
        return file.head.startswith(_MAGIC) and file.head[8:10] in _KINDS

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The mails and appointments of all folders but trash and spam."""
        with ExitStack() as stack:
            if file.disk_path:
                stream = stack.enter_context(file.open())
            else:  # a stream in an archive is slow to seek in
                stream = stack.enter_context(stack.enter_context(file.on_disk()).open("rb"))
            archive = OutlookFile(stream, documents=context.attachments)
            entries = file.counted(archive.entries(), len(archive))
            yield from read_each(
                entries,
                lambda entry: outlook_records(entry, file, context),
                lambda entry: file.where if isinstance(entry, str) else _where(entry, file),
            )


def _where(entry: OutlookEntry, file: SourceFile) -> str:
    return f"{file.where}, entry {entry.number}"


def outlook_records(
    entry: OutlookEntry | str, file: SourceFile, context: ImportContext
) -> Iterator[ImportRecord]:
    """The records of an entry; a string says where one is that cannot be read."""
    if isinstance(entry, str):
        yield SkippedEntry(f"{file.where}, {entry}", "damaged entry")
        return
    where = _where(entry, file)
    kind = entry.text_of(outlook.CLASS).casefold()
    flags = entry.properties.get(outlook.FLAGS, 0)
    if any(name.casefold() in fields.TRASH_FOLDERS for name in entry.folders):
        yield SkippedEntry(where, fields.IN_TRASH)
    elif kind == "ipm.appointment" or kind.startswith("ipm.appointment."):
        yield from _appointment(entry, where)
    elif not (kind == "ipm.note" or kind.startswith("ipm.note.")):
        yield SkippedEntry(where, "Outlook entry that is not a mail or an appointment")
    elif isinstance(flags, int) and flags & _UNSENT:
        yield SkippedEntry(where, "draft")
    else:
        parts = mail_parts(entry)
        folder = fields.folder_name(entry.folders[-1] if entry.folders else "")
        read = bool(flags & _READ) if isinstance(flags, int) else None
        yield from mail_records(parts, _identity(parts), folder, context, where, read=read)


def mail_parts(entry: OutlookEntry) -> MimeParts:
    """The mail as if it had been parsed from a message.

    A mail that was received has its headers; for one that was sent they are made from the properties.
    """
    transport = entry.text_of(outlook.HEADERS).encode("utf-8", "replace")
    headers = dict(parse_mail(transport.lstrip() + b"\n\n").headers) if transport else {}
    for name, value in _headers(entry):
        if value.strip():
            headers.setdefault(name, value.encode("utf-8", "replace"))
    text = tidy(entry.text[:_MAX_PLAIN]) or html_text(entry.html[:_MAX_HTML])
    return MimeParts(headers, text, entry.attachments, entry.documents)


def _headers(entry: OutlookEntry) -> Iterator[tuple[str, str]]:
    yield "from", _sender(entry)
    for number, name in enumerate(_HEADERS, 1):
        yield name, ", ".join(filter(None, _recipients(entry, number)))
    yield "subject", _subject(entry)
    for time_name in (outlook.SUBMITTED, outlook.DELIVERED):
        time = entry.properties.get(time_name)
        yield "date", format_datetime(time) if isinstance(time, datetime) else ""
    yield "message-id", entry.text_of(outlook.MESSAGE_ID)
    yield "references", entry.text_of(outlook.REFERENCES)
    yield "in-reply-to", entry.text_of(outlook.IN_REPLY_TO)


def _sender(entry: OutlookEntry) -> str:
    kind = entry.text_of(outlook.SENDER_KIND).upper()
    address = entry.text_of(outlook.SENDER_SMTP)
    if not address and kind in ("SMTP", ""):
        address = entry.text_of(outlook.SENDER_ADDRESS)
    return _person(entry.text_of(outlook.SENDER_NAME), address)


def _recipients(entry: OutlookEntry, kind: int) -> Iterator[str]:
    for recipient in entry.recipients:
        if recipient.get(outlook.RECIPIENT_TYPE, 1) == kind:
            yield _recipient(recipient)


def _recipient(recipient: Properties) -> str:
    address = text_value(recipient, outlook.SMTP)
    if not address and text_value(recipient, outlook.ADDRESS_KIND).upper() == "SMTP":
        address = text_value(recipient, outlook.ADDRESS)
    return _person(text_value(recipient, outlook.NAME), address)


def _person(name: str, address: str) -> str:
    """A person as in a header; only the name if the address is one of Exchange, which nobody knows."""
    name = re.sub(r'["\\<>\r\n]', "", name).strip()
    if "@" not in address:
        return name
    return f'"{name}" <{address}>' if name and name != address else address


def _subject(entry: OutlookEntry) -> str:
    return _SUBJECT_MARK.sub("", entry.text_of(outlook.SUBJECT))


def _identity(parts: MimeParts) -> bytes:
    lines = (
        b"%s: %s" % (name.encode(), parts.headers.get(name, b""))
        for name in ("from", "to", "date", "subject")
    )
    return b"\n".join(lines) + b"\n\n" + parts.text.encode("utf-8", "replace")


def _appointment(entry: OutlookEntry, where: str) -> Iterator[ImportRecord]:
    start, end = entry.properties.get(outlook.START), entry.properties.get(outlook.END)
    if entry.properties.get(outlook.RECURRING):
        yield SkippedEntry(where, "recurring appointment: save the calendar as .ics in Outlook")
        return
    if not isinstance(start, datetime):
        yield SkippedEntry(where, "event without a valid start")
        return
    text = tidy(entry.text) or html_text(entry.html[:_MAX_HTML])
    values: dict[str, Any] = {
        "event_name": _subject(entry),
        "participants": [person for kind in (1, 2) for person in _recipients(entry, kind) if person],
        "location": entry.text_of(outlook.LOCATION),
        "start_time": iso_time(start),
        "end_time": iso_time(end) if isinstance(end, datetime) and end >= start else "",
        "notes": shorten(text, _MAX_NOTES),
    }
    always = ("event_name", "participants")
    identity = entry.properties.get(outlook.GLOBAL_ID) or f"{values['event_name']} {start.isoformat()}"
    fields_ = {name: value for name, value in values.items() if value or name in always}
    yield Item(item_id("event", "outlook", identity), "Calendar", fields_)
