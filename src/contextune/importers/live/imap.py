"""Mail from IMAP servers: only new mails are fetched, and folders are opened read only."""

import imaplib
import re
import ssl
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from contextune.importers.files import SourceFile
from contextune.importers.live.accounts import SyncAccount, SyncState
from contextune.importers.live.source import Batch, RemoteFile, ResourceKey, SyncError, path_part, remote_file
from contextune.importers.mail.headers import TRASH_FOLDERS, mail_id, message_ids
from contextune.importers.mail.mbox import MAX_MESSAGE
from contextune.importers.mail.reader import MailReader

_TIMEOUT = 60.0
_PORT, _TLS_PORT = 143, 993
_BATCH_BYTES, _BATCH_MAILS = 16 * 2**20, 200
_UIDS_PER_SEARCH = 50_000
_VERSION = "1"
"""A mail never changes."""
_LIST = re.compile(rb"\((?P<flags>[^)]*)\) (?:\"(?P<delimiter>\\?.)\"|NIL) (?P<name>.*)", re.DOTALL)
_UID = re.compile(rb"\bUID (\d+)")
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")
_STATUS = re.compile(rb"(MESSAGES|UIDNEXT|UIDVALIDITY) (\d+)", re.IGNORECASE)
_ENCODED = re.compile(r"&([A-Za-z0-9+,]*)-")
_UNREADABLE = frozenset(("\\noselect", "\\nonexistent"))
_UNWANTED = frozenset(("\\trash", "\\junk", "\\drafts", "\\flagged", "\\important"))
"""Folders without mails of their own, or whose mails are not wanted."""


_Line = bytes | tuple[bytes, bytes]
"""A line of an answer, or a line and the literal that follows it."""


class MailFolder(NamedTuple):
    """A folder of a mail account."""

    name: str
    """As the server writes it, with quotation marks."""
    title: str
    """The last part of its name."""
    path: str
    is_all: bool
    """Whether it has all mails of the other folders, as Gmail's."""


class _FolderStatus(NamedTuple):
    validity: int
    next_uid: int
    mails: int

    @property
    def mark(self) -> str:
        return f"{self.validity} {self.next_uid} {self.mails}"


class ImapSource:
    """The folders of a mail account."""

    def __init__(self, account: SyncAccount, password: str, state: SyncState, now: datetime) -> None:
        self._account = account
        self._state = state
        self._now = now
        self._reader = MailReader()
        self._connection = _connect(account, password)

    def close(self) -> None:
        """Log out."""
        try:
            self._connection.logout()
        except (OSError, imaplib.IMAP4.error):
            return

    def batches(self) -> Iterator[Batch]:
        """New mails by folder, then those that are gone."""
        name = self._account.name
        marks, known_marks = dict[str, str](), self._state.collections(name)
        removed: set[ResourceKey] = set()
        folders = self._folders()
        for folder in folders:
            status = self._status(folder)
            marks[folder.path] = status.mark
            known = self._state.resources(name, folder.path)
            if known_marks.get(folder.path) == status.mark and len(known) <= status.mails:
                continue
            present = self._uids(folder, status)
            keys = {f"{status.validity}/{uid}": uid for uid in present}
            removed.update((folder.path, resource) for resource in known.keys() - keys.keys())
            new = sorted(uid for resource, uid in keys.items() if resource not in known)
            yield from self._fetch(folder, status.validity, new)
        for path in self._state.known_collections(name) - {folder.path for folder in folders}:
            removed.update((path, resource) for resource in self._state.resources(name, path))
        yield Batch(removed=frozenset(removed), marks=marks)

    def folder_count(self) -> int:
        """Number of folders that are read."""
        return len(self._folders())

    def _folders(self) -> list[MailFolder]:
        """The folders with mails; the one with all mails last, since most of them are in others too."""
        lines = self._call("LIST", self._connection.list)
        folders = [folder for line in lines if (folder := parse_folder(line))]
        return sorted(folders, key=lambda folder: (folder.is_all, folder.path))

    def _status(self, folder: MailFolder) -> _FolderStatus:
        names = "(MESSAGES UIDNEXT UIDVALIDITY)"
        lines = self._call("STATUS", lambda: self._connection.status(folder.name, names))
        values = {
            name.upper(): int(number) for line in lines for name, number in _STATUS.findall(_flat(line))
        }
        return _FolderStatus(
            values.get(b"UIDVALIDITY", 0), values.get(b"UIDNEXT", 1), values.get(b"MESSAGES", 0)
        )

    def _uids(self, folder: MailFolder, status: _FolderStatus) -> list[int]:
        """The mails of a folder that are not marked for deletion; opens it read only."""
        self._call("EXAMINE", lambda: self._connection.select(folder.name, readonly=True))
        uids: list[int] = []
        for start in range(1, max(status.next_uid, 2), _UIDS_PER_SEARCH):
            end = start + _UIDS_PER_SEARCH - 1
            for line in self._uid("SEARCH", "UID", f"{start}:{end}", "UNDELETED"):
                # a range beyond the last mail includes it
                uids += (int(uid) for uid in _flat(line).split() if start <= int(uid) <= end)
        return uids

    def _fetch(self, folder: MailFolder, validity: int, uids: Sequence[int]) -> Iterator[Batch]:
        if folder.is_all:
            duplicates = self._known_mails(uids)
            uids = [uid for uid in uids if uid not in duplicates]
            if duplicates:
                yield Batch(
                    duplicates={(folder.path, f"{validity}/{uid}"): item for uid, item in duplicates.items()}
                )
        for group in self._groups(uids):
            ids = ",".join(map(str, group))
            lines = self._uid("FETCH", ids, f"(UID BODY.PEEK[]<0.{MAX_MESSAGE}>)")
            files = [
                RemoteFile(
                    folder.path, f"{validity}/{uid}", _VERSION, self._reader, self._file(folder, uid, content)
                )
                for uid, content in _literals(lines)
            ]
            yield Batch(files=tuple(files))

    def _known_mails(self, uids: Sequence[int]) -> dict[int, str]:
        """The mails that are in another folder too, by their message ids."""
        items = self._state.items(self._account.name)
        known: dict[int, str] = {}
        for start in range(0, len(uids), 1000):
            ids = ",".join(map(str, uids[start : start + 1000]))
            lines = self._uid("FETCH", ids, "(UID BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])")
            for uid, header in _literals(lines):
                for message_id in message_ids(header)[:1]:
                    if (item := mail_id(message_id)) in items:
                        known[uid] = item
        return known

    def _groups(self, uids: Sequence[int]) -> Iterator[Sequence[int]]:
        """Groups of mails that are fetched together, limited by their size."""
        for start in range(0, len(uids), 1000):
            ids = ",".join(map(str, uids[start : start + 1000]))
            sizes: dict[int, int] = {}
            for line in map(_flat, self._uid("FETCH", ids, "(UID RFC822.SIZE)")):
                uid, size = _UID.search(line), _SIZE.search(line)
                if uid and size:
                    sizes[int(uid[1])] = min(int(size[1]), MAX_MESSAGE)
            group: list[int] = []
            total = 0
            for uid, size in sizes.items():
                if group and (total + size > _BATCH_BYTES or len(group) == _BATCH_MAILS):
                    yield group
                    group, total = [], 0
                group.append(uid)
                total += size
            if group:
                yield group

    def _file(self, folder: MailFolder, uid: int, content: bytes) -> SourceFile:
        where = f"{self._account.name}: {folder.path}, mail {uid}"
        path = PurePosixPath(path_part(self._account.name), path_part(folder.title), f"{uid}.eml")
        return remote_file(where, path, content, self._now)

    def _call(self, what: str, command: Callable[[], tuple[str, list[Any]]]) -> list[_Line]:
        """Send a command; its untagged answers."""
        try:
            kind, lines = command()
        except (OSError, imaplib.IMAP4.error) as error:
            reason = type(error).__name__ if isinstance(error, OSError) else "protocol error"
            raise SyncError(
                f"{self._account.name}: the mail server does not answer {what} ({reason})"
            ) from None
        if kind != "OK":
            raise SyncError(f"{self._account.name}: the mail server refuses {what}")
        return [line for line in lines if line]

    def _uid(self, command: str, *arguments: str) -> list[_Line]:
        return self._call(command, lambda: self._connection.uid(command, *arguments))


def _connect(account: SyncAccount, password: str) -> imaplib.IMAP4:
    """Connect with TLS, unless the server is on this machine, and log in."""
    host, is_tls = account.parts.hostname or "", account.parts.scheme == "imaps"
    context = ssl.create_default_context()
    try:
        if is_tls:
            port = account.parts.port or _TLS_PORT
            connection = imaplib.IMAP4_SSL(host, port, ssl_context=context, timeout=_TIMEOUT)
        else:
            connection = imaplib.IMAP4(host, account.parts.port or _PORT, timeout=_TIMEOUT)
            if not account.is_local:
                connection.starttls(context)
    except (OSError, imaplib.IMAP4.error) as error:
        raise SyncError(
            f"{account.name}: cannot reach {account.url} ({type(error).__name__}): check address and network"
        ) from None
    try:
        connection.login(account.username, password)
    except (imaplib.IMAP4.error, OSError):
        connection.shutdown()
        raise SyncError(
            f"{account.name}: the server refuses user name or password; some providers need an app password"
        ) from None
    return connection


def parse_folder(line: _Line) -> MailFolder | None:
    """A line of the list of folders; None for a folder that is not read."""
    content, literal = line if isinstance(line, tuple) else (line, b"")
    match = _LIST.match(content)
    if not match:
        return None
    flags = {flag.lower() for flag in match["flags"].decode("ascii", "replace").split()}
    if flags & (_UNREADABLE | _UNWANTED):
        return None
    raw = (
        literal.decode("utf-8", "replace") if literal else _unquote(match["name"].decode("utf-8", "replace"))
    )
    delimiter = (match["delimiter"] or b"").decode("ascii", "replace").removeprefix("\\")
    path = decode_folder_name(raw)
    title = path.rpartition(delimiter)[2] if delimiter else path
    if title.casefold() in TRASH_FOLDERS:
        return None
    if "\\sent" in flags:
        title = "Sent"
    is_all = "\\all" in flags
    quoted = raw.replace("\\", "\\\\").replace('"', '\\"')
    return MailFolder(f'"{quoted}"', "Archive" if is_all or "\\archive" in flags else title, path, is_all)


def _unquote(name: str) -> str:
    name = name.strip()
    if len(name) > 1 and name[0] == name[-1] == '"':
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name


def decode_folder_name(name: str) -> str:
    """A folder name in modified UTF-7 (RFC 3501), such as Entw&APw-rfe."""

    def decode(match: re.Match[str]) -> str:
        if not match[1]:
            return "&"
        digits = match[1].replace(",", "/")
        try:
            return b64decode(digits + "=" * (-len(digits) % 4)).decode("utf-16-be")
        except ValueError:
            return match[0]

    return _ENCODED.sub(decode, name)


def _literals(lines: Sequence[_Line]) -> Iterator[tuple[int, bytes]]:
    """The UIDs and contents in an answer to FETCH; the UID may follow the content."""
    for position, line in enumerate(lines):
        if isinstance(line, tuple):
            after = lines[position + 1] if position + 1 < len(lines) else b""
            uid = _UID.search(line[0]) or _UID.search(after if isinstance(after, bytes) else b"")
            if uid:
                yield int(uid[1]), line[1]


def _flat(line: _Line) -> bytes:
    return b" ".join(line) if isinstance(line, tuple) else line
