"""Mail: mailboxes in one file (mbox), folders of files (Maildir, MH), single messages (.eml, .emlx)."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.mail import headers as fields
from contextune.importers.mail.mbox import MOST, MboxMessage, looks_like_mbox, messages
from contextune.importers.mail.mime import header_text as words
from contextune.importers.mail.mime import own_words, read_parts
from contextune.importers.reader import Found, ImportContext, each, iso, item_id, shortened
from contextune.types import Item, UsageEvent

_HEADER = re.compile(rb"^(?:from|date|subject|received|return-path|message-id|delivered-to|to):", re.I | re.M)
_SURE = re.compile(rb"^(?:received|return-path|message-id|delivered-to|mime-version):", re.I | re.M)
_FROM_LINE = re.compile(r"^>(>*From )", re.MULTILINE)
_LENGTH = re.compile(rb"\s*\d+\s*\n")
_TRASHED = re.compile(r":2,[A-Z]*T")
_MAILDIR = ("cur", "new")
_MARKS = frozenset(("from", "to", "date", "subject", "message-id", "received"))
_UNFOLDED = "İŉſǰẖẗẘẙẚẞ\u212aﬀﬁﬂﬃﬄﬅﬆ"
"""Signs beside ß that are folded to letters of ASCII, and are none."""


class MboxReader:
    """A whole mailbox in one file, as Gmail's Takeout, Thunderbird and Apple Mail write it."""

    name = "mbox"
    apps = ("MailReader",)

    def reads(self, file: SourceFile) -> bool:
        """Whether the file begins with a message of a mailbox."""
        return looks_like_mbox(file.head)

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """Every message in it."""
        folder = _mbox_folder(file)
        if folder.casefold() in fields.THROWN_AWAY:
            yield SkippedEntry(file.where, "a folder of mail thrown away")
            return

        def where(message: MboxMessage) -> str:
            return f"{file.where}, byte {message.offset}"

        def read(message: MboxMessage) -> Iterator[Found]:
            if message.cut:
                yield SkippedEntry(where(message), f"the end of a mail, beyond {MOST // 2**20} MB")
            yield from _mail(message.content, folder, about, where(message), message.envelope)

        with file.open() as stream:
            yield from each(messages(stream), read, where)


class MailReader:
    """One message in a file of its own."""

    name = "mail"
    apps = ("MailReader",)

    def reads(self, file: SourceFile) -> bool:
        """Whether its name or its folder says so and it begins with headers, or these leave no doubt."""
        head = _LENGTH.sub(b"", file.head, 1) if file.suffix == ".emlx" else file.head.lstrip()
        block = re.split(rb"\r?\n\r?\n", head, maxsplit=1)[0]
        if file.suffix in (".eml", ".emlx") or file.path.parent.name in _MAILDIR:
            return bool(_HEADER.search(block)) or not head
        # files of MH have numbers for names, those of other programs none that says anything
        return not file.suffix and bool(_SURE.search(block)) and len(_HEADER.findall(block)) > 1

    def read(self, file: SourceFile, about: ImportContext) -> Iterator[Found]:
        """The message."""
        folder = _folder(file)
        if folder.casefold() in fields.THROWN_AWAY or _TRASHED.search(file.name):
            yield SkippedEntry(file.where, "mail thrown away")
            return
        with file.open() as stream:
            if file.suffix == ".emlx":
                stream.readline()  # how long the message is; what follows it is Apple's own
            content = stream.read(MOST)
        yield from _mail(content, folder, about, file.where)


def _mail(
    content: bytes, folder: str, about: ImportContext, where: str, envelope: str = ""
) -> Iterator[Found]:
    parts = read_parts(content)
    headers = parts.headers
    if _MARKS.isdisjoint(headers):
        yield SkippedEntry(where, "no mail: it has no headers")
        return
    labels = fields.labels(headers) if "x-gmail-labels" in headers else None
    if labels is not None:
        if any(label.casefold() in fields.THROWN_AWAY for label in labels):
            yield SkippedEntry(where, "mail thrown away")
            return
        folder = fields.folder_of_labels(labels)
    (name, author), *_ = fields.addresses(headers, "from", "sender") or [("", "")]
    if author.casefold() in about.addresses:
        folder = "Sent"
    time = fields.sent_time(headers, envelope)
    text = _FROM_LINE.sub(r"\1", parts.text) if envelope and ">" in parts.text else parts.text
    names = fields.message_ids(headers.get("message-id", b""))
    own = fields.mail_id(names[0]) if names else _unnamed(content)
    found: dict[str, Any] = {
        "author": author or words(headers.get("from", b"")),
        "recipients": [address for _, address in fields.addresses(headers, "to", "cc", "bcc")],
        "subject": words(headers.get("subject", b"")),
        "content": _content(own_words(text), name, parts.attachments),
        "date": iso(time) if time else "",
        "folder": folder,
        "labels": labels if labels and labels != [folder] else [],
        "attachments": list(parts.attachments),
        "thread": fields.thread_of(headers),
    }
    always = ("author", "recipients", "subject", "content", "folder")
    yield Item(own, "MailReader", {key: value for key, value in found.items() if value or key in always})
    answered = fields.message_ids(headers.get("in-reply-to", b""))
    if folder == "Sent" and answered and time:
        yield UsageEvent(fields.mail_id(answered[0]), time)  # whoever answers a mail has opened it


def _content(text: str, name: str, attachments: Sequence[str]) -> str:
    """The text, with what is attached and who wrote it: people ask for mails by both."""
    lines = [shortened(text)]
    if attachments:
        lines.append(f"Attached: {', '.join(attachments)}")
    if name and not _says(text, name):
        lines.append(f"From: {name}")
    return "\n".join(filter(None, lines))


def _says(text: str, name: str) -> bool:
    """Whether a text holds a name, in large letters or small."""
    if name.isascii() and not text.isascii() and not any(sign in text for sign in _UNFOLDED):
        # the letters of other scripts make no difference then, and folding them takes most of the time
        plain = text.replace("ß", "ss").encode("utf-8", "surrogatepass")
        return name.lower().encode() in plain.lower()
    return name.casefold() in text.casefold()


def _unnamed(content: bytes) -> str:
    """A name for a mail that has none: what it says, without the headers that change under way."""
    body = re.split(rb"\r?\n\r?\n", content, maxsplit=1)[-1]
    kept = b"".join(re.findall(rb"^(?:from|to|date|subject):[^\r\n]*", content[:65536], re.I | re.M))
    return item_id("mail", "unnamed", blake2b(kept + body.replace(b"\r", b"")).hexdigest())


def _mbox_folder(file: SourceFile) -> str:
    """Apple Mail calls the file mbox, and the folder around it INBOX.mbox."""
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
