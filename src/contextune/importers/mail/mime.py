"""One mail's bytes → its headers, its text, the names of what is attached.

The standard library's parser goes line by line through attachments of megabytes. Here only headers
and boundaries are looked for, and only text that is kept is decoded.
"""

import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header
from functools import lru_cache

from contextune.importers.parsing.charsets import decode
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import MOST_TEXT

Headers = Mapping[str, bytes]

_FOLD = re.compile(rb"\r?\n[ \t]+")
_FIELD = re.compile(
    rb"\n(?=[bcdfimrstx])(from|sender|to|cc|bcc|subject|date|delivery-date|message-id|references|in-reply-to|received"
    rb"|x-gmail-labels|content-type|content-disposition|content-transfer-encoding)"
    rb":[ \t]*([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)",
    re.IGNORECASE,
)
"""The headers that are read: of twenty others each mail has, most are long.

Led by the end of the line before, which is found quicker than the beginning of a line; by their first
letters most others are passed over at once.
"""
_BOUNDARY = re.compile(rb"boundary\s*=\s*(?:\"([^\"]+)\"|([^\s;\"]+))", re.IGNORECASE)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_QUOTED = re.compile(r"^>.*(?:\n|$)", re.MULTILINE)
_SIGNATURE = re.compile(r"^-- ?\n.*\Z", re.MULTILINE | re.DOTALL)
_DEEPEST = 12
_MOST_HEADERS = 262_144
_MOST_HEADER = 16_384
_MOST_PARTS = 500
_MOST_PLAIN = 12 * MOST_TEXT
_MOST_HTML = 40 * MOST_TEXT
_MOST_FIRST = 3 * MOST_TEXT


@dataclass(frozen=True, slots=True)
class MimeParts:
    """What is read of a mail."""

    headers: Headers
    """By name in small letters; of several of one name the first, as they were written."""
    text: str
    attachments: tuple[str, ...]


def read_parts(content: bytes) -> MimeParts:
    """A mail taken apart."""
    walk = _MimeWalk(content)
    headers, body = walk.headers(0, len(content))
    text = walk.text(headers, body, len(content), 0)
    return MimeParts(headers, text, tuple(walk.attachments))


def header_text(value: bytes) -> str:
    """A header in words: with or without the encodings the standards ask for."""
    text = decode(value[:_MOST_HEADER])
    if "=?" not in text:
        return " ".join(text.split())
    try:
        parts = decode_header(text)
    except (MessageError, ValueError):
        return " ".join(text.split())
    words = "".join(part if isinstance(part, str) else decode(part, charset or "") for part, charset in parts)
    return " ".join(words.split())


@lru_cache(maxsize=128)  # each is written in two or three ways
def _called(name: bytes) -> str:
    return name.decode("ascii").lower()


class _MimeWalk:
    """A walk through the parts of one mail, by positions: nothing is copied that is not kept."""

    def __init__(self, content: bytes) -> None:
        self.attachments: list[str] = []
        self._content = content
        self._parts = 0

    def headers(self, start: int, end: int) -> tuple[Headers, int]:
        """The headers that begin at `start`, and where what they speak of begins."""
        if self._content[start : start + 1] in (b"\n", b"\r"):  # none at all
            return {}, start + (2 if self._content[start : start + 2] == b"\r\n" else 1)
        blank, length = self._content.find(b"\n\n", start, end), 2
        before = self._content.find(b"\n\r\n", start, blank if blank >= 0 else end)
        if before >= 0:
            blank, length = before, 3
        block = self._content[start : min(blank if blank >= 0 else end, start + _MOST_HEADERS)]
        found: dict[str, bytes] = {}
        for name, value in _FIELD.findall(b"\n" + block):
            found.setdefault(_called(name), value)
        for name, value in found.items():
            if b"\n" in value:
                found[name] = _FOLD.sub(b" ", value)
        return found, blank + length if blank >= 0 else end

    def text(self, headers: Headers, start: int, end: int, depth: int) -> str:
        """The text of a part and of those within it; on the way, what is attached is noted."""
        self._parts += 1
        kind = headers.get("content-type", b"text/plain").split(b";")[0].strip().lower()
        if depth > _DEEPEST or self._parts > _MOST_PARTS:
            return ""
        if kind.startswith(b"multipart/"):
            return self._within(kind, headers, start, end, depth)
        if kind == b"message/rfc822":
            inner, body = self.headers(start, end)
            return self.text(inner, body, end, depth + 1)
        attached = headers.get("content-disposition", b"").strip().lower().startswith(b"attachment")
        if kind in (b"text/plain", b"text/html", b"text", b"") and not attached:
            return self._words(headers, start, end, html=kind == b"text/html")
        if name := _file_name(headers):
            self.attachments.append(name)
        return ""

    def _within(self, kind: bytes, headers: Headers, start: int, end: int, depth: int) -> str:
        texts: list[str] = []
        for part_start, part_end in self._split(headers, start, end):
            inner, body = self.headers(part_start, part_end)
            if kind == b"multipart/alternative" and any(texts) and _is_text(inner):
                continue  # the same again, as HTML
            texts.append(self.text(inner, body, part_end, depth + 1))
        return "\n\n".join(filter(None, texts))

    def _split(self, headers: Headers, start: int, end: int) -> Iterator[tuple[int, int]]:
        given = _BOUNDARY.search(headers.get("content-type", b""))
        if not given:
            yield start, end
            return
        mark = b"--" + (given[1] or given[2])
        at = start if self._content.startswith(mark, start) else self._find(b"\n" + mark, start, end)
        while at is not None:
            line = self._content.find(b"\n", at + len(mark), end)
            if self._content.startswith(b"--", at + len(mark)) or line < 0:
                return
            at = self._find(b"\n" + mark, line, end)  # the line's own end may begin the next mark
            yield line + 1, max(line + 1, at - 1) if at is not None else end

    def _find(self, mark: bytes, start: int, end: int) -> int | None:
        found = self._content.find(mark, start, end)
        return found + 1 if found >= 0 else None

    def _words(self, headers: Headers, start: int, end: int, *, html: bool) -> str:
        most = _MOST_HTML if html else _MOST_PLAIN
        content = self._content[start : min(end, start + 2 * most)]
        encoding = headers.get("content-transfer-encoding", b"").strip().lower()
        charset = _CHARSET.search(headers.get("content-type", b""))
        name = charset[1].decode("ascii", "replace") if charset else ""
        text = decode(_unpacked(content, encoding), name)[:most]
        return _first_words(text) if html else tidy(text)


def _first_words(html: str) -> str:
    """The text of HTML, or of as much of it as fills what is kept."""
    if len(html) > _MOST_FIRST:
        text = html_text(html[:_MOST_FIRST].rpartition("<")[0])
        if len(text) > MOST_TEXT:
            return text
    return html_text(html)


def own_words(text: str) -> str:
    """A mail's text without what it quotes and without its signature, if anything else is left."""
    if ">" in text:
        text = _QUOTED.sub("", text).strip() or text
    if "\n--" in text:
        text = _SIGNATURE.sub("", text).strip() or text
    return text


def _unpacked(content: bytes, encoding: bytes) -> bytes:
    if encoding == b"quoted-printable":
        return binascii.a2b_qp(content)
    if encoding == b"base64":
        try:
            return binascii.a2b_base64(content)
        except binascii.Error:  # cut short: as far as it goes
            signs = re.sub(rb"[^A-Za-z0-9+/]", b"", content)
            return binascii.a2b_base64(signs[: len(signs) // 4 * 4])
    return content


def _is_text(headers: Headers) -> bool:
    return headers.get("content-type", b"text/plain").strip().lower().startswith(b"text/")


def _file_name(headers: Headers) -> str:
    block = b"".join(
        b"%s: %s\n" % (name.encode(), headers[name])
        for name in ("content-type", "content-disposition")
        if name in headers
    )
    if b"name" not in block.lower():
        return ""
    try:
        name = message_from_bytes(block, policy=policy.compat32).get_filename()
    except (MessageError, ValueError, LookupError, TypeError):
        return ""
    return header_text(str(name).encode("utf-8", "surrogateescape")) if name else ""
