"""Lines as calendars and address books write them: folded, with parameters, now and then encoded."""

import binascii
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from contextune.importers.parsing.charsets import decode

_PARAMETER = re.compile(r";([^=;:\"]*)(?:=((?:\"[^\"]*\"|[^;:\"])*))?")
_HEAD = re.compile(r"(?:([\w-]+)\.)?([A-Za-z0-9-]+)")
_LONGEST = 32 * 2**20
"""Bytes of one line: what is longer is no line."""
_MOST_WIDE = 64 * 2**20
MOST_LINE = 2**18
"""Characters kept of a line that was put together again: only pictures and attachments are longer."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class ContentLine(NamedTuple):
    """One property: `item1.TEL;TYPE=cell:555-0142` is in the group item1."""

    group: str
    name: str
    parameters: dict[str, list[str]]
    value: str

    def types(self) -> list[str]:
        """What its TYPE says, and what older versions say without that word."""
        if not self.parameters:
            return []
        bare = [name.lower() for name, values in self.parameters.items() if not values]
        return [value.lower() for value in self.parameters.get("TYPE", [])] + bare

    def text(self) -> str:
        """The value as text: unpacked, signs that were escaped as themselves."""
        return unescaped(self.raw())

    def parts(self) -> list[str]:
        """The value cut at its semicolons."""
        return [unescaped(part).strip() for part in re.split(r"(?<!\\);", self.raw())]

    def raw(self) -> str:
        """The value unpacked, still escaped."""
        if not self.parameters:
            return self.value
        encoding = {value.upper() for value in self.parameters.get("ENCODING", [])} | {
            name for name, values in self.parameters.items() if not values
        }
        if "QUOTED-PRINTABLE" not in encoding:
            return self.value
        packed = binascii.a2b_qp(self.value.encode())
        return decode(packed, next(iter(self.parameters.get("CHARSET", [])), ""))


def unescaped(text: str) -> str:
    """Signs that were escaped, as themselves."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: "\n" if found[1] in "nN" else found[1], text)


def unfolded(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Lines put together again that were folded, as far as they are kept, with the number of the first."""
    held: list[str] = []
    first, length = 1, 0
    for number, line in enumerate(_lines(stream), 1):
        if line[:1] in (" ", "\t") and held:
            if length < MOST_LINE:
                held.append(line[1:])
                length += len(line)
        elif held and held[-1].endswith("=") and "QUOTED-PRINTABLE" in held[0].partition(":")[0].upper():
            held[-1] = held[-1][:-1]
            held.append(line)
        else:
            if any(held):
                yield first, "".join(held)[:MOST_LINE]
            held, first, length = [line], number, len(line)
    if any(held):
        yield first, "".join(held)[:MOST_LINE]


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Each line by itself, so that one in another encoding spoils no other."""
    first = stream.readline(_LONGEST)
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if first.startswith(mark):
            text = (first + stream.read(_MOST_WIDE)).decode(encoding, "replace").removeprefix("\ufeff")
            yield from (line.rstrip("\r") for line in text.split("\n"))
            return
    line = first.removeprefix(b"\xef\xbb\xbf")
    while line:
        yield decode(line[: 4 * MOST_LINE].rstrip(b"\r\n"))
        line = stream.readline(_LONGEST)


def parse_line(text: str) -> ContentLine | None:
    """The property on a line, or None where it is none."""
    head = _HEAD.match(text)
    if not head:
        return None
    parameters: dict[str, list[str]] = {}
    at = head.end()
    while text.startswith(";", at) and (found := _PARAMETER.match(text, at)):
        values = parameters.setdefault(found[1].strip().upper(), [])
        values += [one.strip().strip('"') for one in (found[2] or "").split(",") if one.strip()]
        at = found.end()
    if text[at : at + 1] != ":":
        return None
    return ContentLine(head[1] or "", head[2].upper(), parameters, text[at + 1 :].strip())
