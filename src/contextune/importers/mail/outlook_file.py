"""Outlook data files (.pst, .ost) through libpff: folders, and the properties of their entries.

Property ids are those of [MS-OXPROPS]. A named property has another id in every file; those of appointments
are translated to the long ids of the specification.
"""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO
from uuid import UUID

from contextune.errors import MissingExtraError
from contextune.importers.mail.attachments import MAX_ATTACHMENT, MAX_DOCUMENTS, AttachedDocument, has_text
from contextune.importers.parsing.charsets import decode

CLASS, SUBJECT, SUBMITTED, HEADERS = 0x001A, 0x0037, 0x0039, 0x007D
SENDER_NAME, SENDER_KIND, SENDER_ADDRESS, SENDER_SMTP = 0x0C1A, 0x0C1E, 0x0C1F, 0x5D01
DELIVERED, FLAGS = 0x0E06, 0x0E07
MESSAGE_ID, REFERENCES, IN_REPLY_TO = 0x1035, 0x1039, 0x1042
RECIPIENT_TYPE, NAME, ADDRESS_KIND, ADDRESS, SMTP = 0x0C15, 0x3001, 0x3002, 0x3003, 0x39FE
LOCATION, START, END, RECURRING, GLOBAL_ID = 0x8208, 0x820D, 0x820E, 0x8223, 0x1_0003
_CODEPAGE = 0x3FDE
_APPOINTMENT = UUID("00062002-0000-0000-c000-000000000046").bytes_le
_MEETING = UUID("6ed8da90-450b-101b-98da-00aa003f1305").bytes_le
_NAMED = {
    **{(_APPOINTMENT, name): name for name in (LOCATION, START, END, RECURRING)},
    (_MEETING, 0x0003): GLOBAL_ID,
}
_GUIDS, _NAMES, _BINARY = 0x0002, 0x0003, 0x0102
_FIRST_GUID, _FIRST_NAMED, _NAME_SIZE, _GUID_SIZE = 3, 0x8000, 8, 16
_STRINGS, _NUMBERS, _BOOLEAN, _TIME = (0x001E, 0x001F), (0x0002, 0x0003, 0x0014), 0x000B, 0x0040
_DAMAGED = (OSError, ValueError, MemoryError, AttributeError)
"""What the library raises for damaged data; it returns None for what it does not find."""
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)

Value = str | int | bool | datetime | bytes
Properties = Mapping[int, Value]


@dataclass(frozen=True)
class OutlookEntry:
    """A mail, an appointment or another entry of a folder."""

    number: int
    folders: tuple[str, ...]
    """Names of its folder and the folders around it, from the outermost."""
    properties: Properties
    recipients: tuple[Properties, ...] = ()
    attachments: tuple[str, ...] = ()
    text: str = ""
    html: str = field(default="", repr=False)
    documents: tuple[AttachedDocument, ...] = field(default=(), repr=False)
    """The attachments whose text can be read, if they are asked for."""

    def text_of(self, name: int) -> str:
        """A property as text; empty if it is missing."""
        return text_value(self.properties, name)


def text_value(properties: Properties, name: int) -> str:
    """A property as text; empty if it is missing."""
    value = properties.get(name, "")
    return value if isinstance(value, str) else ""


class OutlookFile:
    """An open data file; raises `OSError` if it is damaged. With `documents`, attached documents are read."""

    def __init__(self, stream: BinaryIO, *, documents: bool = False) -> None:
        self._keeps_documents = documents
        try:
            library: Any = import_module("pypff")
        except ModuleNotFoundError as error:
            what = "reading Outlook data files (or 'readpst -r -o FOLDER FILE', then import FOLDER)"
            raise MissingExtraError(what, "outlook") from error
        try:
            self._file = library.open_file_object(stream)
            self._root = self._file.get_root_folder()
            self._named = self._named_properties()
        except _DAMAGED as error:
            raise OSError("damaged Outlook data file") from error

    def __len__(self) -> int:
        return sum(folder.number_of_sub_messages for _, folder in self._folders())

    def entries(self) -> Iterator[OutlookEntry | str]:
        """All entries; for one that cannot be read, where it is."""
        for names, folder in self._folders():
            for number in range(folder.number_of_sub_messages):
                try:
                    yield self._entry(folder.get_sub_message(number), names)
                except _DAMAGED:
                    yield f"entry {number + 1} of a folder"

    def _folders(self) -> Iterator[tuple[tuple[str, ...], Any]]:
        pending: list[tuple[tuple[str, ...], Any]] = [((), self._root)]
        while pending:
            names, folder = pending.pop()
            yield names, folder
            for number in reversed(range(folder.number_of_sub_folders)):
                try:
                    inner = folder.get_sub_folder(number)
                    pending.append(((*names, inner.name or ""), inner))
                except _DAMAGED:
                    continue

    def _entry(self, message: Any, folders: tuple[str, ...]) -> OutlookEntry:
        properties = self._properties(message.get_record_set(0))
        if not hasattr(message, "recipients"):  # a setting of Outlook
            return OutlookEntry(message.identifier, folders, properties)
        recipients, attachments = message.recipients, list(message.attachments)
        return OutlookEntry(
            message.identifier,
            folders,
            properties,
            tuple(map(self._properties, recipients.record_sets)) if recipients else (),
            tuple(filter(None, (attachment.long_filename for attachment in attachments))),
            (_body(message, "plain_text_body") or b"").decode("utf-8", "replace"),
            decode(_body(message, "html_body") or b"", _charset(properties.get(_CODEPAGE))),
            tuple(islice(attached_documents(attachments), MAX_DOCUMENTS)) if self._keeps_documents else (),
        )

    def _properties(self, records: Any) -> Properties:
        properties: dict[int, Value] = {}
        for entry in records.entries:
            number = entry.entry_type or 0
            name = number if number < _FIRST_NAMED else self._named.get(number)
            value = _value(entry) if name is not None else None
            if name is not None and value is not None:
                properties[name] = value
        return properties

    def _named_properties(self) -> Mapping[int, int]:
        """Ids of named properties in this file -> their ids in the specification."""
        records = self._file.get_name_to_id_map().get_record_set(0)
        guid_entry, name_entry = (records.get_entry_by_type(name, _BINARY) for name in (_GUIDS, _NAMES))
        guids, names = (entry.data or b"" if entry else b"" for entry in (guid_entry, name_entry))
        known: dict[int, int] = {}
        for start in range(0, len(names) - _NAME_SIZE + 1, _NAME_SIZE):
            number, kind, position = (
                int.from_bytes(names[start + first : start + last], "little")
                for first, last in ((0, 4), (4, 6), (6, 8))
            )
            is_text, place = kind & 1, ((kind >> 1) - _FIRST_GUID) * _GUID_SIZE
            if not is_text and place >= 0 and (guids[place : place + _GUID_SIZE], number) in _NAMED:
                known[_FIRST_NAMED + position] = _NAMED[guids[place : place + _GUID_SIZE], number]
        return known


def attached_documents(attachments: Iterable[Any]) -> Iterator[AttachedDocument]:
    """The attachments with text, without large and damaged ones, and without mails in mails."""
    for attachment in attachments:
        try:
            name, size = attachment.long_filename or "", attachment.size or 0
            if has_text(name) and 0 < size <= MAX_ATTACHMENT:
                yield AttachedDocument(name, attachment.read_buffer(size))
        except _DAMAGED:
            continue


def _body(message: Any, name: str) -> bytes | None:
    """A body, or None if the message has none or it is damaged."""
    try:
        return getattr(message, name)
    except _DAMAGED:
        return None


def _value(entry: Any) -> Value | None:
    kind, data = entry.value_type, entry.data
    if not data:
        return None
    if kind in _STRINGS:
        return entry.data_as_string
    if kind == _BOOLEAN:
        return any(data)
    if kind in _NUMBERS:
        return int.from_bytes(data, "little")
    if kind == _TIME:
        return file_time(int.from_bytes(data, "little"))
    return data if kind == _BINARY else None


def file_time(ticks: int) -> datetime | None:
    """The time of a number of 100 nanoseconds since 1601; None if it is out of range."""
    try:
        return (_EPOCH + timedelta(microseconds=ticks // 10)).replace(microsecond=0)
    except OverflowError:
        return None


def _charset(codepage: Value | None) -> str:
    names = {65001: "utf-8", 20127: "ascii", 28591: "iso-8859-1", 50220: "iso-2022-jp", 20866: "koi8-r"}
    name = names.get(codepage, f"cp{codepage}") if isinstance(codepage, int) else ""
    try:
        codecs.lookup(name)
    except LookupError:
        return ""
    return name
