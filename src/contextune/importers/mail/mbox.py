"""Split an mbox stream into messages, in bounded memory."""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

MAX_MESSAGE = 24 * 2**20
"""Bytes kept of a message: its text is at the beginning, and attachments are not read."""
_CHUNK = 4 * 2**20
_LOOKAHEAD = 1200
"""Bytes after "From " that contain the rest of the line and the start of the first header."""
_FIRST_LINE = re.compile(rb"\s*From [^\r\n]*\r?\n")
_ENVELOPE = re.compile(rb"From ?([^\r\n]{0,300})\r?\n>?[!-9;-~]+:")
_DAY = re.compile(rb"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b")
_HOUR = re.compile(rb"\d:\d\d")
_YEAR = re.compile(rb"\d{4}")
_BARE_SENDER = re.compile(rb"(?:-|\S+@\S+)? *$")
_MOZILLA = re.compile(rb"- *$")
"""Written by Netscape and Mozilla, also where the message before it does not end with a line break."""


class MboxMessage(NamedTuple):
    """A message of a mailbox."""

    offset: int
    envelope: str
    """The "From " line: sender and time of delivery."""
    content: bytes
    truncated: bool
    """Whether the message was longer than the limit."""


def looks_like_mbox(head: bytes) -> bool:
    """Whether a file starts with an mbox message."""
    return _starts_message(head.lstrip(), 0, after_blank=True)


def split_mbox(stream: BinaryIO, max_size: int = MAX_MESSAGE, chunk: int = _CHUNK) -> Iterator[MboxMessage]:
    """The messages of a mailbox, in bounded memory."""
    buffer, offset, scanned, dropped, at_end = b"", 0, 0, 0, False
    while not at_end:
        chunk_bytes = stream.read(chunk)
        at_end = not chunk_bytes
        buffer += chunk_bytes
        start = 0
        while (position := _next_message(buffer, scanned, at_end=at_end)) is not None:
            yield _message(buffer[start:position], offset + start, max_size, truncated=dropped > 0)
            start, scanned = position, position + 1
            offset, dropped = offset + dropped, 0
        buffer, offset = buffer[start:], offset + start
        scanned = max(len(buffer) - _LOOKAHEAD, 1)
        if len(buffer) > max_size + 2 * _LOOKAHEAD and not at_end:
            # drop the middle of an oversized message, but keep its end: the next message may start there
            dropped += len(buffer) - max_size - _LOOKAHEAD
            buffer, scanned = buffer[:max_size] + buffer[-_LOOKAHEAD:], max_size
    if buffer.strip():
        yield _message(buffer, offset, max_size, truncated=dropped > 0)


def _next_message(buffer: bytes, start: int, *, at_end: bool) -> int | None:
    """The start of the next message; None if it is not in the buffer yet."""
    while (position := buffer.find(b"\nFrom ", start)) >= 0:
        if position + _LOOKAHEAD > len(buffer) and not at_end:
            return None
        line = position + 1
        after_blank = buffer[position - 1 : position] == b"\n" or buffer[position - 2 : position] == b"\n\r"
        if _starts_message(buffer, line, after_blank=after_blank):
            return line
        start = line
    return None


def _starts_message(buffer: bytes, line: int, *, after_blank: bool) -> bool:
    """Whether a message starts at this line; text may also have a line such as "From here on"."""
    match = _ENVELOPE.match(buffer, line)
    if not match:
        return False
    envelope = match[1]
    has_date = _DAY.search(envelope) and _HOUR.search(envelope) and _YEAR.search(envelope)
    return bool(has_date or _MOZILLA.match(envelope) or (after_blank and _BARE_SENDER.match(envelope)))


def _message(content: bytes, offset: int, max_size: int, *, truncated: bool) -> MboxMessage:
    first_line = _FIRST_LINE.match(content)
    envelope = first_line[0].strip().decode("latin-1") if first_line else ""
    return MboxMessage(
        offset,
        envelope,
        content[first_line.end() if first_line else 0 :][:max_size],
        truncated or len(content) > max_size,
    )
