"""Mailboxes in one file: the stream is cut into messages as it comes, however large it is."""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

MOST = 24 * 2**20
"""Bytes kept of one message: what is read of it stands at the beginning, and attachments are not read."""
_CHUNK = 4 * 2**20
_LOOK = 1200
"""Bytes after the word From in which the line and the first header begin."""
_FIRST = re.compile(rb"\s*From [^\r\n]*\r?\n")
_LINE = re.compile(rb"From ?([^\r\n]{0,300})\r?\n>?[!-9;-~]+:")
_DAY = re.compile(rb"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b")
_HOUR = re.compile(rb"\d:\d\d")
_YEAR = re.compile(rb"\d{4}")
_BARE = re.compile(rb"(?:-|\S+@\S+)? *$")


class MboxMessage(NamedTuple):
    """One message as it lies in a mailbox."""

    offset: int
    envelope: str
    """The line that begins it: who sent it, and when it came."""
    content: bytes
    cut: bool
    """Whether it is longer than what is kept."""


def looks_like_mbox(head: bytes) -> bool:
    """Whether a file begins with a message of a mailbox."""
    return _begins(head.lstrip(), 0, after_blank=True)


def messages(stream: BinaryIO, most: int = MOST, chunk: int = _CHUNK) -> Iterator[MboxMessage]:
    """The messages of a mailbox, in bounded memory."""
    buffer, offset, scanned, lost, ended = b"", 0, 0, 0, False
    while not ended:
        more = stream.read(chunk)
        ended = not more
        buffer += more
        start = 0
        while (found := _next(buffer, scanned, ended=ended)) is not None:
            yield _message(buffer[start:found], offset + start, most, cut=lost > 0)
            start, scanned = found, found + 1
            offset, lost = offset + lost, 0
        buffer, offset = buffer[start:], offset + start
        scanned = max(len(buffer) - _LOOK, 1)
        if len(buffer) > most + 2 * _LOOK and not ended:
            # the middle of a message too long is let go; in its end the next one may begin
            lost += len(buffer) - most - _LOOK
            buffer, scanned = buffer[:most] + buffer[-_LOOK:], most
    if buffer.strip():
        yield _message(buffer, offset, most, cut=lost > 0)


def _next(buffer: bytes, start: int, *, ended: bool) -> int | None:
    """Where the next message begins, if that can be told already."""
    while (found := buffer.find(b"\nFrom ", start)) >= 0:
        if found + _LOOK > len(buffer) and not ended:
            return None
        line = found + 1
        blank = buffer[found - 1 : found] == b"\n" or buffer[found - 2 : found] == b"\n\r"
        if _begins(buffer, line, after_blank=blank):
            return line
        start = line
    return None


def _begins(buffer: bytes, line: int, *, after_blank: bool) -> bool:
    """Whether a message begins here: "From here on" may begin a line too, even after an empty one."""
    found = _LINE.match(buffer, line)
    if not found:
        return False
    said = found[1]
    dated = _DAY.search(said) and _HOUR.search(said) and _YEAR.search(said)
    return bool(dated or (after_blank and _BARE.match(said)))


def _message(content: bytes, offset: int, most: int, *, cut: bool) -> MboxMessage:
    first = _FIRST.match(content)
    envelope = first[0].strip().decode("latin-1") if first else ""
    return MboxMessage(
        offset, envelope, content[first.end() if first else 0 :][:most], cut or len(content) > most
    )
