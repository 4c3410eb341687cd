"""Mail: mbox files, Maildir and MH folders, single messages (.eml, .emlx)."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.mail import headers as fields
from contextune.importers.mail.mbox import MAX_MESSAGE, MboxMessage, looks_like_mbox, split_mbox
from contextune.importers.mail.mime import parse_mail
from contextune.importers.mail.records import mail_records
from contextune.importers.reader import ImportContext, ImportRecord, read_each

_HEADER = re.compile(rb"^(?:from|date|subject|received|return-path|message-id|delivered-to|to):", re.I | re.M)
_CERTAIN_HEADER = re.compile(rb"^(?:received|return-path|message-id|delivered-to|mime-version):", re.I | re.M)
_EMLX_LENGTH = re.compile(rb"\s*(\d{1,12})[ \t]*\r?\n(?=[!-9;-~]+:)")
"""The first line of Apple's .emlx: the length of the message that follows, before a property list."""
_HEADER_LINE = re.compile(rb"[!-9;-~]+:|[ \t]")
_TRASHED = re.compile(r":2,[A-Z]*T")
_FLAGS = re.compile(r"[:;!]2,([A-Za-z]*)$")
"""Flags in the name of a file in a Maildir; Windows has no colon in names."""
_EMLX_FLAGS = re.compile(rb"<key>flags</key>\s*<integer>(\d{1,18})</integer>")
_MAILDIR = ("cur", "new")
_MAIL_SUFFIXES = (".eml", ".emlx")
_SINGLE_MAIL = re.compile(r"\d+|.*\.(?:eml|emlx|msg)", re.IGNORECASE)
"""Names of files with one mail: numbers in MH folders, and what mail programs save."""


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
        is_trash = folder.casefold() in fields.TRASH_FOLDERS

        def where(message: MboxMessage) -> str:
            return f"{file.where}, byte {message.offset}"

        def read(message: MboxMessage) -> Iterator[ImportRecord]:
            if is_trash:
                yield SkippedEntry(where(message), fields.IN_TRASH)
                return
            if message.truncated:
                yield SkippedEntry(where(message), f"rest of a mail beyond {MAX_MESSAGE // 2**20} MB")
            parts = parse_mail(message.content, documents=context.attachments)
            yield from mail_records(parts, message.content, folder, context, where(message), message.envelope)

        with file.open() as stream:
            yield from read_each(split_mbox(stream), read, where)


class MailReader:
    """Single messages."""

    name = "mail"
    apps = ("Mail",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it starts with the headers of a mail."""
        length = _EMLX_LENGTH.match(file.head)
        head = file.head[length.end() if length else 0 :].lstrip()
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
            yield SkippedEntry(file.where, fields.IN_TRASH)
            return
        with file.open() as stream:
            content = stream.read(MAX_MESSAGE)
        read = _is_read(file)
        if length := _EMLX_LENGTH.match(content):
            end = length.end() + int(length[1])
            flags = _EMLX_FLAGS.search(content, end)
            read = bool(int(flags[1]) & 1) if flags else None
            content = content[length.end() : end]
        parts = parse_mail(content, documents=context.attachments)
        yield from mail_records(parts, content, folder, context, file.where, read=read)


def _is_read(file: SourceFile) -> bool | None:
    """Whether a mail of a Maildir was read: it has the flag S, and new mail lies in a folder of its own."""
    if file.path.parent.name not in _MAILDIR:
        return None
    flags = _FLAGS.search(file.name)
    return bool(flags and "S" in flags[1]) and file.path.parent.name == "cur"


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
