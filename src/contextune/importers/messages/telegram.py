"""Telegram Desktop's JSON export (result.json): one chat, or all chats of an account."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.messages.message_log import ChatMessage, MessageLog, is_own_name, or_empty
from contextune.importers.parsing.json_stream import NestedEntry, nested_entries
from contextune.importers.reader import ImportContext, ImportRecord, read_each, unix_time

_KEYS = ('"messages"', '"type"', '"date"')
_ACCOUNT_KEYS = ('"personal_information"', '"user_id"')
_PRIVATE = ("personal_chat", "bot_chat", "saved_messages")
_SAVED = "Saved Messages"
"""The chat with oneself, which has no name in the export."""
_FILES = ("file_name", "file")


class TelegramReader:
    """Messages of Telegram chats."""

    name = "telegram"
    apps = ("Messages",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is the export of a chat or of an account."""
        start = file.start
        if not start.lstrip().startswith("{"):
            return False
        chat = all(key in start for key in _KEYS) and ('"from_id"' in start or '"actor"' in start)
        return chat or all(key in start for key in _ACCOUNT_KEYS)

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The messages of all chats."""
        log = MessageLog("Telegram", context)

        def where(entry: NestedEntry) -> str:
            return f"{file.where}, message {entry.number}"

        def message(entry: NestedEntry) -> Iterator[ImportRecord]:
            if entry.values is None:
                yield SkippedEntry(where(entry), "broken or truncated entry")
            elif entry.values.get("type") != "message":
                yield SkippedEntry(where(entry), "notice of the service")
            else:
                yield from log.add(_message(entry.values, entry.parents, context), where(entry))

        with file.open() as stream:
            yield from or_empty(read_each(nested_entries(stream, "messages"), message, where), file)


def _message(
    values: Mapping[str, Any], parents: tuple[Mapping[str, Any], ...], context: ImportContext
) -> ChatMessage:
    chat = parents[-1]
    account: Mapping[str, Any] = {}
    for parent in parents:
        account = parent.get("personal_information", account)
    sender, sender_id = _string(values.get("from")), _string(values.get("from_id"))
    own_id = _string(account.get("user_id"))
    is_own = (bool(own_id) and sender_id in (own_id, f"user{own_id}")) or is_own_name(sender, context)
    kind, name = _string(chat.get("type")), _string(chat.get("name"))
    chat_id = _string(chat.get("id"))
    is_private = kind in _PRIVATE
    is_saved = kind == "saved_messages"
    answered = values.get("reply_to_message_id")
    return ChatMessage(
        (chat_id, values.get("id")),
        _text(values.get("text")),
        _time(values),
        sender=sender or name or "deleted account",
        is_own=is_own,
        chat=_SAVED if is_saved else "" if is_private else name,
        recipients=[name] if is_own and is_private and name and not is_saved else (),
        attachments=_attachments(values),
        reply_to=(chat_id, answered) if answered is not None else None,
    )


def _time(values: Mapping[str, Any]) -> datetime | None:
    """Unix time; exports before 2022 have only the local time."""
    seconds = _string(values.get("date_unixtime"))
    if seconds.isdecimal():
        return unix_time(int(seconds) * 1000)
    try:
        return datetime.fromisoformat(_string(values.get("date")))
    except ValueError:
        return None


def _text(value: object) -> str:
    """The text: a string, or a list of strings and formatted parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = cast("list[object]", value)
    return "".join(
        part if isinstance(part, str) else _string(cast("dict[str, Any]", part).get("text"))
        for part in parts
        if isinstance(part, str | dict)
    )


def _attachments(values: Mapping[str, Any]) -> list[str]:
    """The name of the file; a file that was not exported has a note in brackets as its path."""
    for key in _FILES:
        name = _string(values.get(key))
        if name:
            return [name.rpartition("/")[2]] if not name.startswith("(") else ["file"]
    return ["picture"] if values.get("photo") else []


def _string(value: object) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
