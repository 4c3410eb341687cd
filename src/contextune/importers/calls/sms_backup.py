"""Call logs of the Android app SMS Backup & Restore (calls-….xml), parsed as a stream."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

from contextune.errors import InvalidDataError
from contextune.importers.calls.call_log import (
    BLOCKED,
    INCOMING,
    MISSED,
    OUTGOING,
    REJECTED,
    VOICEMAIL,
    CallLog,
    LoggedCall,
)
from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.reader import ImportContext, ImportRecord, read_each

_KINDS = {
    "1": INCOMING,
    "2": OUTGOING,
    "3": MISSED,
    "4": VOICEMAIL,
    "5": REJECTED,
    "6": BLOCKED,
    "7": INCOMING,  # answered on another device
}
_WITHHELD = frozenset("234")
_CHUNK = 2**16
_REFERENCE = re.compile(rb"&#(\d{1,7}|x[0-9a-fA-F]{1,6});(?:&#(\d{1,7}|x[0-9a-fA-F]{1,6});)?")
_MAX_ELEMENT = 2**20
"""Bytes of one XML element."""


class SmsBackupReader:
    """Call logs of SMS Backup & Restore."""

    name = "calls"
    apps = ("PhoneCall",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a backup of calls."""
        return bool(re.search(r"<calls[\s>]", file.start))

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The calls in the file."""
        log = CallLog(context)

        def where(row: "_XmlRow") -> str:
            return f"{file.where}, line {row.line}"

        def call(row: "_XmlRow") -> Iterator[ImportRecord]:
            if row.values is None:
                yield SkippedEntry(where(row), "broken XML from here on")
            else:
                yield from log.add(_call(row.values), where(row))

        with file.open() as stream:
            yield from read_each(_rows(stream), call, where)
        yield from log.latest()


class _XmlRow(NamedTuple):
    line: int
    values: Mapping[str, str] | None


def _rows(stream: BinaryIO) -> Iterator[_XmlRow]:
    parser = expat.ParserCreate()
    rows: list[_XmlRow] = []

    def element(name: str, attributes: dict[str, str]) -> None:
        if name == "call":
            rows.append(_XmlRow(parser.CurrentLineNumber, attributes))

    def document_type(*_: object) -> None:
        # entities can expand without limit or refer to other files; backups have none
        raise InvalidDataError("XML with a document type declaration: not read")

    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = document_type
    try:
        for chunk in _repair_surrogates(stream):
            parser.Parse(chunk, False)
            yield from rows
            rows.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        yield from rows
        yield _XmlRow(error.lineno, None)


def _repair_surrogates(stream: BinaryIO) -> Iterator[bytes]:
    """The file with surrogate pairs merged: the app writes two character references for 😀."""
    buffer = b""
    while chunk := stream.read(_CHUNK):
        buffer += chunk
        # there is no "<" within a tag, so that no character reference is split
        end = max(buffer.rfind(b"<"), 0)
        if len(buffer) - end > _MAX_ELEMENT:
            raise InvalidDataError("XML element of more than 1 MB: reading stopped")
        yield _REFERENCE.sub(_character, buffer[:end])
        buffer = buffer[end:]
    yield _REFERENCE.sub(_character, buffer)


def _character(match: re.Match[bytes]) -> bytes:
    first, second = (_code(part) for part in match.groups())
    if first is not None and second is not None and 0xD800 <= first < 0xDC00 <= second < 0xE000:
        return f"&#{0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)};".encode()
    codes = (code for code in (first, second) if code is not None)
    return b"".join(f"&#{code};".encode() if _is_xml_character(code) else b"&#65533;" for code in codes)


def _code(part: bytes | None) -> int | None:
    if part is None:
        return None
    return int(part[1:], 16) if part[:1] == b"x" else int(part)


def _is_xml_character(code: int) -> bool:
    """Whether XML allows this character."""
    is_plain = code in (9, 10, 13) or 0x20 <= code < 0xD800
    return is_plain or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000


def _call(attributes: Mapping[str, str]) -> LoggedCall:
    duration = attributes.get("duration", "")
    return LoggedCall(
        attributes.get("number", ""),
        attributes.get("contact_name", ""),
        _KINDS.get(attributes.get("type", "")),
        _time(attributes.get("date", "")),
        int(duration) if duration.isdecimal() else 0,
        attributes.get("presentation") in _WITHHELD,
    )


def _time(milliseconds: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(milliseconds) // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
