"""Mail: mbox files, Maildir and MH folders, single messages (.eml, .emlx)."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.mail import headers as fields
from contextune.importers.mail.mbox import MAX_MESSAGE, MboxMessage, looks_like_mbox, split_mbox
from contextune.importers.mail.mime import header_to_text, parse_mail
from contextune.importers.mail.replies import is_reply, strip_quotes
from contextune.importers.reader import ImportContext, ImportRecord, iso_time, item_id, read_each, shorten
from contextune.types import Item, UsageEvent

_HEADER = re.compile(rb"^(?:from|date|subject|received|return-path|message-id|delivered-to|to):", re.I | re.M)
_CERTAIN_HEADER = re.compile(rb"^(?:received|return-path|message-id|delivered-to|mime-version):", re.I | re.M)
_FROM_LINE = re.compile(r"^>(>*From )", re.MULTILINE)
_EMLX_LENGTH = re.compile(rb"\s*(\d{1,12})[ \t]*\r?\n(?=[!-9;-~]+:)")
"""The first line of Apple's .emlx: the length of the message that follows, before a property list."""
_HEADER_LINE = re.compile(rb"[!-9;-~]+:|[ \t]")
_TRASHED = re.compile(r":2,[A-Z]*T")
_MAILDIR = ("cur", "new")
_MAIL_SUFFIXES = (".eml", ".emlx")
_SINGLE_MAIL = re.compile(r"\d+|.*\.(?:eml|emlx|msg)", re.IGNORECASE)
"""Names of files with one mail: numbers in MH folders, and what mail programs save."""
_REQUIRED_HEADERS = frozenset(("from", "to", "date", "subject", "message-id", "received"))
_FOLDS_TO_ASCII = "İŉſǰẖẗẘẙẚẞ\u212aﬀﬁﬂﬃﬄﬅﬆ"
"""Characters other than ß that `str.casefold` maps to ASCII letters."""


class MboxReader:
    """Mailboxes in one file, as Gmail Takeout, Thunderbird and Apple Mail write them."""

    name = "mbox"
    apps = ("Mail",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether the file starts with an mbox message."""
        return looks_like_mbox(file.head)

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The messages in the file."""
        folder = _mbox_folder(file)
        if folder.casefold() in fields.TRASH_FOLDERS:
            yield SkippedEntry(file.where, "mail folder for trash or spam")
            return

        def where(message: MboxMessage) -> str:
            return f"{file.where}, byte {message.offset}"

        def read(message: MboxMessage) -> Iterator[ImportRecord]:
            if message.truncated:
                yield SkippedEntry(where(message), f"rest of a mail beyond {MAX_MESSAGE // 2**20} MB")
            yield from _mail(message.content, folder, context, where(message), message.envelope)

        with file.open() as stream:
            yield from read_each(split_mbox(stream), read, where)


class MailReader:
    """Single messages."""

    name = "mail"
    apps = ("Mail",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it starts with the headers of a mail."""
        head = _EMLX_LENGTH.sub(b"", file.head, 1).lstrip()
        block, *body = re.split(rb"\r?\n\r?\n", head, maxsplit=1)
        if file.suffix in _MAIL_SUFFIXES or file.path.parent.name in _MAILDIR:
            return bool(_HEADER.search(block)) or not head
        # any other name, as in MH folders and copies of a Maildir: all lines must be headers
        if not _CERTAIN_HEADER.search(block) or len(_HEADER.findall(block)) < 2:
            return False
        lines = block.splitlines()
        return all(map(_HEADER_LINE.match, lines if body else lines[:-1]))

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The message."""
        folder = _folder(file)
        if folder.casefold() in fields.TRASH_FOLDERS or _TRASHED.search(file.name):
            yield SkippedEntry(file.where, "mail in trash or spam")
            return
        with file.open() as stream:
            content = stream.read(MAX_MESSAGE)
        if length := _EMLX_LENGTH.match(content):
            content = content[length.end() : length.end() + int(length[1])]
        yield from _mail(content, folder, context, file.where)


def _mail(
    content: bytes, folder: str, context: ImportContext, where: str, envelope: str = ""
) -> Iterator[ImportRecord]:
    parts = parse_mail(content)
    headers = parts.headers
    if _REQUIRED_HEADERS.isdisjoint(headers):
        yield SkippedEntry(where, "not a mail: no headers")
        return
    labels = fields.gmail_labels(headers) if "x-gmail-labels" in headers else None
    if labels is not None:
        if any(label.casefold() in fields.TRASH_FOLDERS for label in labels):
            yield SkippedEntry(where, "mail in trash or spam")
            return
        folder = fields.folder_from_labels(labels)
    (name, author), *_ = fields.addresses(headers, "from", "sender") or [("", "")]
    if author.casefold() in context.addresses:
        folder = "Sent"
    time = fields.sent_time(headers, envelope)
    text = _FROM_LINE.sub(r"\1", parts.text) if envelope and ">" in parts.text else parts.text
    subject = header_to_text(headers.get("subject", b""))
    reply = is_reply(subject, refers="in-reply-to" in headers or "references" in headers)
    message_ids = fields.message_ids(headers.get("message-id", b""))
    own_id = fields.mail_id(message_ids[0]) if message_ids else _digest_id(content)
    values: dict[str, Any] = {
        "author": author or header_to_text(headers.get("from", b"")),
        "recipients": [address for _, address in fields.addresses(headers, "to", "cc", "bcc")],
        "subject": subject,
        "content": _content(strip_quotes(text, reply=reply), name, parts.attachments),
        "date": iso_time(time) if time else "",
        "folder": folder,
        "labels": labels if labels and labels != [folder] else [],
        "attachments": list(parts.attachments),
        "thread": fields.thread_id(headers),
    }
    always = ("author", "recipients", "subject", "content", "folder")
    yield Item(own_id, "Mail", {key: value for key, value in values.items() if value or key in always})
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


def _mbox_folder(file: SourceFile) -> str:
    """The folder of a mailbox; Apple Mail calls the file mbox and the folder around it INBOX.mbox.

    A file with a single mail may begin with "From " too, and has the folder that it lies in.
    """
    if file.path.parent.name in _MAILDIR or _SINGLE_MAIL.fullmatch(file.name):
        return _folder(file)
    name = file.folder if file.name.casefold() == "mbox" else file.name
    return fields.folder_name(PurePosixPath(name).stem if name.lower().endswith(".mbox") else name)


def _folder(file: SourceFile) -> str:
    parents = [*file.path.parts[:-1]]
    while parents and parents[-1] in (*_MAILDIR, "Messages"):
        parents.pop()
    name = parents[-1] if parents else file.folder
    if file.path.parent.name in _MAILDIR:
        return fields.folder_name(name.rpartition(".")[2]) if name.startswith(".") else _root_folder(name)
    return fields.folder_name(name.removesuffix(".mbox"))


def _root_folder(name: str) -> str:
    return "Inbox" if name.casefold() in ("maildir", "mail", "") else fields.folder_name(name)
