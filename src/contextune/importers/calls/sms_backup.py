"""Call logs as SMS Backup & Restore writes them (calls-….xml), read as they stream by."""

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
from contextune.importers.reader import Found, ImportContext, each

_KINDS = {
    "1": INCOMING,
    "2": OUTGOING,
    "3": MISSED,
    "4": VOICEMAIL,
    "5": REJECTED,
    "6": BLOCKED,
    "7": INCOMING,  # on another device of the user's
}
_WITHHELD = frozenset("234")
_CHUNK = 2**16
_REFERENCE = re.compile(rb"&#(\d{1,7}|x[0-9a-fA-F]{1,6});(?:&#(\d{1,7}|x[0-9a-fA-F]{1,6});)?")
_LONGEST = 2**20
"""Bytes that are held for an element to end."""


class SmsBackupReader:
    """The calls of an Android phone."""

    name = "calls"
    apps = ("PhoneCall",)

    def reads(self, file: SourceFile) -> bool:
        """Whether it is a backup of calls."""
        return bool(re.search(r"<calls[\s>]", file.start))

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Every call in it."""
        log = CallLog(about)

        def where(one: "_XmlRow") -> str:
            return f"{file.where}, line {one.line}"

        def call(one: "_XmlRow") -> Iterator[Found]:
            if one.values is None:
                yield SkippedEntry(where(one), "XML that is broken from here on")
            else:
                yield from log.add(_call(one.values), where(one))

        with file.open() as stream:
            yield from each(_lines(stream), call, where)
        yield from log.latest()


class _XmlRow(NamedTuple):
    line: int
    values: Mapping[str, str] | None


def _lines(stream: BinaryIO) -> Iterator[_XmlRow]:
    parser = expat.ParserCreate()
    met: list[_XmlRow] = []

    def element(name: str, attributes: dict[str, str]) -> None:
        if name == "call":
            met.append(_XmlRow(parser.CurrentLineNumber, attributes))

    def document_type(*_: object) -> None:
        # entities can be made to grow without end, or to name other files; no backup has any
        raise InvalidDataError("XML with a document type of its own: not read")

    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = document_type
    try:
        for chunk in _repaired(stream):
            parser.Parse(chunk, False)
            yield from met
            met.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        yield from met
        yield _XmlRow(error.lineno, None)


def _repaired(stream: BinaryIO) -> Iterator[bytes]:
    """The file with what the app writes for 😀, two halves of a character, put together."""
    held = b""
    while chunk := stream.read(_CHUNK):
        held += chunk
        # within an element there is no "<", so that no character is cut in two
        cut = max(held.rfind(b"<"), 0)
        if len(held) - cut > _LONGEST:
            raise InvalidDataError("XML with an element of more than a megabyte: not read any further")
        yield _REFERENCE.sub(_character, held[:cut])
        held = held[cut:]
    yield _REFERENCE.sub(_character, held)


def _character(found: re.Match[bytes]) -> bytes:
    first, second = (_code(part) for part in found.groups())
    if first is not None and second is not None and 0xD800 <= first < 0xDC00 <= second < 0xE000:
        return f"&#{0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)};".encode()
    codes = (code for code in (first, second) if code is not None)
    return b"".join(f"&#{code};".encode() if _allowed(code) else b"&#65533;" for code in codes)


def _code(part: bytes | None) -> int | None:
    if part is None:
        return None
    return int(part[1:], 16) if part[:1] == b"x" else int(part)


def _allowed(code: int) -> bool:
    """Whether XML may have this character."""
    plain = code in (9, 10, 13) or 0x20 <= code < 0xD800
    return plain or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000


def _call(given: Mapping[str, str]) -> LoggedCall:
    duration = given.get("duration", "")
    return LoggedCall(
        given.get("number", ""),
        given.get("contact_name", ""),
        _KINDS.get(given.get("type", "")),
        _time(given.get("date", "")),
        int(duration) if duration.isdecimal() else 0,
        given.get("presentation") in _WITHHELD,
    )


def _time(milliseconds: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(milliseconds) // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
