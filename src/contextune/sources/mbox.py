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
_DATED = re.compile(
    rb"From [^\r\n]*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b[^\r\n]*\d:\d\d[^\r\n]*\d{4}[^\r\n]*\r?\n>?[!-9;-~]+:"
)
_BARE = re.compile(rb"From ?(?:-|\S+@\S+)? *\r?\n[A-Za-z][!-9;-~]*: ")


class Message(NamedTuple):
    """One message as it lies in a mailbox."""

    offset: int
    envelope: str
    """The line that begins it: who sent it, and when it came."""
    content: bytes
    cut: bool
    """Whether it is longer than what is kept."""


def looks_like_mbox(head: bytes) -> bool:
    """Whether a file begins with a message of a mailbox."""
    start = head.lstrip()
    return bool(_DATED.match(start) or _BARE.match(start))


def messages(stream: BinaryIO, most: int = MOST, chunk: int = _CHUNK) -> Iterator[Message]:
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
        # "From here on" may begin a line of a message, even with an empty one before it
        if _DATED.match(buffer, line) or (blank and _BARE.match(buffer, line)):
            return line
        start = line
    return None


def _message(content: bytes, offset: int, most: int, *, cut: bool) -> Message:
    first = _FIRST.match(content)
    envelope = first[0].strip().decode("latin-1") if first else ""
    return Message(
        offset, envelope, content[first.end() if first else 0 :][:most], cut or len(content) > most
    )
