"""Stream the elements of an XML file with their attributes, in bounded memory.

Backups of phones hold pictures in attributes of megabytes, and write 😀 as two character references, which
XML forbids.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

from contextune.errors import InvalidDataError

_CHUNK = 2**16
_REFERENCE = re.compile(rb"&#(\d{1,7}|x[0-9a-fA-F]{1,6});(?:&#(\d{1,7}|x[0-9a-fA-F]{1,6});)?")
_PICTURE = re.compile(rb"(\sdata=)\"[^\"]*\"")
_OPEN_PICTURE = re.compile(rb"\sdata=\"[^\"]*\Z")
_MAX_ELEMENT = 2**20
"""Bytes of one XML element."""


class XmlElement(NamedTuple):
    """The start of an element, or its end; `name` is empty where the XML is broken."""

    line: int
    name: str
    attributes: Mapping[str, str] | None
    """None at the end of an element."""


def xml_elements(stream: BinaryIO, names: Collection[str]) -> Iterator[XmlElement]:
    """The starts and ends of elements with these names. The attribute `data` is always empty."""
    parser = expat.ParserCreate()
    elements: list[XmlElement] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name in names:
            elements.append(XmlElement(parser.CurrentLineNumber, name, attributes))

    def end(name: str) -> None:
        if name in names:
            elements.append(XmlElement(parser.CurrentLineNumber, name, None))

    def document_type(*_: object) -> None:
        # entities can expand without limit or refer to other files; backups have none
        raise InvalidDataError("XML with a document type declaration: not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = document_type
    try:
        for chunk in _repair_surrogates(_drop_pictures(stream)):
            parser.Parse(chunk, False)
            yield from elements
            elements.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        yield from elements
        yield XmlElement(error.lineno, "", {})


def _drop_pictures(stream: BinaryIO) -> Iterator[bytes]:
    """The file without the values of `data` attributes."""
    buffer, inside = b"", False
    while chunk := stream.read(_CHUNK):
        if inside:
            quote = chunk.find(b'"')
            if quote < 0:
                continue
            chunk, inside = chunk[quote:], False
        buffer = _PICTURE.sub(rb'\1""', buffer + chunk)
        if start := _OPEN_PICTURE.search(buffer):
            quote = buffer.index(b'"', start.start())
            yield buffer[: quote + 1]
            buffer, inside = b"", True
            continue
        # the name of the attribute may be split
        end = max(len(buffer) - 8, 0)
        yield buffer[:end]
        buffer = buffer[end:]
    yield buffer


def _repair_surrogates(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The file with surrogate pairs merged: the app writes two character references for 😀."""
    buffer = b""
    for chunk in chunks:
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
