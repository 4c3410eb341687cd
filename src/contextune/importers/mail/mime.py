"""Fast MIME parser: a mail's bytes -> headers, text and attachment names.

The standard library parses attachments of megabytes line by line. This parser only searches for headers and
boundaries, and decodes only the text that is kept.
"""

import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header
from functools import lru_cache

from contextune.importers.mail.attachments import MAX_ATTACHMENT, MAX_DOCUMENTS, AttachedDocument, has_text
from contextune.importers.parsing.charsets import decode
from contextune.importers.parsing.html_text import html_text, tidy
from contextune.importers.reader import MAX_TEXT

Headers = Mapping[str, bytes]

_FOLD = re.compile(rb"\r?\n[ \t]+")
_FIELD = re.compile(
    rb"\n(?=[bcdfilmprstx])(from|sender|to|cc|bcc|subject|date|delivery-date|message-id|references|in-reply-to|received"
    rb"|x-gmail-labels|status|x-mozilla-status|precedence|list-unsubscribe|content-type|content-disposition|content-transfer-encoding)"
    rb":[ \t]*([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)",
    re.IGNORECASE,
)
"""The headers that are read; a mail has some twenty others, mostly long.

The pattern starts with the previous line break, which is faster than `^`, and rejects most other headers by
their first letter.
"""
_BOUNDARY = re.compile(rb"boundary\s*=\s*(?:\"([^\"]+)\"|([^\s;\"]+))", re.IGNORECASE)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_MAX_DEPTH = 12
_MAX_HEADERS = 262_144
_MAX_HEADER = 16_384
_MAX_PARTS = 500
_MAX_PLAIN = 12 * MAX_TEXT
_MAX_HTML = 40 * MAX_TEXT
_MAX_FIRST_PASS = 3 * MAX_TEXT


@dataclass(frozen=True, slots=True)
class MimeParts:
    """The parts of a mail that are imported."""

    headers: Headers
    """By lower-case name, still encoded; the first of several with the same name."""
    text: str
    attachments: tuple[str, ...]
    documents: tuple[AttachedDocument, ...] = ()
    """The attachments whose text can be read, if they are asked for."""


def parse_mail(content: bytes, *, documents: bool = False) -> MimeParts:
    """Parse a mail; with `documents`, its attached documents, too."""
    walk = _MimeWalk(content, documents=documents)
    headers, body = walk.headers(0, len(content))
    text = walk.text(headers, body, len(content), 0)
    return MimeParts(headers, text, tuple(walk.attachments), tuple(walk.documents))


def header_to_text(value: bytes) -> str:
    """Decode a header (RFC 2047), tolerating malformed ones."""
    text = decode(value[:_MAX_HEADER])
    if "=?" not in text:
        return " ".join(text.split())
    try:
        parts = decode_header(text)
    except (MessageError, ValueError):
        return " ".join(text.split())
    decoded = "".join(
        part if isinstance(part, str) else decode(part, charset or "") for part, charset in parts
    )
    return " ".join(decoded.split())


@lru_cache(maxsize=128)  # each occurs in two or three spellings
def _header_name(name: bytes) -> str:
    return name.decode("ascii").lower()


class _MimeWalk:
    """Walks the parts of a mail by position, and copies only what is kept."""

    def __init__(self, content: bytes, *, documents: bool) -> None:
        self.attachments: list[str] = []
        self.documents: list[AttachedDocument] = []
        self._keeps_documents = documents
        self._content = content
        self._parts = 0

    def headers(self, start: int, end: int) -> tuple[Headers, int]:
        """The headers that start at `start`, and the position of the body."""
        if self._content[start : start + 1] in (b"\n", b"\r"):  # no headers
            return {}, start + (2 if self._content[start : start + 2] == b"\r\n" else 1)
        blank, length = self._content.find(b"\n\n", start, end), 2
        crlf_blank = self._content.find(b"\n\r\n", start, blank if blank >= 0 else end)
        if crlf_blank >= 0:
            blank, length = crlf_blank, 3
        block = self._content[start : min(blank if blank >= 0 else end, start + _MAX_HEADERS)]
        fields: dict[str, bytes] = {}
        for name, value in _FIELD.findall(b"\n" + block):
            fields.setdefault(_header_name(name), value)
        for name, value in fields.items():
            if b"\n" in value:
                fields[name] = _FOLD.sub(b" ", value)
        return fields, blank + length if blank >= 0 else end

    def text(self, headers: Headers, start: int, end: int, depth: int) -> str:
        """The text of a part and its subparts; collects the names of attachments."""
        self._parts += 1
        kind = headers.get("content-type", b"text/plain").split(b";")[0].strip().lower()
        if depth > _MAX_DEPTH or self._parts > _MAX_PARTS:
            return ""
        if kind.startswith(b"multipart/"):
            return self._multipart_text(kind, headers, start, end, depth)
        if kind == b"message/rfc822":
            inner, body = self.headers(start, end)
            return self.text(inner, body, end, depth + 1)
        is_attachment = headers.get("content-disposition", b"").strip().lower().startswith(b"attachment")
        if kind in (b"text/plain", b"text/html", b"text", b"") and not is_attachment:
            return self._part_text(headers, start, end, html=kind == b"text/html")
        if name := _file_name(headers):
            self.attachments.append(name)
            if self._keeps_documents:
                self._add_document(name, headers, start, end)
        return ""

    def _add_document(self, name: str, headers: Headers, start: int, end: int) -> None:
        if not has_text(name) or len(self.documents) == MAX_DOCUMENTS or end - start > 2 * MAX_ATTACHMENT:
            return
        encoding = headers.get("content-transfer-encoding", b"").strip().lower()
        content = _decode_transfer(self._content[start:end], encoding)
        if len(content) <= MAX_ATTACHMENT:
            self.documents.append(AttachedDocument(name, content))

    def _multipart_text(self, kind: bytes, headers: Headers, start: int, end: int, depth: int) -> str:
        texts: list[str] = []
        for part_start, part_end in self._split(headers, start, end):
            inner, body = self.headers(part_start, part_end)
            if kind == b"multipart/alternative" and any(texts) and _is_text(inner):
                continue  # another version of the same text
            texts.append(self.text(inner, body, part_end, depth + 1))
        return "\n\n".join(filter(None, texts))

    def _split(self, headers: Headers, start: int, end: int) -> Iterator[tuple[int, int]]:
        match = _BOUNDARY.search(headers.get("content-type", b""))
        if not match:
            yield start, end
            return
        delimiter = b"--" + (match[1] or match[2])
        position = (
            start if self._content.startswith(delimiter, start) else self._find(b"\n" + delimiter, start, end)
        )
        while position is not None:
            line = self._content.find(b"\n", position + len(delimiter), end)
            if self._content.startswith(b"--", position + len(delimiter)) or line < 0:
                return
            position = self._find(
                b"\n" + delimiter, line, end
            )  # the line break may belong to the next delimiter
            yield line + 1, max(line + 1, position - 1) if position is not None else end

    def _find(self, delimiter: bytes, start: int, end: int) -> int | None:
        position = self._content.find(delimiter, start, end)
        return position + 1 if position >= 0 else None

    def _part_text(self, headers: Headers, start: int, end: int, *, html: bool) -> str:
        limit = _MAX_HTML if html else _MAX_PLAIN
        content = self._content[start : min(end, start + 2 * limit)]
        encoding = headers.get("content-transfer-encoding", b"").strip().lower()
        charset = _CHARSET.search(headers.get("content-type", b""))
        name = charset[1].decode("ascii", "replace") if charset else ""
        text = decode(_decode_transfer(content, encoding), name)[:limit]
        return _html_to_text(text) if html else tidy(text)


def _html_to_text(html: str) -> str:
    """The text of HTML; of long HTML only the beginning, if that is enough."""
    if len(html) > _MAX_FIRST_PASS:
        text = html_text(html[:_MAX_FIRST_PASS].rpartition("<")[0])
        if len(text) > MAX_TEXT:
            return text
    return html_text(html)


def _decode_transfer(content: bytes, encoding: bytes) -> bytes:
    if encoding == b"quoted-printable":
        return binascii.a2b_qp(content)
    if encoding == b"base64":
        try:
            return binascii.a2b_base64(content)
        except binascii.Error:  # truncated: decode what is there
            digits = re.sub(rb"[^A-Za-z0-9+/]", b"", content)
            return binascii.a2b_base64(digits[: len(digits) // 4 * 4])
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
    return header_to_text(str(name).encode("utf-8", "surrogateescape")) if name else ""
