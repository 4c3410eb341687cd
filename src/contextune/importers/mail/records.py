"""Convert a parsed mail to records."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

from contextune.importers.files import SkippedEntry
from contextune.importers.mail import headers as fields
from contextune.importers.mail.attachments import document_text
from contextune.importers.mail.mime import MimeParts, header_to_text
from contextune.importers.mail.replies import is_reply, strip_quotes
from contextune.importers.reader import ImportContext, ImportRecord, iso_time, item_id, shorten
from contextune.types import Item, UsageEvent

_FROM_LINE = re.compile(r"^>(>*From )", re.MULTILINE)
_REQUIRED_HEADERS = frozenset(("from", "to", "date", "subject", "message-id", "received"))
_FOLDS_TO_ASCII = "İŉſǰẖẗẘẙẚẞ\u212aﬀﬁﬂﬃﬄﬅﬆ"
"""Characters other than ß that `str.casefold` maps to ASCII letters."""


def mail_records(
    parts: MimeParts,
    content: bytes,
    folder: str,
    context: ImportContext,
    where: str,
    envelope: str = "",
    *,
    read: bool | None = None,
) -> Iterator[ImportRecord]:
    """The item of a mail, and the use of the mail that it answers.

    `content` identifies a mail without a message id; `envelope` is the line above it in an mbox file; `read`
    says whether it was read, if the source tells.
    """
    headers = parts.headers
    if _REQUIRED_HEADERS.isdisjoint(headers):
        yield SkippedEntry(where, "not a mail: no headers")
        return
    labels = fields.gmail_labels(headers) if "x-gmail-labels" in headers else None
    if labels is not None:
        if any(label.casefold() in fields.TRASH_FOLDERS for label in labels):
            yield SkippedEntry(where, fields.IN_TRASH)
            return
        folder = fields.folder_from_labels(labels)
    (name, author), *_ = fields.addresses(headers, "from", "sender") or [("", "")]
    # a family may share a mailbox
    if author.casefold() in context.addresses and name.casefold() not in context.mailbox_sharers:
        folder = "Sent"
    time = fields.sent_time(headers, envelope)
    text = _FROM_LINE.sub(r"\1", parts.text) if envelope and ">" in parts.text else parts.text
    subject = header_to_text(headers.get("subject", b""))
    reply = is_reply(subject, refers="in-reply-to" in headers or "references" in headers)
    message_ids = fields.message_ids(headers.get("message-id", b""))
    own_id = fields.mail_id(message_ids[0]) if message_ids else _digest_id(content)
    passages: list[str] = []
    for document in parts.documents:
        passage = document_text(document)
        if passage is None:
            yield SkippedEntry(where, "text of an attachment that is damaged or encrypted")
        elif passage:
            passages.append(f"{document.name}:\n{passage}")
    values: dict[str, Any] = {
        "author": author or header_to_text(headers.get("from", b"")),
        "recipients": [address for _, address in fields.addresses(headers, "to", "cc", "bcc")],
        "subject": subject,
        "content": "\n\n".join(
            [_content(strip_quotes(text, reply=reply), name, parts.attachments), *passages]
        ),
        "date": iso_time(time) if time else "",
        "folder": folder,
        "labels": labels if labels and labels != [folder] else [],
        "attachments": list(parts.attachments),
        "thread": fields.thread_id(headers),
        "read": fields.is_read(headers) if read is None else read,
        "bulk": folder != "Sent" and fields.is_bulk(headers),
    }
    always = ("author", "recipients", "subject", "content", "folder")
    yield Item(
        own_id,
        "Mail",
        {
            key: value
            for key, value in values.items()
            if value or (key == "read" and value is False) or key in always
        },
    )
    replied_to = fields.message_ids(headers.get("in-reply-to", b""))
    if folder == "Sent" and replied_to and time:
        yield UsageEvent(fields.mail_id(replied_to[0]), time)  # a mail that was answered was opened


def _content(text: str, name: str, attachments: Sequence[str]) -> str:
    """The text with attachment names and sender, because people ask for mails by both."""
    lines = [shorten(text)]
    if attachments:
        lines.append(f"Attached: {', '.join(attachments)}")
    if name and not _mentions(text, name):
        lines.append(f"From: {name}")
    return "\n".join(filter(None, lines))


def _mentions(text: str, name: str) -> bool:
    """Whether a text contains a name, ignoring case."""
    if name.isascii() and not text.isascii() and not any(character in text for character in _FOLDS_TO_ASCII):
        # then only ASCII letters matter, and case folding the others would take most of the time
        plain = text.replace("ß", "ss").encode("utf-8", "surrogatepass")
        return name.lower().encode() in plain.lower()
    return name.casefold() in text.casefold()


def _digest_id(content: bytes) -> str:
    """An id for a mail without a message id: a digest without the headers that change in transit."""
    body = re.split(rb"\r?\n\r?\n", content, maxsplit=1)[-1]
    header_lines = b"".join(re.findall(rb"^(?:from|to|date|subject):[^\r\n]*", content[:65536], re.I | re.M))
    return item_id("mail", "unnamed", blake2b(header_lines + body.replace(b"\r", b"")).hexdigest())
