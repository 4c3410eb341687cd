"""Content lines of iCalendar and vCard (RFC 5545, RFC 6350): unfolding, parameters, encodings."""

import binascii
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from contextune.importers.parsing.charsets import decode

_PARAMETER = re.compile(r";([^=;:\"]*)(?:=((?:\"[^\"]*\"|[^;:\"])*))?")
_HEAD = re.compile(r"(?:([\w-]+)\.)?([A-Za-z0-9-]+)")
_MAX_RAW_LINE = 32 * 2**20
"""Bytes read of one line."""
_MAX_UTF16 = 64 * 2**20
MAX_LINE = 2**18
"""Characters kept of an unfolded line; only pictures and attachments are longer."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class ContentLine(NamedTuple):
    """A property; `item1.TEL;TYPE=cell:555-0142` has the group item1."""

    group: str
    name: str
    parameters: dict[str, list[str]]
    value: str

    def types(self) -> list[str]:
        """The values of TYPE, also in the vCard 2.1 form without "TYPE="."""
        if not self.parameters:
            return []
        flags = [name.lower() for name, values in self.parameters.items() if not values]
        return [value.lower() for value in self.parameters.get("TYPE", [])] + flags

    def text(self) -> str:
        """The decoded value, unescaped."""
        return unescape(self.raw())

    def parts(self) -> list[str]:
        """The value split at semicolons."""
        return [unescape(part).strip() for part in re.split(r"(?<!\\);", self.raw())]

    def raw(self) -> str:
        """The decoded value, still escaped."""
        if not self.parameters:
            return self.value
        encoding = {value.upper() for value in self.parameters.get("ENCODING", [])} | {
            name for name, values in self.parameters.items() if not values
        }
        if "QUOTED-PRINTABLE" not in encoding:
            return self.value
        encoded = binascii.a2b_qp(self.value.encode())
        return decode(encoded, next(iter(self.parameters.get("CHARSET", [])), ""))


def unescape(text: str) -> str:
    """Resolve backslash escapes."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], text)


def unfold_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Unfolded lines, each with the number of its first line."""
    parts: list[str] = []
    first, length = 1, 0
    for number, line in enumerate(_lines(stream), 1):
        if line[:1] in (" ", "\t") and parts:
            if length < MAX_LINE:
                parts.append(line[1:])
                length += len(line)
        elif parts and parts[-1].endswith("=") and "QUOTED-PRINTABLE" in parts[0].partition(":")[0].upper():
            parts[-1] = parts[-1][:-1]
            parts.append(line)
        else:
            if any(parts):
                yield first, "".join(parts)[:MAX_LINE]
            parts, first, length = [line], number, len(line)
    if any(parts):
        yield first, "".join(parts)[:MAX_LINE]


def _lines(stream: BinaryIO) -> Iterator[str]:
    """The lines, decoded one by one, so that one in another encoding affects no other."""
    first = stream.readline(_MAX_RAW_LINE)
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if first.startswith(mark):
            text = (first + stream.read(_MAX_UTF16)).decode(encoding, "replace").removeprefix("\ufeff")
            yield from (line.rstrip("\r") for line in text.split("\n"))
            return
    line = first.removeprefix(b"\xef\xbb\xbf")
    while line:
        yield decode(line[: 4 * MAX_LINE].rstrip(b"\r\n"))
        line = stream.readline(_MAX_RAW_LINE)


def parse_line(text: str) -> ContentLine | None:
    """Parse a line; None if it is not a property."""
    head = _HEAD.match(text)
    if not head:
        return None
    parameters: dict[str, list[str]] = {}
    position = head.end()
    while text.startswith(";", position) and (match := _PARAMETER.match(text, position)):
        values = parameters.setdefault(match[1].strip().upper(), [])
        values += [value.strip().strip('"') for value in (match[2] or "").split(",") if value.strip()]
        position = match.end()
    if text[position : position + 1] != ":":
        return None
    return ContentLine(head[1] or "", head[2].upper(), parameters, text[position + 1 :].strip())
