"""Signal: the app's own export (main.jsonl), and the JSON of the program signal-export (data.json)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, cast

from contextune.importers.files import SkippedEntry, SourceFile
from contextune.importers.messages.message_log import ChatMessage, MessageLog, is_own_name, or_empty
from contextune.importers.reader import ImportContext, ImportRecord, read_values, unix_time

_FRAMES = ('{"recipient":', '{"chat":', '{"chatItem":', '{"account":')
_EXPORT_KEYS = ('"date"', '"sender"', '"body"', '"reactions"')
_MAX_LINE = 4 * 2**20
_OWN_SENDER = "Me"


class _Line(NamedTuple):
    number: int
    values: Mapping[str, Any] | None


@dataclass(slots=True)
class _Recipients:
    """People, groups and chats, which precede the messages that refer to them."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    groups: set[str] = field(default_factory=set[str])
    own: str = ""
    chats: dict[str, str] = field(default_factory=dict[str, str])
    """Recipient by chat."""


class SignalReader:
    """Messages of Signal in files that are not encrypted."""

    name = "signal"
    apps = ("Messages",)

    def can_read(self, file: SourceFile) -> bool:
        """Whether it is Signal's own export, or that of signal-export."""
        start = file.start.lstrip()
        if not start.startswith("{"):
            return False
        compact = start.replace('": ', '":')
        if sum(frame in compact for frame in _FRAMES) > 1:
            return True
        return file.suffix == ".json" and all(key in start.partition("\n")[0] for key in _EXPORT_KEYS)

    def read(self, file: SourceFile, context: ImportContext) -> Iterator[ImportRecord]:
        """The messages in the file."""
        log = MessageLog("Signal", context)
        recipients = _Recipients()

        def record(values: Mapping[str, Any], where: str) -> Iterator[ImportRecord]:
            if "body" in values and "sender" in values:
                message = _exported_message(values, file.folder, context)
                yield from log.add(message, where)
            elif isinstance(item := values.get("chatItem"), dict):
                yield from _chat_item(cast("dict[str, Any]", item), recipients, log, where)
            else:
                _add_recipient(values, recipients)

        yield from or_empty(read_values(_lines(file), record, f"{file.where}, line"), file)


def _lines(file: SourceFile) -> Iterator[_Line]:
    number = 0
    with file.open() as stream:
        while line := stream.readline(_MAX_LINE):
            number += 1
            if line.strip():
                try:
                    values: object = json.loads(line)
                except (ValueError, RecursionError):
                    values = None
                yield _Line(number, cast("dict[str, Any]", values) if isinstance(values, dict) else None)


def _add_recipient(values: Mapping[str, Any], recipients: _Recipients) -> None:
    recipient = _dict(values.get("recipient"))
    if identity := str(recipient.get("id", "")):
        contact, group = _dict(recipient.get("contact")), _dict(recipient.get("group"))
        if "self" in recipient:
            recipients.own = identity
        elif group:
            recipients.groups.add(identity)
            recipients.names[identity] = _text(_dict(_dict(group.get("snapshot")).get("title")).get("title"))
        else:
            recipients.names[identity] = _contact_name(contact)
    chat = _dict(values.get("chat"))
    if chat.get("id") is not None:
        recipients.chats[str(chat["id"])] = str(chat.get("recipientId", ""))


def _contact_name(contact: Mapping[str, Any]) -> str:
    """The name in the user's address book, else the nickname, the name of the profile, or the number."""
    nickname = _dict(contact.get("nickname"))
    for source, keys in (
        (contact, ("systemGivenName", "systemFamilyName")),
        (nickname, ("given", "family")),
        (contact, ("profileGivenName", "profileFamilyName")),
    ):
        if name := " ".join(filter(None, (_text(source.get(key)) for key in keys))):
            return name
    number = str(contact.get("e164") or "")
    return f"+{number.removeprefix('+')}" if number else _text(contact.get("username"))


def _chat_item(
    item: Mapping[str, Any], recipients: _Recipients, log: MessageLog, where: str
) -> Iterator[ImportRecord]:
    standard = _dict(item.get("standardMessage"))
    if not standard:
        deleted = "remoteDeletedMessage" in item
        yield SkippedEntry(where, "deleted message" if deleted else "notice of the service")
        return
    author, chat = str(item.get("authorId", "")), str(item.get("chatId", ""))
    recipient = recipients.chats.get(chat, "")
    is_own = author == recipients.own if recipients.own else "outgoing" in item
    is_group = recipient in recipients.groups
    name = recipients.names.get(recipient, "")
    attachments = [
        _text(_dict(_dict(entry).get("pointer")).get("fileName")) or "picture"
        for entry in cast("list[object]", standard.get("attachments") or [])
    ]
    yield from log.add(
        ChatMessage(
            (
                recipients.names.get(author, author),
                item.get("dateSent"),
                _text(_dict(standard.get("text")).get("body")),
            ),
            _text(_dict(standard.get("text")).get("body")),
            unix_time(item.get("dateSent")),
            sender=recipients.names.get(author, ""),
            is_own=is_own,
            chat=name if is_group else "",
            recipients=[name] if is_own and not is_group and recipient != recipients.own else (),
            attachments=attachments,
        ),
        where,
    )


def _exported_message(values: Mapping[str, Any], folder: str, context: ImportContext) -> ChatMessage:
    """A message of signal-export, which writes a folder for each chat."""
    sender, text = _text(values.get("sender")), _text(values.get("body"))
    is_own = sender == _OWN_SENDER or is_own_name(sender, context)
    try:
        time = datetime.fromisoformat(_text(values.get("date")))
    except ValueError:
        time = None
    return ChatMessage(
        ("export", folder, sender, values.get("date"), text),
        text,
        time,
        sender=sender,
        is_own=is_own,
        chat=folder if not is_own and sender != folder else "",
        recipients=[folder] if is_own else (),
        attachments=[
            _text(_dict(entry).get("name")) for entry in cast("list[object]", values.get("attachments") or [])
        ],
    )


def _dict(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
