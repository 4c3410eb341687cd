"""Messages of a Mac or iPhone (chat.db, or sms.db of a backup): iMessage, SMS and RCS."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.messages.message_log import ChatMessage, MessageLog
from contextune.importers.parsing.sqlite_file import column_names, open_copy, table_names
from contextune.importers.reader import ImportContext, ImportRecord, read_each

_TABLES = frozenset({"message", "handle", "chat", "chat_message_join"})
_START = datetime(2001, 1, 1, tzinfo=UTC)
_NANOSECONDS_FROM = 10**12
"""Times above are in nanoseconds, as since 2017; smaller ones are in seconds."""
_FIRST_REACTION = 1000
_STRING_MARK, _TEXT_MARK = b"NSString", b"\x84\x01+"
_SHORT, _LONG = 0x81, 0x82
"""Bytes before a length of two and of four bytes."""
_OBJECT = "\ufffc"
"""Stands in the text for an attachment."""
_OPTIONAL = ("attributedBody", "associated_message_type", "item_type", "thread_originator_guid")
"""Columns that older versions lack."""


class _MessageRow(NamedTuple):
    number: int
    guid: str | None
    text: str | None
    date: int | None
    is_own: int | None
    handle: str | None
    chat: int | None
    chat_name: str | None
    chat_identifier: str | None
    body: bytes | None
    reaction: int | None
    event: int | None
    thread: str | None


class IMessageReader:
    """Apple's message database."""

    name = "imessage"
    apps = ("Messages",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is a message database, by its tables."""
        return table_names(file) >= _TABLES

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The messages of all conversations."""
        log = MessageLog("iMessage", context)

        def where(row: _MessageRow) -> str:
            return f"{file.where}, message {row.number}"

        try:
            with open_copy(file) as database:
                people = _names(
                    database, "SELECT chat_id, id FROM chat_handle_join JOIN handle ON ROWID = handle_id"
                )
                files = _names(
                    database,
                    "SELECT message_id, COALESCE(transfer_name, filename, '')"
                    " FROM message_attachment_join JOIN attachment ON ROWID = attachment_id",
                )
                yield from read_each(
                    map(_MessageRow._make, database.execute(_query(database))),
                    lambda row: _records(row, people, files, log, where(row)),
                    where,
                )
        except sqlite3.Error:
            yield SkippedEntry(file.where, "damaged database")


def _records(
    row: _MessageRow,
    people: Mapping[int, Sequence[str]],
    files: Mapping[int, Sequence[str]],
    log: MessageLog,
    where: str,
) -> Iterator[ImportRecord]:
    if (row.reaction or 0) >= _FIRST_REACTION:
        yield SkippedEntry(where, "reaction")
        return
    if row.event:
        yield SkippedEntry(where, "notice of the service")
        return
    members = people.get(row.chat or 0, ())
    is_group = len(members) > 1 or bool(row.chat_name)
    other = members[0] if members else row.handle or row.chat_identifier or ""
    yield from log.add(
        ChatMessage(
            (row.guid or row.number,),
            (row.text or attributed_text(row.body or b"")).replace(_OBJECT, ""),
            _time(row.date),
            sender=row.handle or other,
            is_own=bool(row.is_own),
            chat=(row.chat_name or ", ".join(map(log.name, members))) if is_group else "",
            recipients=(members or [other]) if row.is_own else (),
            attachments=[name.rpartition("/")[2] for name in files.get(row.number, ())],
            reply_to=(row.thread,) if row.thread else None,
        ),
        where,
    )


def attributed_text(body: bytes) -> str:
    """The text of an archived NSAttributedString (typedstream), where newer systems store it alone.

    It is the first string of the archive: the class name NSString, a mark, the length, and UTF-8.
    """
    start = body.find(_STRING_MARK)
    mark = body.find(_TEXT_MARK, start) if start >= 0 else -1
    if mark < 0:
        return ""
    position = mark + len(_TEXT_MARK)
    length = body[position] if position < len(body) else 0
    position += 1
    if length in (_SHORT, _LONG):
        size = 2 if length == _SHORT else 4
        length = int.from_bytes(body[position : position + size], "little")
        position += size
    return body[position : position + length].decode("utf-8", "replace")


def _query(database: sqlite3.Connection) -> str:
    columns = column_names(database, "message")
    optional = ", ".join(f"message.{name}" if name.lower() in columns else "NULL" for name in _OPTIONAL)
    # a message may be in several chats after they were merged
    return f"""
        SELECT message.ROWID, message.guid, message.text, message.date, message.is_from_me, handle.id,
            chat.ROWID, chat.display_name, chat.chat_identifier, {optional}
        FROM message LEFT JOIN handle ON handle.ROWID = message.handle_id
        LEFT JOIN chat_message_join ON chat_message_join.message_id = message.ROWID
        LEFT JOIN chat ON chat.ROWID = chat_message_join.chat_id
        GROUP BY message.ROWID ORDER BY message.ROWID"""  # noqa: S608  # names of this module


def _names(database: sqlite3.Connection, query: str) -> Mapping[int, Sequence[str]]:
    """Lists of names by number; empty if a table is missing."""
    names: dict[int, list[str]] = {}
    try:
        for number, name in database.execute(query):
            names.setdefault(number, []).append(name or "")
    except sqlite3.OperationalError:
        return {}
    return names


def _time(value: int | None) -> datetime | None:
    if not isinstance(value, int):
        return None
    seconds = value // 10**9 if value > _NANOSECONDS_FROM else value
    try:
        return _START + timedelta(seconds=seconds)
    except OverflowError:
        return None
